package io.github.muthuishere.toolnexus;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;

/** A call under way in the library, and the future of its value. Cancelling the future cancels the call at the server. */
final class Call<T> extends CompletableFuture<T> {
    private final long id;
    private final long context;
    private final ToolContext options;
    private final Function<Outcome, T> decode;
    /** Whether the pump may complete it: nothing of the program hangs on it. */
    private final boolean direct;
    private volatile Runnable unwatch = () -> {};
    /** What must have run before the next progress or the completion is told. Only the pump touches it. */
    private CompletableFuture<Void> told;
    private volatile boolean stopped;

    /** {@code decode} null: the value is the outcome itself, and nobody but {@link #await} sees this future. */
    Call(long id, long queue, ToolContext options, Function<Outcome, T> decode) {
        this.id = id;
        this.options = options;
        this.decode = decode;
        direct = decode == null;
        context = Lib.tn_context_new();
        if (options == null) return;
        if (options.timeoutMs() != null) Lib.tn_context_set_timeout(context, milliseconds(options.timeoutMs()));
        if (options.deadlineMs() != null) Lib.tn_context_set_deadline(context, milliseconds(options.deadlineMs()));
        if (options.progress() != null) {
            told = CompletableFuture.completedFuture(null);
            Lib.tn_context_set_progress(context, queue, id);
        }
    }

    /** The library's 0 is its default, and it counts in 32 bits: 49 days. */
    private static int milliseconds(long given) {
        return (int) Math.min(Math.max(given, 1), 0xffffffffL);
    }

    long id() {
        return id;
    }

    long context() {
        return context;
    }

    boolean isStopped() {
        return stopped;
    }

    /** To be called once it is known that the outcome will come. */
    void watch() {
        if (options != null) unwatch = options.onCancel(this::stop);
        if (isDone()) unwatch.run();
    }

    /** Cancels the call; its outcome still arrives. */
    void stop() {
        stopped = true;
        Lib.tn_context_cancel(context);
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        if (!isDone()) stop();
        return super.cancel(mayInterruptIfRunning);
    }

    /** From the pump. */
    void progressed(Map<String, Object> notice) {
        if (told == null) return;
        Progress progress = Progress.of(notice);
        told = told.thenRunAsync(() -> options.progress().accept(progress), Pools.COMPLETIONS).exceptionally(Core::threw);
    }

    /** From the pump: the outcome is here. */
    void arrived(Outcome outcome) {
        if (told != null) told.thenRunAsync(() -> finish(outcome), Pools.COMPLETIONS);
        else if (direct) finish(outcome);
        else Pools.COMPLETIONS.execute(() -> finish(outcome));
    }

    /** The call came to nothing: it was not even begun. */
    void release() {
        Lib.tn_free(context);
    }

    @SuppressWarnings("unchecked")
    private void finish(Outcome outcome) {
        release();
        try {
            complete(direct ? (T) outcome : decode.apply(outcome));
        } catch (RuntimeException | Error e) {
            completeExceptionally(e);
        }
        unwatch.run();
    }

    /**
     * Waits for the value. A thread that is interrupted cancels the call (if it may be cancelled) and waits on: its end comes
     * within milliseconds.
     */
    T await(boolean cancellable) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return get();
                } catch (InterruptedException e) {
                    interrupted = true;
                    if (cancellable) stop();
                } catch (ExecutionException e) {
                    if (e.getCause() instanceof RuntimeException cause) throw cause;
                    throw (Error) e.getCause();
                }
            }
        } finally {
            if (interrupted) Thread.currentThread().interrupt();
        }
    }
}
