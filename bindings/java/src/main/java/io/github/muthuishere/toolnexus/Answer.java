package io.github.muthuishere.toolnexus;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What the program answers to a {@link Request}: {@link #accept}, {@link #decline} or {@link #cancel}.
 *
 * @param id may repeat the request's; nothing goes by it
 * @param ok true accepts
 * @param data what was asked for: for a form the values of its fields; or null
 * @param reason why it is not accepted: {@code declined}; everything else, also null, cancels
 */
public record Answer(String id, boolean ok, Map<String, Object> data, String reason) {
    /**
     * Accepts.
     *
     * @param data what was asked for: for a form the values of its fields; or null
     * @return the answer
     */
    public static Answer accept(Map<String, Object> data) {
        return new Answer("", true, data);
    }

    /**
     * The person does not want to.
     *
     * @return the answer
     */
    public static Answer decline() {
        return new Answer("", false, null, "declined");
    }

    /**
     * Nobody has decided: the window was closed, the time is over.
     *
     * @return the answer
     */
    public static Answer cancel() {
        return new Answer("", false, null, "cancelled");
    }

    /**
     * Without a reason.
     *
     * @param id as in the record
     * @param ok true accepts, false cancels
     * @param data what was asked for, or null
     */
    public Answer(String id, boolean ok, Map<String, Object> data) {
        this(id, ok, data, null);
    }

    /**
     * Without data or reason.
     *
     * @param id as in the record
     * @param ok true accepts, false cancels
     */
    public Answer(String id, boolean ok) {
        this(id, ok, null, null);
    }

    String json() {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("ok", ok);
        if (ok && data != null) answer.put("data", data);
        if (!ok) answer.put("reason", reason == null ? "cancelled" : reason);
        return Json.write(answer);
    }
}
