package io.github.muthuishere.toolnexus;

import java.util.Map;

/**
 * What came of a call: the status, the document (part of {@code bytes}), and the result that holds an object to take, or 0.
 */
record Outcome(Status status, byte[] bytes, int from, int to, long result) {
    Outcome(Status status, byte[] json) {
        this(status, json, 0, json.length, 0);
    }

    Object json() {
        return from == to ? Map.of() : Json.parse(bytes, from, to);
    }

    @SuppressWarnings("unchecked")
    Map<String, Object> document() {
        return json() instanceof Map<?, ?> map ? (Map<String, Object>) map : Map.of();
    }

    /** The document, or the exception that says why there is none. */
    Map<String, Object> orThrow() {
        if (status != Status.OK) throw failure();
        return document();
    }

    RuntimeException failure() {
        Map<String, Object> error = Json.object(document().get("error"));
        String message = String.valueOf(error.getOrDefault("message", status.nativeName()));
        if (status == Status.CANCELLED) return new java.util.concurrent.CancellationException(message);
        return new ToolnexusException(status, message, error);
    }
}
