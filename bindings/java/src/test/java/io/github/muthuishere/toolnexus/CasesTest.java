package io.github.muthuishere.toolnexus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** What every language must do alike: tests/cases. */
class CasesTest {
    private static final Map<String, Set<String>> STEPS = Map.of(
            "tools", Set.of(),
            "tool", Set.of("document"),
            "schema", Set.of("contains"),
            "call", Set.of("arguments", "text", "timeoutMs", "deadlineMs", "cancel", "times", "through", "expect"),
            "start", Set.of("arguments", "text", "timeoutMs", "deadlineMs"),
            "await", Set.of("expect"),
            "request", Set.of("server", "params", "expect"),
            "status", Set.of(),
            "inventory", Set.of(),
            "free", Set.of());
    private static final Set<String> EXPECTED = Set.of(
            "status", "isError", "output", "outputHas", "outputLength", "parts", "structured", "document", "serverError");
    private static final Set<String> CASE = Set.of(
            "name", "parse", "config", "options", "answers", "hostTool", "load", "steps");

    @TestFactory
    Stream<DynamicTest> cases() {
        return read("cases.json").map(each -> DynamicTest.dynamicTest((String) each.get("name"), () -> new Case(each).run()));
    }

    /** A runner that lets one of these pass does not look. */
    @TestFactory
    Stream<DynamicTest> wrongCasesFail() {
        return read("must-fail.json").map(each -> DynamicTest.dynamicTest((String) each.get("name"), () -> {
            String why = assertThrows(Throwable.class, () -> new Case(each).run()).toString();
            assertTrue(!why.contains(Fixtures.LEFT), why);
        }));
    }

    private static Stream<Map<String, Object>> read(String file) {
        List<?> cases = Json.list(filled(Json.parse(Fixtures.read(Fixtures.ROOT.resolve("tests/cases").resolve(file)))));
        assertTrue(!cases.isEmpty());
        return cases.stream().map(Json::object);
    }

    /** With the servers' paths, and the long texts written out. */
    private static Object filled(Object value) {
        if (value instanceof String text)
            return text.replace("$tiny", Fixtures.TINY).replace("$hostile", Fixtures.HOSTILE).replace("$remote", Fixtures.REMOTE);
        if (value instanceof List<?> list) return list.stream().map(CasesTest::filled).toList();
        if (!(value instanceof Map<?, ?> map)) return value;
        if (map.get("$repeat") instanceof List<?> repeat) return ((String) repeat.get(0)).repeat(((Number) repeat.get(1)).intValue());
        Map<Object, Object> filled = new LinkedHashMap<>();
        map.forEach((key, each) -> filled.put(key, filled(each)));
        return filled;
    }

    private static final class Case {
        private final Map<String, Object> spec;
        private final Deque<Object> answers;
        private McpSource source;
        private Toolkit toolkit;
        private List<Tool> resourceTools = List.of();
        private CompletableFuture<ToolResult> started;
        private Tool called;

        Case(Map<String, Object> spec) {
            known(spec.keySet(), CASE);
            this.spec = spec;
            answers = new ConcurrentLinkedDeque<>(Json.list(spec.getOrDefault("answers", List.of())));
        }

        void run() {
            try {
                if (load()) for (Object step : Json.list(spec.get("steps"))) step(Json.object(step));
                assertTrue(answers.isEmpty(), "answers that nobody asked for");
                if (toolkit != null) toolkit.close();
                if (source != null) source.close();
            } finally {
                Fixtures.nothingLives();
            }
        }

        /** False: as expected, there is nothing to go on with. */
        private boolean load() {
            Map<String, Object> wanted = new LinkedHashMap<>(Json.object(spec.get("load")));
            Object status = wanted.remove("status");
            if (status != null) {
                ToolnexusException failed = assertThrows(ToolnexusException.class, this::loaded);
                assertEquals(status, failed.status().nativeName(), failed.getMessage());
                return false;
            }
            holds(wanted, loaded());
            return true;
        }

