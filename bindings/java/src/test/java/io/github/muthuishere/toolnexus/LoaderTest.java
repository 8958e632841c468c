package io.github.muthuishere.toolnexus;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LoaderTest {
    private final String header = Fixtures.read(Fixtures.ROOT.resolve("include/toolnexus.h"));

    /** What the header says of names that begin so. */
    private Map<String, Integer> defined(String prefix) {
        Map<String, Integer> defined = new TreeMap<>();
        Matcher line = Pattern.compile("#define (" + prefix + "\\w*) (\\d+)").matcher(header);
        while (line.find()) defined.put(line.group(1), Integer.valueOf(line.group(2)));
        return defined;
    }

    @Test
    void constantsAreTheHeaders() {
        Map<String, Integer> statuses = defined("TN_E_");
        statuses.putAll(defined("TN_OK"));
        Map<String, Integer> ours = new TreeMap<>();
        for (Status status : Status.values()) ours.put(status.nativeName(), status.code());
        assertEquals(statuses, ours);
        assertEquals(defined("TN_ABI_VERSION"), Map.of("TN_ABI_VERSION", Lib.ABI_VERSION));
        assertEquals(
                defined("TN_EVENT_"),
                Map.of(
                        "TN_EVENT_DONE", Lib.EVENT_DONE,
                        "TN_EVENT_REQUEST", Lib.EVENT_REQUEST,
                        "TN_EVENT_CALL", Lib.EVENT_CALL,
                        "TN_EVENT_NOTICE", Lib.EVENT_NOTICE,
                        "TN_EVENT_CANCEL", Lib.EVENT_CANCEL));
    }

    @Test
    void aStatusThatIsNewIsInternal() {
        assertEquals(Status.INTERNAL, Status.of(1234));
        assertEquals(Status.INTERNAL, Status.of("TN_E_NEW"));
    }

    @Test
    void versionsMustFit() {
        assertDoesNotThrow(() -> Loader.check(Lib.ABI_VERSION, "x"));
        assertDoesNotThrow(() -> Loader.check(Lib.ABI_VERSION + 1, "x"));
        for (int bad : new int[] {Lib.ABI_VERSION + 0x10000, Lib.ABI_VERSION - 1, -1}) {
            String message = assertThrows(ToolnexusException.class, () -> Loader.check(bad, "/a/lib.so")).getMessage();
            String found = (bad >>> 16) + "." + (bad & 0xffff);
            assertEquals(
                    "the toolnexus library /a/lib.so has the ABI version " + found
                            + ", but this package needs 0.1 or a later 0.x",
                    message);
        }
    }

    /** Prints the version, or why there is none. */
    public static final class Program {
        private Program() {}

        /** Runs. */
        public static void main(String[] args) {
            for (int i = 0; i < 2; i++) {
                try {
                    System.out.println(Toolnexus.version() + " " + Toolnexus.libraryPath());
                } catch (ToolnexusException e) {
                    System.out.println(e.getMessage());
                }
            }
        }
    }

    private static String program(String... options) throws Exception {
        List<String> command = new ArrayList<>(List.of(Fixtures.java("java"), "-cp", Fixtures.classPath()));
        command.addAll(List.of(options));
        command.add(Program.class.getName());
        return Fixtures.run(command).output();
    }

    @Test
    void thePropertyComesBeforeTheEnvironment(@TempDir Path folder) throws Exception {
        Path copy = Files.copy(Path.of(System.getenv("TOOLNEXUS_LIBRARY")), folder.resolve("copy.so"));
        assertTrue(program("-Dtoolnexus.library=" + copy).startsWith("0.1.0 " + copy + "\n"));
        assertTrue(program().startsWith("0.1.0 " + System.getenv("TOOLNEXUS_LIBRARY") + "\n"));
    }

    @Test
    void failuresSayWhereAndWhyEachTime(@TempDir Path folder) throws Exception {
        String missing = program("-Dtoolnexus.library=/no/such/lib.so");
        String line = missing.lines().findFirst().orElse("");
        assertTrue(
                line.startsWith("cannot load the toolnexus library from /no/such/lib.so (the system property"
                        + " toolnexus.library names it): "),
                missing);
        assertEquals(List.of(line, line), missing.lines().toList());
        Path text = Files.writeString(folder.resolve("text.so"), "no library");
        assertTrue(program("-Dtoolnexus.library=" + text).startsWith("cannot load the toolnexus library from " + text));
        String foreign = program("-Dtoolnexus.library=libc.so.6");
        assertTrue(foreign.startsWith("libc.so.6 is not the toolnexus library"), foreign);
    }
}
