package io.github.muthuishere.toolnexus;

import java.util.Map;

/**
 * What a server asks the program in the middle of a call. It is answered with an {@link Answer}.
 *
 * @param id names the request
 * @param kind {@code input}: fill in the form in {@code data.schema}; {@code authorization}: have the person open {@code url}
 *     and come back; {@code sampling} (only with that option): ask a model with {@code params}
 * @param prompt what the person is to be told
 * @param url what is to be opened, or null
 * @param data more about it, such as {@code schema}; or null
 * @param expiresAt when nobody will wait for the answer any more, as an RFC 3339 time; or null
 * @param server the server that asks
 * @param params the request as the server made it, or null
 */
public record Request(
        String id,
        String kind,
        String prompt,
        String url,
        Map<String, Object> data,
        String expiresAt,
        String server,
        Map<String, Object> params) {
    /**
     * Without what only this library tells.
     *
     * @param id as in the record
     * @param kind as in the record
     * @param prompt as in the record
     * @param url as in the record
     * @param data as in the record
     * @param expiresAt as in the record
     */
    public Request(String id, String kind, String prompt, String url, Map<String, Object> data, String expiresAt) {
        this(id, kind, prompt, url, data, expiresAt, null, null);
    }

    static Request of(Map<String, Object> document) {
        String kind = String.valueOf(document.get("kind"));
        return new Request(
                String.valueOf(document.get("id")),
                kind.equals("url") || kind.equals("oauth") ? "authorization" : kind,
                String.valueOf(document.getOrDefault("prompt", "")),
                Json.text(document.get("url")),
                document.get("data") == null ? null : Json.object(document.get("data")),
                Json.text(document.get("expiresAt")),
                Json.text(document.get("server")),
                document.get("params") == null ? null : Json.object(document.get("params")));
    }
}
