package io.github.muthuishere.toolnexus;

import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** A tool that a model can call: a server's, a resource tool, or one of the program's own ({@link NativeTool}). */
public interface Tool {
    /**
     * The name by which the model calls it, such as {@code files_read}: at most 64 of {@code A-Z a-z 0-9 _ -}.
     *
     * @return the name
     */
    String name();

    /**
     * What it does, for the model.
     *
     * @return the description, perhaps empty
     */
    String description();

    /**
     * The JSON schema of its arguments.
     *
     * @return the schema
     */
    Map<String, Object> inputSchema();

    /**
     * Where it comes from: {@code mcp}, or {@code native} for the program's own.
     *
     * @return the source
     */
    String source();

    /**
     * What it says of itself.
     *
     * @return the hints
     */
    default ToolHints hints() {
        return ToolHints.NONE;
    }

    /**
     * Calls it and waits. What the tool or its server does wrong is a result, not an exception. A virtual thread is not
     * pinned; a thread that is interrupted cancels the call.
     *
     * @param args the arguments: maps, lists, texts, numbers, booleans and null; null for none
     * @param ctx time-outs and cancellation, or null for the defaults
     * @return the result
     * @throws ToolnexusException if the library is used wrongly
     * @throws java.util.concurrent.CancellationException if the program cancelled the call
     */
    ToolResult execute(Map<String, Object> args, ToolContext ctx);

    /**
     * Calls it with the defaults and waits.
     *
     * @param args the arguments, or null for none
     * @return the result
     */
    default ToolResult execute(Map<String, Object> args) {
        return execute(args, null);
    }

    /**
     * Calls it with arguments as a model writes them. A text that is no JSON object is an error result that the model can read.
     *
     * @param json the arguments, a JSON object; null for none
     * @param ctx time-outs and cancellation, or null for the defaults
     * @return the result
     */
    default ToolResult executeJson(String json, ToolContext ctx) {
        Map<String, Object> args;
        try {
            args = Hosted.arguments(json);
        } catch (ToolnexusException e) {
            return ToolResult.failed(Status.JSON, e.getMessage());
        }
        return execute(args, ctx);
    }

    /**
     * Calls it without waiting. Cancelling the future cancels the call, at the server too.
     *
     * @param args the arguments, or null for none
     * @param ctx time-outs and cancellation, or null for the defaults
     * @return the result to come, completed on a thread of this package: work that takes long belongs elsewhere
     */
    default CompletableFuture<ToolResult> executeAsync(Map<String, Object> args, ToolContext ctx) {
        return Hosted.start(name(), this::execute, args, ctx);
    }

    /**
     * Calls it with the defaults, without waiting.
     *
     * @param args the arguments, or null for none
     * @return the result to come
     */
    default CompletableFuture<ToolResult> executeAsync(Map<String, Object> args) {
        return executeAsync(args, null);
    }
}
