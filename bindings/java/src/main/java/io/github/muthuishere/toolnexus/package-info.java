/**
 * Turns an {@code mcp.json} into tools that an agent can call, on the native toolnexus library.
 *
 * <pre>{@code
 * try (McpSource source = McpSource.load("mcp.json")) {
 *     for (Tool tool : source.tools()) System.out.println(tool.name());
 *     ToolResult result = source.tools().get(0).execute(Map.of("text", "hello"));
 *     System.out.println(result.output());
 * }
 * }</pre>
 */
package io.github.muthuishere.toolnexus;
