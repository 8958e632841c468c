import io.github.muthuishere.toolnexus.NativeTool;
import io.github.muthuishere.toolnexus.Tool;
import io.github.muthuishere.toolnexus.ToolContext;
import io.github.muthuishere.toolnexus.ToolResult;
import io.github.muthuishere.toolnexus.Toolkit;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * What an agent's loop does with tools: it hands their schemas to a model, and does what the model asks. Here the model's
 * wishes are written down.
 *
 * <p>In the root of the project: java -cp JAR:JNA examples/java/Agent.java [CONFIG], with the two jars of bindings/java.
 */
public class Agent {
    record Wish(String tool, String arguments) {}

    public static void main(String[] args) {
        String config = args.length > 0
                ? args[0]
                : "{\"mcpServers\":{\"progress\":{\"command\":[\"node\",\"examples/mcp-progress-server.mjs\"]}}}";
        Map<String, Object> numbers = Map.of(
                "type", "object",
                "properties", Map.of("a", Map.of("type", "integer"), "b", Map.of("type", "integer")),
                "required", List.of("a", "b"));
        NativeTool add = NativeTool.of("add", "Adds two whole numbers.", numbers, given ->
                String.valueOf((Long) given.get("a") + (Long) given.get("b")));

        Toolkit.Options options = new Toolkit.Options().builtins(false).mcpConfig(config).extraTools(add);
        try (Toolkit toolkit = Toolkit.create(options)) {
            toolkit.register(toolkit.mcpSource().resourceTools().toArray(new Tool[0]));
            System.out.println(toolkit.mcpStatus());
            for (Tool tool : toolkit.tools()) System.out.println(tool.name() + " " + tool.hints());
            System.out.println(toolkit.toOpenAI().size() + " tools for the model");

            // What a model writes goes in as it is, and whatever comes of it can be given to the model.
            List<Wish> wishes = List.of(
                    new Wish("add", "{\"a\":1,\"b\":2}"),
                    new Wish("progress_echo", "{\"text\":\"hello\"}"),
                    new Wish("read_mcp_resource", "{\"server\":\"progress\",\"uri\":\"fixture://hello\"}"),
                    new Wish("progress_fail", "{}"),
                    new Wish("add", "one and two"),
                    new Wish("subtract", "{}"));
            for (Wish wish : wishes) System.out.println(wish.tool() + ": " + toolkit.executeJson(wish.tool(), wish.arguments(), null));

            // A limit, and many calls at once.
            ToolContext limit = new ToolContext().deadline(Duration.ofMillis(100));
            ToolResult late = toolkit.execute("progress_slow", Map.of("durationMs", 60_000), limit);
            System.out.println("progress_slow: " + late.status());
            List<CompletableFuture<ToolResult>> calls = List.of(
                    toolkit.executeAsync("progress_slow", Map.of("durationMs", 50), null),
                    toolkit.executeAsync("progress_slow", Map.of("durationMs", 20), null));
            for (CompletableFuture<ToolResult> call : calls) System.out.println("progress_slow: " + call.join());
        }
    }
}
