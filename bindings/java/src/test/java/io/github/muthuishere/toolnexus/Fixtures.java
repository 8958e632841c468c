package io.github.muthuishere.toolnexus;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** The servers that the tests talk to, and what the tests share. */
final class Fixtures {
    /** The root of the project: Maven runs the tests in the module's folder. */
    static final Path ROOT = Path.of("../..").toAbsolutePath().normalize();

    static final String LEFT = "references that nobody gave back";
    static final String TINY = env("TOOLNEXUS_TINY");
    static final String HOSTILE = env("TOOLNEXUS_HOSTILE");
    /** The URL of the tiny server over HTTP. */
    static final String REMOTE = env("TOOLNEXUS_REMOTE");

    private Fixtures() {}

    private static String env(String name) {
        String value = System.getenv(name);
        if (value == null) throw new IllegalStateException("set " + name + " to the server's path or URL, as bindings/java/test does");
        return value;
    }

    static Map<String, Object> tiny() {
        return Map.of("mcpServers", Map.of("progress", Map.of("command", List.of(TINY))));
    }

    static Map<String, Object> hostile(String... args) {
        List<String> command = new ArrayList<>(List.of(HOSTILE));
        command.addAll(List.of(args));
        return Map.of("mcpServers", Map.of("x", Map.of("command", command)));
    }

    static Tool tool(List<Tool> tools, String name) {
        return tools.stream().filter(tool -> tool.name().equals(name)).findFirst().orElseThrow();
    }

    /** Gives everything back, and sees that the library has nothing left either. */
    static void nothingLives() {
        Handle.freeAll();
        assertEquals(Map.of(), Toolnexus.shutdown(Duration.ofSeconds(60)), LEFT);
    }

    /** For what happens in the background: looks until it is so, at most a minute. */
    static void eventually(String what, BooleanSupplier holds) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!holds.getAsBoolean()) {
            if (System.nanoTime() > end) throw new AssertionError("after a minute still not so: " + what);
            Thread.sleep(5);
        }
    }

    static String read(Path path) {
        try {
            return Files.readString(path);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** What a program said, and how it ended. Newer JVMs have their own to say on standard error. */
    record Ran(int status, String output, String errors) {}

    /** Runs a program to its end, at most a minute, in the root of the project. */
    static Ran run(List<String> command) throws IOException, InterruptedException {
        return run(command, Map.of());
    }

    /** With more variables in the program's environment. */
    static Ran run(List<String> command, Map<String, String> variables) throws IOException, InterruptedException {
        Path output = Files.createTempFile("toolnexus-test", ".txt");
        Path errors = Files.createTempFile("toolnexus-test", ".txt");
        try {
            ProcessBuilder builder = new ProcessBuilder(command)
                    .directory(ROOT.toFile())
                    .redirectOutput(output.toFile())
                    .redirectError(errors.toFile());
            builder.environment().putAll(variables);
            Process process = builder.start();
            if (!process.waitFor(60, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new AssertionError("did not end: " + command + "\n" + read(output) + read(errors));
            }
            return new Ran(process.exitValue(), read(output), read(errors));
        } finally {
            Files.delete(output);
            Files.delete(errors);
        }
    }

    static String java(String program) {
        return Path.of(System.getProperty("java.home"), "bin", program).toString();
    }

    static String classPath() {
        return System.getProperty("java.class.path");
    }
}
