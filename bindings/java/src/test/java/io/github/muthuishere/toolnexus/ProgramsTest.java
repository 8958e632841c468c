package io.github.muthuishere.toolnexus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whole programs, in processes of their own. */
class ProgramsTest {
    /** A program that ends while much is under way. */
    public static final class Ends {
        private Ends() {}

        /** The one argument says how it ends: by return, or by exit. */
        public static void main(String[] args) throws Exception {
            NativeTool hang = NativeTool.of("hang", "", null, given -> {
                while (true) Thread.onSpinWait();
            });
            Toolkit toolkit = Toolkit.create(new Toolkit.Options()
                    .builtins(false)
                    .mcpConfig(Fixtures.hostile("never-answers"))
                    .waitFor(request -> null)
                    .extraTools(hang));
            System.out.println(Json.object(Json.parse(toolkit.execute("x_process", null).output())).get("pid"));
            List<Object> kept = new ArrayList<>();
            for (int i = 0; i < 100; i++) kept.add(toolkit.executeAsync("x_odd", Map.of(), null));
            kept.add(toolkit.executeAsync("hang", Map.of(), null));
            // They are under way when this is answered.
            toolkit.execute("x_echo", Map.of("text", "a"));
            if (args[0].equals("exit")) {
                Thread waiting = new Thread(() -> toolkit.execute("x_odd", Map.of()));
                waiting.start();
                System.exit(7);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"return", "exit"})
    void endsCleanlyWithCallsInFlight(String how) throws Exception {
        Fixtures.Ran ran = Fixtures.run(
                List.of(Fixtures.java("java"), "-cp", Fixtures.classPath(), Ends.class.getName(), how));
        assertEquals(how.equals("exit") ? 7 : 0, ran.status(), ran.toString());
        long server = Long.parseLong(ran.output().strip());
        Fixtures.eventually("the server is gone", () -> ProcessHandle.of(server).isEmpty());
    }

    /** A hundred virtual threads wait for a tool that takes 100 ms. */
    public static final class Virtual {
        private Virtual() {}

        /** Prints how many milliseconds it took in all, at the best of five times: a busy machine makes some of them longer. */
        public static void main(String[] args) throws Exception {
            // This is compiled for Java 17.
            ExecutorService threads = (ExecutorService)
                    Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
            try (McpSource source = McpSource.load(Fixtures.tiny())) {
                Tool slow = Fixtures.tool(source.tools(), "progress_slow");
                Callable<String> call = () -> slow.execute(Map.of("durationMs", 100, "intervalMs", 0)).output();
                call.call();
                long best = Long.MAX_VALUE;
                for (int round = 0; round < 5; round++) {
                    List<Future<String>> calls = new ArrayList<>();
                    long start = System.nanoTime();
                    for (int i = 0; i < 100; i++) calls.add(threads.submit(call));
                    for (Future<String> each : calls) if (!each.get().equals("slept 100 ms")) throw new AssertionError(each.get());
                    best = Math.min(best, (System.nanoTime() - start) / 1_000_000);
                }
                System.out.println(best);
            }
        }
    }

    @Test
    void virtualThreadsAreNotPinned() throws Exception {
        String java = System.getenv("TOOLNEXUS_JAVA21");
        assumeTrue(java != null && !java.isEmpty(), "TOOLNEXUS_JAVA21 does not name a java of version 21 or newer");
        Fixtures.Ran ran = Fixtures.run(List.of(
                java,
                "--enable-native-access=ALL-UNNAMED",
                "-Djdk.virtualThreadScheduler.parallelism=2",
                "-cp",
                Fixtures.classPath(),
                Virtual.class.getName()));
        assertEquals(0, ran.status(), ran.toString());
        System.out.println("100 virtual threads that call a tool of 100 ms: " + ran.output().strip() + " ms");
        // Pinned, the two carriers would take 5,000.
        assertTrue(Long.parseLong(ran.output().strip()) < 2500, ran.output());
    }

    private static final Pattern PROGRAM = Pattern.compile("(?ms)^import .*?^public class (\\w+) \\{$.*?^\\}$");

    /** The programs in the document that this package's users know. */
    static Stream<String> originals() throws Exception {
        String place = System.getenv("TOOLNEXUS_ORIGINALS");
        if (place == null || place.isEmpty()) return Stream.of("");
        Matcher programs = PROGRAM.matcher(Files.readString(Path.of(place, "original-java-resourceTools.txt")));
        List<String> found = programs.results().map(each -> each.group()).toList();
        assertEquals(3, found.size());
        return found.stream();
    }

    @ParameterizedTest
    @org.junit.jupiter.params.provider.MethodSource("originals")
    void theOriginalProgramsRunUnchanged(String program, @TempDir Path folder) throws Exception {
        if (program.isEmpty()) System.out.println("SKIPPED: TOOLNEXUS_ORIGINALS does not name the folder of the original documents");
        assumeTrue(!program.isEmpty());
        Fixtures.Ran ran = compileAndRun(program, folder);
        assertEquals(0, ran.status(), ran.toString());
        assertTrue(ran.output().startsWith("ok: "), ran.output());
    }

    private static Fixtures.Ran compileAndRun(String program, Path folder) throws Exception {
        Matcher name = Pattern.compile("(?m)^public class (\\w+) ").matcher(program);
        assertTrue(name.find());
        Path source = Files.writeString(folder.resolve(name.group(1) + ".java"), program);
        Fixtures.Ran compiled = Fixtures.run(List.of(
                Fixtures.java("javac"), "-Xlint:all", "-Werror", "-cp", Fixtures.classPath(), "-d", folder.toString(), source.toString()));
        assertEquals(0, compiled.status(), compiled.toString());
        return Fixtures.run(List.of(
                Fixtures.java("java"), "-cp", folder + File.pathSeparator + Fixtures.classPath(), name.group(1)));
    }

    /** The first block of a kind in the README. */
    private static String block(String kind) {
        String readme = Fixtures.read(Fixtures.ROOT.resolve("bindings/java/README.md"));
        Matcher block = Pattern.compile("(?ms)^```" + kind + "\n(.*?)^```$").matcher(readme);
        assertTrue(block.find(), "the README has no block of " + kind);
        return block.group(1);
    }

    @Test
    void theReadmesQuickStartPrintsWhatItSays(@TempDir Path folder) throws Exception {
        assertEquals(block("text"), compileAndRun(block("java"), folder).output());
    }

    @Test
    void theExampleRuns() throws Exception {
        Fixtures.Ran ran = Fixtures.run(
                List.of(Fixtures.java("java"), "-cp", Fixtures.classPath(), "examples/java/Agent.java"));
        assertEquals(Fixtures.read(Fixtures.ROOT.resolve("examples/java/Agent.expected")), ran.output());
        assertEquals(0, ran.status(), ran.toString());
    }

    @Test
    void theExampleRunsOnALocalAndARemoteServer() throws Exception {
        Map<String, String> variables = Map.of("TINY_SERVER", Fixtures.TINY, "REMOTE_URL", Fixtures.REMOTE);
        Fixtures.Ran ran = Fixtures.run(
                List.of(Fixtures.java("java"), "-cp", Fixtures.classPath(), "examples/java/Agent.java", "examples/remote.json"),
                variables);
        assertEquals(0, ran.status(), ran.toString());
        assertEquals("{progress=connected, remote=connected}", ran.output().lines().findFirst().orElseThrow());
        assertTrue(ran.output().contains("\nremote_echo {readOnly=true}\n"), ran.output());
    }
}
