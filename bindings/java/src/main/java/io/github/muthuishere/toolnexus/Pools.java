package io.github.muthuishere.toolnexus;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** The threads of the binding: all daemons, so that a program ends when its own do. */
final class Pools {
    /**
     * Completes the futures that the program has, and thereby runs what it hung on them. Not the common pool, which has a
     * new thread for each completion on machines with few cores.
     */
    static final ForkJoinPool COMPLETIONS = new ForkJoinPool(
            Math.max(2, Runtime.getRuntime().availableProcessors()),
            ForkJoinPool.defaultForkJoinWorkerThreadFactory,
            null,
            true);

    /** Runs the program's own tools and its answers to servers, which may take as long as they like. */
    static final ExecutorService WORK = Executors.newCachedThreadPool(daemons("toolnexus-work"));

    /** Time-outs of the program's own tools, and signals that must be asked. */
    static final ScheduledThreadPoolExecutor TIMER = timer();

    private static final long POLL_MS = 5;

    private Pools() {}

    static Thread thread(String name, Runnable run) {
        Thread thread = new Thread(run, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** Asks a signal until it says yes, then runs the action once. Returns what ends the asking. */
    static Runnable poll(McpSource.CancelSignal signal, Runnable action) {
        boolean[] told = new boolean[1];
        var asking = TIMER.scheduleWithFixedDelay(
                () -> {
                    if (told[0] || !signal.cancelled()) return;
                    told[0] = true;
                    action.run();
                },
                POLL_MS,
                POLL_MS,
                TimeUnit.MILLISECONDS);
        return () -> asking.cancel(false);
    }

    private static ScheduledThreadPoolExecutor timer() {
        var timer = new ScheduledThreadPoolExecutor(1, daemons("toolnexus-timer"));
        timer.setRemoveOnCancelPolicy(true);
        return timer;
    }

    private static ThreadFactory daemons(String name) {
        return run -> {
            Thread thread = new Thread(run, name);
            thread.setDaemon(true);
            return thread;
        };
    }
}
