package io.github.muthuishere.toolnexus;

import com.sun.jna.Function;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Platform;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** Finds the library: the system property, the environment, this jar, the system; and binds it if its version fits. */
final class Loader {
    private static final String PROPERTY = "toolnexus.library";
    private static final String VARIABLE = "TOOLNEXUS_LIBRARY";
    private static final String SYSTEM = "libtoolnexus.so.0";

    private Loader() {}

    static String load() {
        String told = System.getProperty(PROPERTY);
        if (told != null && !told.isEmpty()) return bind(told, "the system property " + PROPERTY + " names it");
        told = System.getenv(VARIABLE);
        if (told != null && !told.isEmpty()) return bind(told, "the environment variable " + VARIABLE + " names it");
        String bundled = "/native/" + Platform.RESOURCE_PREFIX.replace("x86-64", "x86_64") + "/libtoolnexus.so";
        try (InputStream library = Loader.class.getResourceAsStream(bundled)) {
            if (library != null) return bindCopy(library);
        } catch (IOException e) {
            throw failure("cannot copy the library out of the jar: " + e + "; set -Dtoolnexus.tmpdir to a folder that can"
                    + " be written, or -D" + PROPERTY + " to the library's path");
        }
        return bind(SYSTEM, "it is neither in this jar (" + bundled + ") nor named by -D" + PROPERTY + " or " + VARIABLE);
    }

    /** The loader needs a file. Once it is mapped nobody needs its name, so that nothing is left behind. */
    private static String bindCopy(InputStream library) throws IOException {
        Path parent = Path.of(System.getProperty("toolnexus.tmpdir", System.getProperty("java.io.tmpdir")));
        Path folder = Files.createTempDirectory(parent, "toolnexus");
        Path file = folder.resolve("libtoolnexus.so");
        try {
            Files.copy(library, file, StandardCopyOption.REPLACE_EXISTING);
            return bind(
                    file.toString(),
                    "it was copied there out of the jar; if that folder is mounted noexec set -Dtoolnexus.tmpdir");
        } finally {
            Files.deleteIfExists(file);
            Files.deleteIfExists(folder);
        }
    }

    private static String bind(String path, String why) {
        NativeLibrary library;
        try {
            library = NativeLibrary.getInstance(path);
        } catch (UnsatisfiedLinkError e) {
            throw failure("cannot load the toolnexus library from " + path + " (" + why + "): "
                    + e.getMessage().lines().findFirst().orElse("no reason given"));
        }
        Function version;
        try {
            version = library.getFunction("tn_abi_version");
        } catch (UnsatisfiedLinkError e) {
            throw failure(path + " is not the toolnexus library (" + why + "): it has no tn_abi_version");
        }
        check(version.invokeInt(new Object[0]), path);
        Native.register(Lib.class, library);
        return path;
    }

    /** Whether a library of this ABI version serves: its major is ours, its minor at least ours. */
    static void check(int found, String path) {
        int wanted = Lib.ABI_VERSION;
        if (found >>> 16 == wanted >>> 16 && (found & 0xffff) >= (wanted & 0xffff)) return;
        throw failure("the toolnexus library " + path + " has the ABI version " + show(found) + ", but this package needs "
                + show(wanted) + " or a later " + (wanted >>> 16) + ".x");
    }

    private static String show(int version) {
        return (version >>> 16) + "." + (version & 0xffff);
    }

    private static ToolnexusException failure(String message) {
        return new ToolnexusException(Status.ARGUMENT, message);
    }
}
