package io.github.muthuishere.toolnexus;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * A tool of the program's own, made of a function. A text that the function returns is the output; a {@link ToolResult} is the
 * result; anything else is written as JSON. What it throws is an error result with its message.
 *
 * <p>The function runs on a thread of this package, several at once. When the call is cancelled or times out its context says
 * so and the thread is interrupted.
 */
public final class NativeTool implements Tool {
    private static final Map<String, Object> NO_ARGUMENTS = Map.of("type", "object", "properties", Map.of());

    private final String name;
    private final String description;
    private final Map<String, Object> inputSchema;
    private final ToolHints hints;
    private final Hosted.Body body;

    private NativeTool(
            String name, String description, Map<String, Object> inputSchema, ToolHints hints, Hosted.Body body) {
        this.name = name;
        this.description = description == null ? "" : description;
        this.inputSchema = inputSchema == null ? NO_ARGUMENTS : inputSchema;
        this.hints = hints;
        this.body = body;
    }

    /**
     * A tool of a function of the arguments.
     *
     * @param name 1 to 64 of {@code A-Z a-z 0-9 _ -}
     * @param description what it does, for the model
     * @param inputSchema the JSON schema of its arguments; null for none
     * @param function what it does
     * @return the tool
     */
    public static NativeTool of(
            String name, String description, Map<String, Object> inputSchema, Function<Map<String, Object>, Object> function) {
        return new NativeTool(name, description, inputSchema, ToolHints.NONE, (args, ctx) -> function.apply(args));
    }

    /**
     * A tool of a function of the arguments and the context.
     *
     * @param name 1 to 64 of {@code A-Z a-z 0-9 _ -}
     * @param description what it does, for the model
     * @param inputSchema the JSON schema of its arguments; null for none
     * @param function what it does; its context is never null
     * @return the tool
     */
    public static NativeTool of(
            String name,
            String description,
            Map<String, Object> inputSchema,
            BiFunction<Map<String, Object>, ToolContext, Object> function) {
        return new NativeTool(name, description, inputSchema, ToolHints.NONE, function::apply);
    }

    /**
     * The same tool with hints.
     *
     * @param hints what it says of itself
     * @return a new tool
     */
    public NativeTool withHints(ToolHints hints) {
        return new NativeTool(name, description, inputSchema, hints, body);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public String description() {
        return description;
    }

    @Override
    public Map<String, Object> inputSchema() {
        return inputSchema;
    }

    @Override
    public String source() {
        return "native";
    }

    @Override
    public ToolHints hints() {
        return hints;
    }

    @Override
    public ToolResult execute(Map<String, Object> args, ToolContext ctx) {
        return start(args, ctx).await();
    }

    @Override
    public CompletableFuture<ToolResult> executeAsync(Map<String, Object> args, ToolContext ctx) {
        return start(args, ctx);
    }

    Hosted.Run start(Map<String, Object> args, ToolContext ctx) {
        return Hosted.start(name, body, args, ctx);
    }

    @Override
    public String toString() {
        return name;
    }
}
