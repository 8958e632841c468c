package io.github.muthuishere.toolnexus;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What came of a call. Whatever went wrong at a tool or a server is told here: hand {@link #output} to the model. */
public final class ToolResult {
    private final Status status;
    private final Map<String, Object> document;

    private ToolResult(Status status, Map<String, Object> document) {
        this.status = status;
        this.document = document;
    }

    /**
     * The result of a tool of the program's own that did its work.
     *
     * @param output the text for the model
     * @return the result
     */
    public static ToolResult ok(String output) {
        return of(output, false, Map.of());
    }

    /**
     * The result of a tool of the program's own that failed.
     *
     * @param message the text for the model
     * @return the result
     */
    public static ToolResult error(String message) {
        return of(message, true, Map.of());
    }

    /**
     * A result of a tool of the program's own.
     *
     * @param output the text for the model
     * @param isError whether the tool failed
     * @param metadata for the program, not for the model
     * @return the result
     */
    public static ToolResult of(String output, boolean isError, Map<String, Object> metadata) {
        return new ToolResult(Status.OK, document(output, isError, metadata));
    }

    /** A call that failed on this side. */
    static ToolResult failed(Status status, String message) {
        Map<String, Object> document = document(message, true, Map.of());
        document.put("error", Map.of("code", status.name().toLowerCase(java.util.Locale.ROOT), "message", message));
        return new ToolResult(status, document);
    }

    private static Map<String, Object> document(String output, boolean isError, Map<String, Object> metadata) {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("output", output == null ? "" : output);
        document.put("isError", isError);
        document.put("metadata", metadata == null ? Map.of() : metadata);
        return document;
    }

    /** Of the library's outcome: misuse and the program's own cancelling are exceptions, all else is a result. */
    static ToolResult of(Outcome outcome, boolean stopped) {
        Status status = outcome.status();
        if (status.isMisuse() || status == Status.CANCELLED && stopped) throw outcome.failure();
        return new ToolResult(status, outcome.document());
    }

    /**
     * The text for the model: what the tool said, or what went wrong.
     *
     * @return the text
     */
    public String output() {
        return (String) document.getOrDefault("output", "");
    }

    /**
     * Whether the call failed, or the tool ran and reported failure.
     *
     * @return true if so
     */
    public boolean isError() {
        return !Boolean.FALSE.equals(document.getOrDefault("isError", true));
    }

    /**
     * What kind of outcome it is. {@link Status#OK} with {@link #isError} means that the tool ran and reported failure.
     *
     * @return the status
     */
    public Status status() {
        return status;
    }

    /**
     * For the program, not for the model: {@code server}, {@code tool} and {@code ms}, or what the program's own tool gave.
     *
     * @return the metadata
     */
    public Map<String, Object> metadata() {
        return Json.object(document.get("metadata"));
    }

    /**
     * What is not text: images, audio, files. Each has a {@code type} and a {@code mimeType}, and {@code data} (base64), or a
     * {@code url}.
     *
     * @return the parts, in order
     */
    public List<Map<String, Object>> parts() {
        List<Map<String, Object>> parts = new ArrayList<>();
        for (Object each : Json.list(document.get("parts"))) {
            Map<String, Object> part = new LinkedHashMap<>(Json.object(each));
            if (part.remove("content") instanceof Number at && at.intValue() < content().size()) {
                Map<String, Object> block = Json.object(content().get(at.intValue()));
                // An embedded resource, a block that is itself the data, or one of a resource's contents.
                Map<String, Object> holder = block.containsKey("resource") ? Json.object(block.get("resource")) : block;
                Object data = holder.containsKey("data") ? holder.get("data") : holder.get("blob");
                if (data instanceof String) part.put("data", data);
            }
            parts.add(part);
        }
        return parts;
    }

    /**
     * The content as the server sent it.
     *
     * @return the content blocks
     */
    public List<?> content() {
        return Json.list(document.get("content"));
    }

    /**
     * The server's structured content.
     *
     * @return a map, list, text, number or boolean; null if there is none
     */
    public Object structured() {
        return document.get("structured");
    }

    /**
     * What went wrong, if the call failed: {@code code}, {@code message}, and where they apply {@code phase}, {@code server}
     * and {@code data}.
     *
     * @return the error, or an empty map
     */
    public Map<String, Object> error() {
        return Json.object(document.get("error"));
    }

    Map<String, Object> document() {
        return document;
    }

    @Override
    public String toString() {
        return (isError() ? "error: " : "") + output();
    }
}