        private Map<String, Object> loaded() {
            if (spec.containsKey("parse")) return McpSource.parse(spec.get("parse"), false);
            if (spec.get("hostTool") instanceof Map<?, ?> tool) {
                // A toolkit on a source of its own: its source is the one that the steps mean.
                Toolkit.Options options = new Toolkit.Options().builtins(false).mcpConfig(spec.get("config"));
                toolkit = Toolkit.create(options.extraTools(hostTool(Json.object(tool))));
                source = toolkit.mcpSource();
                return source.report();
            }
            McpSource.Options options = new McpSource.Options();
            Json.object(spec.get("options")).forEach(options::option);
            if (spec.containsKey("answers")) options.waitFor(this::answer);
            source = McpSource.loadWith(spec.get("config"), options);
            return source.report();
        }

        private Answer answer(Request request) {
            Map<String, Object> answer = Json.object(answers.remove());
            Map<String, Object> data = answer.get("data") == null ? null : Json.object(answer.get("data"));
            return new Answer(request.id(), (Boolean) answer.get("ok"), data, (String) answer.get("reason"));
        }

        private static Tool hostTool(Map<String, Object> spec) {
            known(spec.keySet(), Set.of("name", "description", "inputSchema", "does"));
            Object schema = spec.get("inputSchema");
            return NativeTool.of(
                    (String) spec.get("name"),
                    (String) spec.get("description"),
                    schema == null ? null : Json.object(schema),
                    does((String) spec.get("does")));
        }

        private static Function<Map<String, Object>, Object> does(String what) {
            known(List.of(what), Set.of("upper", "fail"));
            if (what.equals("upper")) return args -> ((String) args.get("text")).toUpperCase(Locale.ROOT);
            return args -> {
                throw new IllegalStateException("it does not want to");
            };
        }

        private void step(Map<String, Object> step) {
            String does = step.keySet().iterator().next();
            Object with = step.get(does);
            if (does.equals("close")) {
                known(step.keySet(), Set.of("close"));
                if (toolkit != null) toolkit.close();
                else source.close();
                return;
            }
            if (does.equals("resourceTools")) {
                known(step.keySet(), Set.of("resourceTools"));
                resourceTools = source.resourceTools();
                return;
            }
            Set<String> words = STEPS.get(does);
            assertTrue(words != null, "unknown step: " + step);
            List<String> others = new ArrayList<>(step.keySet());
            others.remove(does);
            known(others, words);
            Map<String, Object> expect = Json.object(step.get("expect"));
            known(expect.keySet(), EXPECTED);
            switch (does) {
                case "tools" -> assertEquals(with, source.tools().stream().map(Tool::name).toList());
                case "tool" -> holds(step.get("document"), document(find((String) with)));
                case "schema" -> {
                    String schema = Json.write(source.schema((String) with));
                    for (Object part : Json.list(step.get("contains"))) has(schema, part);
                }
                case "status" -> holds(with, source.details());
                case "inventory" -> {
                    McpSource.McpInventory inventory = McpSource.listMcpTools(spec.get("config"));
                    holds(with, Map.of("status", inventory.status(), "tools", inventory.tools()));
                }
                case "free" -> {
                    assertEquals("tool", with);
                    ((McpTool) called).handle().free();
                    ToolnexusException failed = assertThrows(ToolnexusException.class, () -> called.execute(Map.of(), null));
                    assertEquals(Status.HANDLE, failed.status());
                }
                case "request" -> request((String) with, step, expect);
                case "start" -> started = find((String) with).executeAsync(arguments(step), context(step));
                case "await" -> check(expect, started);
                default -> call((String) with, step, expect);
            }
        }

        private void request(String method, Map<String, Object> step, Map<String, Object> expect) {
            Map<String, Object> params = step.get("params") == null ? null : Json.object(step.get("params"));
            try {
                Map<String, Object> got = source.request((String) step.get("server"), method, params);
                assertEquals("TN_OK", expect.getOrDefault("status", "TN_OK"), "the request worked: " + got);
                if (expect.containsKey("document")) holds(expect.get("document"), got);
            } catch (ToolnexusException e) {
                assertEquals(expect.get("status"), e.status().nativeName(), e.getMessage());
                if (expect.containsKey("serverError"))
                    assertEquals(expect.get("serverError"), Json.object(e.details().get("data")).get("code"));
            }
        }

