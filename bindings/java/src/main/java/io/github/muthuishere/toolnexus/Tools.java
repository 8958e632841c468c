package io.github.muthuishere.toolnexus;

import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;

/** Short ways to make tools of the program's own. */
public final class Tools {
    private Tools() {}

    /**
     * As {@link NativeTool#of(String, String, Map, Function)}.
     *
     * @param name 1 to 64 of {@code A-Z a-z 0-9 _ -}
     * @param description what it does, for the model
     * @param inputSchema the JSON schema of its arguments; null for none
     * @param function what it does
     * @return the tool
     */
    public static Tool defineTool(
            String name, String description, Map<String, Object> inputSchema, Function<Map<String, Object>, Object> function) {
        return NativeTool.of(name, description, inputSchema, function);
    }

    /**
     * As {@link NativeTool#of(String, String, Map, BiFunction)}.
     *
     * @param name 1 to 64 of {@code A-Z a-z 0-9 _ -}
     * @param description what it does, for the model
     * @param inputSchema the JSON schema of its arguments; null for none
     * @param function what it does
     * @return the tool
     */
    public static Tool defineTool(
            String name,
            String description,
            Map<String, Object> inputSchema,
            BiFunction<Map<String, Object>, ToolContext, Object> function) {
        return NativeTool.of(name, description, inputSchema, function);
    }
}
