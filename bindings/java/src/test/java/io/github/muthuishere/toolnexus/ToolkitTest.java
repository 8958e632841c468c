package io.github.muthuishere.toolnexus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ToolkitTest {
    private static final Map<String, Object> NUMBERS = Map.of(
            "type", "object", "properties", Map.of("a", Map.of("type", "integer"), "b", Map.of("type", "integer")));

    private static final NativeTool ADD = NativeTool.of("add", "Adds.", NUMBERS, args ->
            String.valueOf((Long) args.get("a") + (Long) args.get("b")));

    @AfterEach
    void nothingLives() {
        Fixtures.nothingLives();
    }

    private static Toolkit toolkit(Tool... tools) {
        return Toolkit.create(new Toolkit.Options().builtins(false).mcpConfig(Fixtures.tiny()).extraTools(tools));
    }

    /** A tool that waits until it is told to stop, and says that it was told. */
    private static NativeTool hang(CountDownLatch begun, CountDownLatch stopped) {
        return NativeTool.of("hang", "", null, (args, ctx) -> {
            begun.countDown();
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                if (ctx.isCancelled()) stopped.countDown();
            }
            return "";
        });
    }

    @Test
    void resourceToolsAreRegisteredLikeOthers() {
        try (Toolkit tk = toolkit()) {
            tk.register(tk.mcpSource().resourceTools().toArray(new Tool[0]));
            assertTrue(tk.get("read_mcp_resource").hints().readOnly());
            assertEquals(
                    List.of("progress_echo", "progress_slow", "progress_fail", "list_mcp_resources", "read_mcp_resource"),
                    tk.tools().stream().map(Tool::name).toList());
            assertTrue(tk.execute("list_mcp_resources", Map.of()).output().contains("fixture://hello"));
            ToolResult read = tk.execute("read_mcp_resource", Map.of("server", "progress", "uri", "fixture://hello"));
            assertEquals("hello resource", read.output());
            assertEquals(Map.of("progress", "connected"), tk.mcpStatus());
        }
    }

    @Test
    void ownToolsRunHereAndAreWhatWasRegistered() {
        AtomicReference<Thread> ran = new AtomicReference<>();
        NativeTool where = NativeTool.of("where", "", null, args -> {
            ran.set(Thread.currentThread());
            return Map.of("n", List.of(1, 2));
        });
        try (Toolkit tk = toolkit(ADD, where.withHints(ToolHints.READ_ONLY))) {
            assertSame(ADD, tk.get("add"));
            assertTrue(tk.get("where").hints().readOnly());
            assertTrue(tk.tools().contains(ADD));
            assertNull(tk.get("nope"));
            assertEquals("3", tk.execute("add", Map.of("a", 1L, "b", 2L)).output());
            assertEquals("7", tk.executeJson("add", "{\"a\":3,\"b\":4}", null).output());
            assertEquals(Status.JSON, tk.executeJson("add", "[3]", null).status());
            assertEquals("{\"n\":[1,2]}", tk.execute("where", null).output());
            assertTrue(ran.get().getName().startsWith("toolnexus-work") && ran.get().isDaemon());
            ToolResult threw = tk.execute("add", Map.of("a", "x"));
            assertTrue(threw.isError() && threw.status() == Status.OK, threw.output());
            assertEquals("Unknown tool: nope", tk.execute("nope", Map.of()).output());
            for (List<Map<String, Object>> schema : List.of(tk.toOpenAI(), tk.toAnthropic(), tk.toGemini()))
                assertTrue(Json.write(schema).contains("\"name\":\"add\",\"description\":\"Adds.\""), schema.toString());
        }
    }

    /** What the library itself asks of a tool is answered from here, too. */
    @Test
    void ownToolsServeTheLibrary() throws Exception {
        Events events = new Events(null, null);
        events.serve(ADD);
        CountDownLatch stopped = new CountDownLatch(1);
        NativeTool hang = hang(new CountDownLatch(1), stopped);
        events.serve(hang);
        Tool add = through(events, ADD);
        assertEquals("5", add.execute(Map.of("a", 2, "b", 3), null).output());
        assertTrue(add.execute(Map.of("a", "x"), null).isError());
        ToolResult late = through(events, hang).execute(null, new ToolContext(50L));
        assertEquals(Status.TIMEOUT, late.status());
        assertTrue(stopped.await(60, TimeUnit.SECONDS), "the tool was not told");
        events.close();
        assertEquals(Status.CLOSED, add.execute(Map.of(), null).status());
    }

    /** The library's own object for a tool of the program's. */
    private static Tool through(Events events, Tool tool) {
        return events.queue().with(calls -> {
            long result = Lib.tn_tool_create(Lib.text(Hosted.spec(tool)), calls);
            try {
                return McpTool.of(Lib.tn_result_take_tool(result));
            } finally {
                Lib.tn_free(result);
            }
        });
    }

    @Test
    void theFirstOfANameStays() {
        NativeTool other = NativeTool.of("add", "", null, args -> "other");
        NativeTool echo = NativeTool.of("progress_echo", "", null, args -> "other");
        try (Toolkit tk = toolkit(ADD, other, echo)) {
            assertSame(ADD, tk.get("add"));
            assertEquals("3", tk.execute("add", Map.of("a", 1L, "b", 2L)).output());
            assertEquals("mcp", tk.get("progress_echo").source());
            assertEquals("x", tk.execute("progress_echo", Map.of("text", "x")).output());
        }
    }

    @Test
    void whatAModelMakesUpIsAResult() {
        try (Toolkit tk = toolkit(ADD)) {
            for (String bad : List.of("a\0", "\ud800", "", "nope")) {
                assertEquals(Status.NOT_FOUND, tk.execute(bad, Map.of()).status());
                assertEquals("Unknown tool: " + bad, tk.executeAsync(bad, null, null).join().output());
                assertNull(tk.get(bad));
            }
            for (String bad : List.of("{\"text\":\"\0\"}", "{\"text\":\"\ud800\"}", "", "{", "[]", "null", "{\"text\":1"))
                for (String name : List.of("progress_echo", "add")) {
                    // Half a pair is something that Java can hold: a tool of its own gets it.
                    boolean fits = name.equals("add") && bad.contains("\ud800");
                    assertEquals(fits ? Status.OK : Status.JSON, tk.executeJson(name, bad, null).status(), name + bad);
                    assertEquals(fits ? Status.OK : Status.JSON, tk.get(name).executeJson(bad, null).status(), name + bad);
                }
            // What the program itself says may hold everything that JSON can.
            ToolResult said = tk.execute("progress_echo", Map.of("text", "a\0\ud83e\udd80"));
            assertEquals("a\0\ud83e\udd80", said.output());
            assertEquals(Status.ARGUMENT, assertThrows(ToolnexusException.class, () -> tk.execute(null, null)).status());
            Map<String, Object> unwritable = Map.of("text", new Object());
            ToolnexusException refused =
                    assertThrows(ToolnexusException.class, () -> tk.execute("progress_echo", unwritable));
            assertTrue(refused.getMessage().contains("java.lang.Object"), refused.getMessage());
        }
    }

    @Test
    void anyToolCanBeRegistered() {
        Tool own = new Tool() {
            @Override
            public String name() {
                return "own";
            }

            @Override
            public String description() {
                return "Its own.";
            }

            @Override
            public Map<String, Object> inputSchema() {
                return Map.of("type", "object");
            }

            @Override
            public String source() {
                return "custom";
            }

            @Override
            public ToolResult execute(Map<String, Object> args, ToolContext ctx) {
                return ToolResult.of("mine", false, Map.of("n", 1));
            }
        };
        try (Toolkit tk = toolkit()) {
            tk.register(own);
            assertSame(own, tk.get("own"));
            assertEquals(Map.of("n", 1), tk.execute("own", Map.of()).metadata());
            assertEquals("mine", own.executeAsync(null).join().output());
            NativeTool bad = NativeTool.of("not a name", "", null, args -> "");
            assertEquals(Status.ARGUMENT, assertThrows(ToolnexusException.class, () -> tk.register(bad)).status());
        }
    }

    @Test
    void ownToolsHaveLimitsAndCanBeCancelled() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(2);
        NativeTool hang = hang(begun, interrupted);
        ToolResult late = hang(new CountDownLatch(1), interrupted).execute(null, new ToolContext(30L));
        assertEquals(Status.TIMEOUT, late.status());
        assertEquals("tool hang did not end within the time-out of 30 ms", late.output());
        ToolContext context = new ToolContext();
        CompletableFuture<ToolResult> running = hang.executeAsync(null, context);
        begun.await();
        context.cancel();
        assertThrows(CancellationException.class, running::join);
        assertTrue(interrupted.await(60, TimeUnit.SECONDS));
        assertThrows(CancellationException.class, () -> hang.execute(null, context));
    }

    @Test
    void closingEndsCallsOfOwnToolsToo() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch stopped = new CountDownLatch(1);
        NativeTool hang = hang(begun, stopped);
        Toolkit tk = toolkit(hang, ADD);
        CompletableFuture<ToolResult> running = tk.executeAsync("hang", null, null);
        begun.await();
        tk.close();
        assertEquals(Status.CLOSED, running.join().status());
        assertTrue(stopped.await(60, TimeUnit.SECONDS), "the tool was not told");
        ToolResult later = tk.execute("add", Map.of("a", 1L, "b", 2L));
        assertEquals(Status.CLOSED, later.status());
        assertEquals(Status.CLOSED, tk.execute("progress_echo", Map.of("text", "x")).status());
        assertEquals(Status.CLOSED, assertThrows(ToolnexusException.class, () -> tk.register(ADD)).status());
        assertEquals("3", ADD.execute(Map.of("a", 1L, "b", 2L)).output());
        tk.close();
    }

    @Test
    void optionsAreChecked() {
        assertEquals(
                Status.ARGUMENT,
                assertThrows(ToolnexusException.class, () -> Toolkit.create(new Toolkit.Options().builtins(true))).status());
        try (Toolkit tk = Toolkit.create(new Toolkit.Options().extraTools(ADD))) {
            assertNull(tk.mcpSource());
            assertEquals(Map.of(), tk.mcpStatus());
            assertEquals(List.of(ADD), tk.tools());
        }
        Toolkit.Options options = new Toolkit.Options().builtins(false).mcpConfig(Fixtures.tiny());
        try (Toolkit tk = Toolkit.create(options.disableTools("progress_fail", "add").extraTools(ADD))) {
            assertFalse(tk.tools().contains(ADD));
            assertNull(tk.get("progress_fail"));
        }
        Toolkit.Options cancelled = new Toolkit.Options().mcpConfig(Fixtures.tiny()).cancel(() -> true);
        assertThrows(CancellationException.class, () -> Toolkit.create(cancelled));
        assertEquals(Duration.ofSeconds(1).toMillis(), new ToolContext().deadline(Duration.ofSeconds(1)).deadlineMs());
    }
}
