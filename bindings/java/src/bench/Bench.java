import io.github.muthuishere.toolnexus.McpSource;
import io.github.muthuishere.toolnexus.Tool;
import io.github.muthuishere.toolnexus.ToolResult;
import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.spec.McpSchema;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * The same calls through this package and through the official SDK.
 *
 * <p>Bench toolnexus|sdk SERVER CALLS WIDTH: prints microseconds a call, one after the other and WIDTH at once.
 */
public class Bench {
    private static final Map<String, Object> ARGUMENTS = Map.of("size", 100);

    public static void main(String[] args) throws Exception {
        int calls = Integer.parseInt(args[2]);
        int width = Integer.parseInt(args[3]);
        if (args[0].equals("toolnexus")) {
            try (McpSource source = McpSource.load(Map.of("mcpServers", Map.of("s", Map.of("command", args[1]))))) {
                Tool tool = source.tools().get(0);
                measure(
                        () -> output(tool.execute(ARGUMENTS, null)),
                        () -> tool.executeAsync(ARGUMENTS, null).thenApply(Bench::output),
                        calls,
                        width);
            }
            return;
        }
        var transport = new StdioClientTransport(ServerParameters.builder(args[1]).build(), McpJsonDefaults.getMapper());
        McpAsyncClient client = McpClient.async(transport).build();
        client.initialize().block();
        String name = client.listTools().block().tools().get(0).name();
        var request = McpSchema.CallToolRequest.builder(name).arguments(ARGUMENTS).build();
        measure(
                () -> output(client.callTool(request).block()),
                () -> client.callTool(request).toFuture().thenApply(Bench::output),
                calls,
                width);
        client.closeGracefully().block();
    }

    private static String output(ToolResult result) {
        return result.output();
    }

    private static String output(McpSchema.CallToolResult result) {
        return ((McpSchema.TextContent) result.content().get(0)).text();
    }

    private static void measure(
            Supplier<String> call, Supplier<CompletableFuture<String>> begin, int calls, int width) throws Exception {
        // The JVM compiles what runs often: only then is it measured.
        oneByOne(call, calls / 10);
        atOnce(begin, calls, width);
        double single = oneByOne(call, calls / 10);
        System.out.printf("%.2f %.2f%n", single, atOnce(begin, calls, width));
    }

    private static double oneByOne(Supplier<String> call, int calls) {
        long[] took = new long[calls];
        for (int i = 0; i < calls; i++) {
            long began = System.nanoTime();
            check(call.get());
            took[i] = System.nanoTime() - began;
        }
        Arrays.sort(took);
        return took[calls / 2] / 1000.0;
    }

    /** As one call is answered, one is asked. */
    private static double atOnce(Supplier<CompletableFuture<String>> begin, int calls, int width) throws Exception {
        AtomicInteger left = new AtomicInteger(calls);
        CountDownLatch done = new CountDownLatch(calls);
        long began = System.nanoTime();
        for (int i = 0; i < width; i++) next(begin, left, done);
        done.await();
        return (System.nanoTime() - began) / 1000.0 / calls;
    }

    private static void next(Supplier<CompletableFuture<String>> begin, AtomicInteger left, CountDownLatch done) {
        if (left.getAndDecrement() <= 0) return;
        begin.get().whenComplete((output, thrown) -> {
            if (thrown != null) thrown.printStackTrace();
            else check(output);
            done.countDown();
            next(begin, left, done);
        });
    }

    private static void check(String output) {
        if (output.length() != 100) throw new AssertionError(output);
    }
}
