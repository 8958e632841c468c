package io.github.muthuishere.toolnexus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SourceTest {
    @AfterEach
    void nothingLives() {
        Fixtures.nothingLives();
    }

    @Test
    void resourcesAreListedAndRead() {
        McpSource source = McpSource.load(Fixtures.tiny());
        List<Tool> tools = source.resourceTools();
        assertEquals(List.of("list_mcp_resources", "read_mcp_resource"), tools.stream().map(Tool::name).toList());
        assertSame(ToolHints.READ_ONLY, tools.get(0).hints());
        assertEquals(
                "progress fixture://hello — hello (text/plain): A fixed text resource.",
                tools.get(0).execute(Map.of(), null).output());
        Map<String, Object> hello = Map.of("server", "progress", "uri", "fixture://hello");
        assertEquals("hello resource", tools.get(1).execute(hello, null).output());
        ToolResult unknown = tools.get(1).execute(Map.of("server", "nope", "uri", "x"), null);
        assertTrue(unknown.isError());
        assertEquals("Unknown MCP server \"nope\" (connected: progress)", unknown.output());
        assertEquals("not_found", unknown.error().get("code"));
        source.close();
        assertEquals("MCP source is closed", tools.get(0).execute(null, null).output());
    }

    @Test
    void configsAreTextsPathsAndMaps(@TempDir Path folder) throws Exception {
        String text = Json.write(Fixtures.tiny());
        Path file = Files.writeString(folder.resolve("mcp.json"), text);
        for (Object config : List.of(text, file, file.toString(), Fixtures.tiny()))
            try (McpSource source = McpSource.load(config)) {
                assertEquals(Map.of("progress", "connected"), source.status());
            }
        assertEquals(Status.ARGUMENT, assertThrows(ToolnexusException.class, () -> McpSource.load(null)).status());
        ToolnexusException bad = assertThrows(ToolnexusException.class, () -> McpSource.load("{\"mcpServers\":"));
        assertEquals(Status.CONFIG, bad.status());
        assertTrue(bad.getMessage().contains("line 1"), bad.getMessage());
        assertThrows(ToolnexusException.class, () -> McpSource.load("/no/such/mcp.json"));
        assertThrows(ToolnexusException.class, () -> McpSource.load("{\"\0\":1}"));
        assertEquals(Status.UTF8, assertThrows(ToolnexusException.class, () -> McpSource.load("{\"\ud800\":1}")).status());
    }

    @Test
    void configsAreParsedWhole() {
        Map<String, Object> entry = Map.of("command", "x", "env", Map.of("KEY", "secret-value"));
        Map<String, Object> servers = McpSource.parseConfig(Map.of("mcpServers", Map.of("a", entry)));
        assertEquals(Map.of("KEY", "secret-value"), Json.object(Json.object(servers.get("a")).get("env")));
        ToolnexusException bad = assertThrows(
                ToolnexusException.class, () -> McpSource.parseConfig("{\"mcpServers\":{\"a\":{\"command\":\"x y\"}}}"));
        assertEquals(Status.CONFIG, bad.status());
        assertTrue(bad.getMessage().startsWith("mcpServers.a.command: "), bad.getMessage());
    }

    @Test
    void toolsAreDescribed() {
        try (McpSource source = McpSource.load(Fixtures.tiny())) {
            Tool echo = source.tools().get(0);
            assertEquals("progress_echo", echo.name());
            assertEquals("Gives back the text.", echo.description());
            assertEquals("mcp", echo.source());
            assertEquals("object", echo.inputSchema().get("type"));
            assertTrue(echo.hints().readOnly());
            assertTrue(echo.hints().destructive().isEmpty());
            ToolResult result = echo.execute(Map.of("text", "a"));
            assertEquals("progress", result.metadata().get("server"));
            assertEquals(List.of(Map.of("type", "text", "text", "a")), result.content());
            assertFalse(result.isError());
        }
        McpSource.McpInventory inventory = McpSource.listMcpTools(Fixtures.tiny());
        assertEquals(Map.of("progress", "connected"), inventory.status());
        assertEquals(
                List.of("echo", "slow", "fail"),
                inventory.tools().get("progress").stream().map(McpSource.ToolInfo::name).toList());
        assertThrows(CancellationException.class, () -> McpSource.listMcpTools(Fixtures.tiny(), () -> true));
    }

    @Test
    void partsHaveTheirData() {
        try (McpSource source = McpSource.load(Fixtures.hostile("odd-content"))) {
            Map<String, Object> image = Fixtures.tool(source.tools(), "x_image").execute(Map.of()).parts().get(0);
            assertEquals("image/png", image.get("mimeType"));
            assertEquals(4, ((String) image.get("data")).length());
            Map<String, Object> blob = Fixtures.tool(source.tools(), "x_embedded-blob").execute(Map.of()).parts().get(0);
            assertEquals(4, ((String) blob.get("data")).length());
        }
    }

    @Test
    void aLoadCanBeGivenUp() throws Exception {
        Map<String, Object> silent = Fixtures.hostile("never-answers", "--at", "handshake");
        AtomicBoolean cancel = new AtomicBoolean();
        AtomicReference<Thread> loading = new AtomicReference<>();
        for (boolean interrupts : new boolean[] {false, true}) {
            CompletableFuture<McpSource> load = CompletableFuture.supplyAsync(() -> {
                loading.set(Thread.currentThread());
                return McpSource.load(silent, null, interrupts ? null : cancel::get);
            });
            Fixtures.eventually("the load waits", () -> loading.get() != null && waits(loading.get()));
            if (interrupts) loading.get().interrupt();
            else cancel.set(true);
            load.handle((source, thrown) -> {
                assertTrue(thrown.getCause() instanceof CancellationException, String.valueOf(thrown));
                return null;
            }).get(60, TimeUnit.SECONDS);
            loading.set(null);
        }
        McpSource.Options options = new McpSource.Options().deadline(Duration.ofMillis(100));
        assertEquals(
                Status.TIMEOUT,
                assertThrows(ToolnexusException.class, () -> McpSource.loadWith(silent, options)).status());
    }

    @Test
    void aSignalThatThrowsIsNoSignal() {
        AtomicBoolean asked = new AtomicBoolean();
        McpSource.CancelSignal broken = () -> {
            // When the call starts, it is still whole.
            if (asked.getAndSet(true)) throw new IllegalStateException("on purpose");
            return false;
        };
        try (McpSource source = McpSource.load(Fixtures.tiny())) {
            Tool slow = Fixtures.tool(source.tools(), "progress_slow");
            Map<String, Object> args = Map.of("durationMs", 60, "intervalMs", 0);
            assertEquals("slept 60 ms", slow.execute(args, new ToolContext().signal(broken)).output());
        }
    }

    private static boolean waits(Thread thread) {
        return thread.getState() == Thread.State.WAITING;
    }

    @Test
    void callsCanBeCancelledInEveryWay() throws Exception {
        try (McpSource source = McpSource.load(Fixtures.hostile("never-answers"))) {
            Tool odd = Fixtures.tool(source.tools(), "x_odd");
            Tool received = Fixtures.tool(source.tools(), "x_received");
            CompletableFuture<ToolResult> future = odd.executeAsync(Map.of());
            // What is sent later is read later: the server has the call when it has answered this one.
            assertFalse(received.execute(Map.of()).isError());
            assertTrue(future.cancel(true));
            assertTrue(future.isCancelled());
            Fixtures.eventually(
                    "the server hears of it",
                    () -> received.execute(Map.of()).output().contains("notifications/cancelled"));

            ToolContext context = new ToolContext();
            CompletableFuture<ToolResult> first = odd.executeAsync(Map.of(), context);
            context.cancel();
            assertThrows(CancellationException.class, first::join);
            assertThrows(CancellationException.class, () -> odd.execute(Map.of(), context));

            AtomicBoolean flag = new AtomicBoolean();
            CompletableFuture<ToolResult> second = odd.executeAsync(Map.of(), new ToolContext(null, flag));
            flag.set(true);
            assertThrows(CancellationException.class, second::join);

            AtomicBoolean kept = new AtomicBoolean();
            Thread waiting = new Thread(() -> {
                try {
                    odd.execute(Map.of());
                } catch (CancellationException e) {
                    kept.set(Thread.currentThread().isInterrupted());
                }
            });
            waiting.start();
            Fixtures.eventually("the call waits", () -> waits(waiting));
            waiting.interrupt();
            waiting.join();
            assertTrue(kept.get(), "the thread must still be interrupted");
        }
    }

    @Test
    void progressIsToldInOrderAndBeforeTheResult() {
        Queue<Double> told = new ConcurrentLinkedQueue<>();
        try (McpSource source = McpSource.load(Fixtures.tiny())) {
            Tool slow = Fixtures.tool(source.tools(), "progress_slow");
            Map<String, Object> args = Map.of("durationMs", 60, "intervalMs", 10);
            ToolContext context = new ToolContext().progress(progress -> {
                assertEquals("progress", progress.server());
                assertEquals(60, progress.total());
                told.add(progress.progress());
            });
            assertEquals("slept 60 ms", slow.execute(args, context).output());
            List<Double> seen = new ArrayList<>(told);
            assertTrue(seen.size() >= 3, seen.toString());
            List<Double> sorted = new ArrayList<>(seen);
            Collections.sort(sorted);
            assertEquals(sorted, seen);
            // One that throws costs only itself.
            ToolContext throwing = new ToolContext().progress(progress -> {
                throw new IllegalStateException("on purpose");
            });
            assertEquals("slept 60 ms", slow.executeAsync(args, throwing).join().output());
        }
    }

    @Test
    void whatHangsOnAFutureMayBlock() {
        try (McpSource source = McpSource.load(Fixtures.tiny())) {
            Tool echo = source.tools().get(0);
            List<CompletableFuture<String>> chains = new ArrayList<>();
            for (int i = 0; i < 50; i++) {
                Map<String, Object> args = Map.of("text", "n" + i);
                // Each waits for another call inside the completion of the first.
                chains.add(echo.executeAsync(args).thenApply(first -> echo.execute(args).output()));
            }
            for (int i = 0; i < 50; i++) assertEquals("n" + i, chains.get(i).join());
        }
    }

    @Test
    void serversAreAnswered() throws Exception {
        Map<String, Object> asking = Fixtures.hostile("asks-elicitation", "--era", "legacy");
        AtomicReference<Request> asked = new AtomicReference<>();
        try (McpSource source = McpSource.load(asking, request -> {
            asked.set(request);
            return new Answer(request.id(), true, Map.of("name", "Ada", "confirmed", true));
        })) {
            assertTrue(Fixtures.tool(source.tools(), "x_odd").execute(Map.of()).output().contains("accept"));
            assertEquals("input", asked.get().kind());
            assertEquals("x", asked.get().server());
            assertTrue(asked.get().data().get("schema") instanceof Map, asked.toString());
        }
        try (McpSource source = McpSource.load(asking, request -> Answer.decline())) {
            assertTrue(Fixtures.tool(source.tools(), "x_odd").execute(Map.of()).output().contains("decline"));
        }
        // What throws, what is nothing, and what does not fit cancel: the server does not wait for ever.
        List<java.util.function.Function<Request, Answer>> bad = List.of(
                request -> {
                    throw new IllegalStateException("on purpose");
                },
                request -> null,
                request -> Answer.accept(Map.of("confirmed", 7)),
                request -> Answer.accept(Map.of("name", new Object())));
        for (var waitFor : bad)
            try (McpSource source = McpSource.load(asking, waitFor)) {
                String said = Fixtures.tool(source.tools(), "x_odd").execute(Map.of()).output();
                assertTrue(said.contains("cancel"), said);
            }
        CountDownLatch stopped = new CountDownLatch(1);
        try (McpSource source = McpSource.load(asking, request -> {
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                stopped.countDown();
            }
            return null;
        })) {
            // Long enough for the question to reach the host, also on a busy machine.
            ToolContext context = new ToolContext().deadline(Duration.ofSeconds(3));
            assertEquals(Status.TIMEOUT, Fixtures.tool(source.tools(), "x_odd").execute(Map.of(), context).status());
            assertTrue(stopped.await(60, TimeUnit.SECONDS), "who is asked must hear that it is no longer wanted");
        }
    }

    @Test
    void serversAreRestartedAndAskedAnything() throws Exception {
        Queue<Object> notices = new ConcurrentLinkedQueue<>();
        McpSource.Options options = new McpSource.Options().onNotice(notice -> notices.add(notice.get("kind")));
        try (McpSource source = McpSource.loadWith(Fixtures.tiny(), options)) {
            Map<String, Object> read = source.request("progress", "resources/read", Map.of("uri", "fixture://hello"));
            assertEquals("hello resource", Json.object(Json.list(read.get("contents")).get(0)).get("text"));
            assertEquals(
                    Status.NOT_FOUND,
                    assertThrows(ToolnexusException.class, () -> source.request("nope", "ping", null)).status());
            source.restart("progress");
            source.restart(null);
            assertEquals("connected", source.status().get("progress"));
            assertThrows(ToolnexusException.class, () -> source.restart("nope"));
            Fixtures.eventually("the restart is told", () -> notices.contains("server"));
        }
    }

    @Test
    void aSkillIsWhatItsEntrySaysOrNothing() {
        String skill = "skill://acme/pdf/SKILL.md";
        try (McpSource source = McpSource.load(Fixtures.hostile("skills"))) {
            Map<String, Object> read = source.readSkill("x", skill, null);
            assertTrue(read.get("output").toString().endsWith("\nBody\n"));
            assertEquals(Map.of("server", "x", "skill", skill, "uri", skill), read.get("metadata"));
            Map<String, Object> held = Json.object(read.get("skill"));
            Map<String, Object> logo = source.readSkill("x", held, "skill://acme/pdf/logo.png", null);
            assertEquals("iVBORw==", Json.object(Json.list(logo.get("contents")).get(0)).get("blob"));
            assertEquals(
                    Status.PROTOCOL,
                    assertThrows(
                                    ToolnexusException.class,
                                    () -> source.readSkill("x", held, "skill://acme/pdf/hidden.md", null))
                            .status());
        }
        try (McpSource source = McpSource.load(Fixtures.hostile("skill-digest"))) {
            ToolnexusException refused =
                    assertThrows(ToolnexusException.class, () -> source.readSkill("x", skill, null));
            assertTrue(refused.getMessage().contains("has the digest"), refused.getMessage());
        }
    }

    @Test
    void whatIsForgottenIsClosed() throws Exception {
        long server = forget();
        assertTrue(Handle.live() > 0);
        Fixtures.eventually("all references are given back, and the server is gone", () -> {
            System.gc();
            return Handle.live() == 0 && ProcessHandle.of(server).isEmpty();
        });
    }

    /** Loads with everything that could hold a source, and forgets it. Returns the server's process. */
    private static long forget() {
        Toolkit toolkit = Toolkit.create(new Toolkit.Options()
                .builtins(false)
                .mcpConfig(Fixtures.hostile("never-answers"))
                .waitFor(request -> null)
                .extraTools(NativeTool.of("own", "", null, args -> "")));
        Map<String, Object> process = Json.object(Json.parse(toolkit.execute("x_process", null).output()));
        assertEquals(4, toolkit.tools().size() - 1, toolkit.tools().toString());
        return (Long) process.get("pid");
    }

    @Test
    void theLibraryStartsAnewAfterAShutdown() {
        McpSource source = McpSource.load(Fixtures.tiny());
        Tool echo = source.tools().get(0);
        assertEquals("a", echo.execute(Map.of("text", "a")).output());
        assertTrue(Toolnexus.shutdown(Duration.ofSeconds(20)).containsKey("tool"));
        assertEquals(Status.CLOSED, echo.execute(Map.of("text", "a")).status());
        source.close();
        try (McpSource again = McpSource.load(Fixtures.tiny())) {
            assertEquals("a", again.tools().get(0).execute(Map.of("text", "a")).output());
        }
    }
}
