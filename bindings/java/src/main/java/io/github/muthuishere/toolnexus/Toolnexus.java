package io.github.muthuishere.toolnexus;

import java.time.Duration;
import java.util.Map;

/** The native library as a whole. */
public final class Toolnexus {
    private Toolnexus() {}

    /**
     * The version of the native library.
     *
     * @return such as {@code 0.1.0}
     */
    public static String version() {
        Lib.load();
        return Lib.string(Lib.tn_version());
    }

    /**
     * Where the native library was found: in the system property {@code toolnexus.library}, the environment variable
     * {@code TOOLNEXUS_LIBRARY}, this jar, or the system, in this order.
     *
     * @return the path, or the name that the system knows it by
     */
    public static String libraryPath() {
        return Lib.load();
    }

    /**
     * Ends everything, for tests and for the end of {@code main}: closes every source and toolkit, and stops every thread of the
     * library. Not needed for a clean exit. Objects made before it are closed; what is made later works.
     *
     * @param timeout how long it may take
     * @return how many references are not given back yet, by kind: those of objects that are not collected
     * @throws ToolnexusException if it took longer
     */
    public static Map<String, Object> shutdown(Duration timeout) {
        Lib.load();
        int ms = (int) Math.max(1, Math.min(timeout.toMillis(), Integer.MAX_VALUE));
        Lib.outcome(Lib.tn_shutdown(ms)).orThrow();
        // The first one has ended the queue that is ours; the second one counts without it.
        Core.ended(ms);
        return Json.object(Lib.outcome(Lib.tn_shutdown(ms)).orThrow().get("live"));
    }
}
