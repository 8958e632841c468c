package io.github.muthuishere.toolnexus;

import java.util.Map;

/**
 * A server's report of how far a call is.
 *
 * @param server the server, or null
 * @param progress how far it is; it grows from report to report
 * @param total what {@code progress} will be at the end, or null if the server does not say
 * @param message the server's words, or null
 */
public record Progress(String server, double progress, Double total, String message) {
    static Progress of(Map<String, Object> notice) {
        double progress = notice.get("progress") instanceof Number number ? number.doubleValue() : 0;
        Double total = notice.get("total") instanceof Number number ? (Double) number.doubleValue() : null;
        return new Progress(Json.text(notice.get("server")), progress, total, Json.text(notice.get("message")));
    }
}