        private void call(String name, Map<String, Object> step, Map<String, Object> expect) {
            int times = step.get("times") instanceof Number number ? number.intValue() : 1;
            ToolContext context = context(step);
            String cancel = (String) step.getOrDefault("cancel", "");
            known(List.of(cancel), Set.of("", "before", "during", "after"));
            if (cancel.equals("before")) context.cancel();
            List<CompletableFuture<ToolResult>> calls = new ArrayList<>();
            for (int i = 0; i < times; i++) calls.add(begin(name, step, context));
            if (cancel.equals("during")) {
                // The server's tool `received` tells which calls it has.
                String[] words = name.split("_", 2);
                Tool received = find(words[0] + "_received");
                while (!received.execute(null, null).output().contains('"' + words[1] + '"')) Thread.onSpinWait();
                context.cancel();
            }
            for (CompletableFuture<ToolResult> each : calls) check(expect, each);
            if (cancel.equals("after")) context.cancel();
        }

        private CompletableFuture<ToolResult> begin(String name, Map<String, Object> step, ToolContext context) {
            if (step.get("through") != null) {
                assertEquals("toolkit", step.get("through"));
                return toolkit.executeAsync(name, arguments(step), context);
            }
            called = find(name);
            if (step.get("text") instanceof String text)
                return CompletableFuture.completedFuture(called.executeJson(text, context));
            return called.executeAsync(arguments(step), context);
        }

        private static Map<String, Object> arguments(Map<String, Object> step) {
            return step.get("arguments") == null ? null : Json.object(step.get("arguments"));
        }

        private static ToolContext context(Map<String, Object> step) {
            ToolContext context = new ToolContext((Long) step.get("timeoutMs"));
            if (step.get("deadlineMs") instanceof Long ms) context.deadline(java.time.Duration.ofMillis(ms));
            return context;
        }

        private Tool find(String name) {
            List<Tool> tools = toolkit == null ? source.tools() : toolkit.tools();
            return Fixtures.tool(Stream.concat(tools.stream(), resourceTools.stream()).toList(), name);
        }

        private static Map<String, Object> document(Tool tool) {
            if (tool instanceof McpTool mcp) return mcp.document();
            return Map.of("name", tool.name(), "source", tool.source(), "inputSchema", tool.inputSchema());
        }

        /** Cancelling is the language's exception; everything else is a result. */
        private static void check(Map<String, Object> expect, CompletableFuture<ToolResult> call) {
            String status = (String) expect.getOrDefault("status", "TN_OK");
            if (status.equals("TN_E_CANCELLED")) {
                assertThrows(CancellationException.class, () -> joined(call));
                return;
            }
            ToolResult result = joined(call);
            assertEquals(status, result.status().nativeName(), result.output());
            assertEquals(expect.getOrDefault("isError", !status.equals("TN_OK")), result.isError(), result.output());
            if (expect.containsKey("output")) assertEquals(expect.get("output"), result.output());
            for (Object part : Json.list(expect.get("outputHas"))) has(result.output(), part);
            if (expect.get("outputLength") instanceof Long length)
                assertEquals(length, (long) result.output().getBytes(StandardCharsets.UTF_8).length);
            if (expect.containsKey("structured")) assertEquals(expect.get("structured"), result.structured());
            if (expect.containsKey("document")) holds(expect.get("document"), result.document());
            if (expect.containsKey("parts")) assertEquals(expect.get("parts"), result.document().get("parts"));
        }

        private static ToolResult joined(CompletableFuture<ToolResult> call) {
            try {
                return call.join();
            } catch (CompletionException e) {
                if (e.getCause() instanceof RuntimeException cause) throw cause;
                throw e;
            }
        }
    }

    private static void has(String text, Object part) {
        assertTrue(text.contains((String) part), () -> "wanted " + part + " in " + text);
    }

    private static void known(Iterable<String> words, Set<String> known) {
        for (String word : words) assertTrue(known.contains(word), () -> "a word that this runner does not know: " + word);
    }

    /** Every member that is named is there and equal; arrays are equal as a whole. */
    private static void holds(Object wanted, Object got) {
        if (!(wanted instanceof Map<?, ?> members)) {
            assertEquals(wanted, got);
            return;
        }
        assertTrue(got instanceof Map<?, ?>, () -> "wanted " + wanted + " in " + got);
        members.forEach((name, member) -> {
            assertTrue(((Map<?, ?>) got).containsKey(name), () -> "wanted " + name + " in " + got);
            holds(member, ((Map<?, ?>) got).get(name));
        });
    }
}
