package io.github.muthuishere.toolnexus;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * Time-outs, cancellation and progress for calls, one after the other or at once. A call copies the times when it starts;
 * {@link #cancel} reaches every call that uses the context, and every later one.
 */
public final class ToolContext {
    private final Set<Runnable> listeners = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean cancelled = new AtomicBoolean();
    private Long timeoutMs;
    private Long deadlineMs;
    private McpSource.CancelSignal signal;
    private Consumer<Progress> progress;
    private Answer answer;

    /** The defaults: the server's {@code callTimeout} of silence, and one hour in all. */
    public ToolContext() {}

    /**
     * With a time-out.
     *
     * @param timeoutMs how long a call may be silent, in milliseconds; null for the default
     */
    public ToolContext(Long timeoutMs) {
        this.timeoutMs = timeoutMs;
    }

    /**
     * With a time-out and a flag that cancels.
     *
     * @param timeoutMs how long a call may be silent, in milliseconds; null for the default
     * @param cancelled cancels when it becomes true; it is looked at every few milliseconds
     */
    public ToolContext(Long timeoutMs, AtomicBoolean cancelled) {
        this.timeoutMs = timeoutMs;
        if (cancelled != null) signal = cancelled::get;
    }

    /**
     * Sets how long a call may be silent. Each progress notification of the call starts the time anew.
     *
     * @param timeout the time
     * @return this context
     */
    public ToolContext timeout(Duration timeout) {
        timeoutMs = timeout.toMillis();
        return this;
    }

    /**
     * Sets how long a call may take in all, progress or not.
     *
     * @param deadline the time, counted from the start of each call
     * @return this context
     */
    public ToolContext deadline(Duration deadline) {
        deadlineMs = deadline.toMillis();
        return this;
    }

    /**
     * Sets a signal that cancels, beside {@link #cancel}. It is asked every few milliseconds while a call runs.
     *
     * @param signal the signal
     * @return this context
     */
    public ToolContext signal(McpSource.CancelSignal signal) {
        this.signal = signal;
        return this;
    }

    /**
     * Sets who hears of the progress of calls. It is told in order, and before the call's result is there, on a thread of this
     * package.
     *
     * @param progress gets each report
     * @return this context
     */
    public ToolContext progress(Consumer<Progress> progress) {
        this.progress = progress;
        return this;
    }

    /**
     * Sets an answer for one of the program's own tools that had asked for one; what it means is between the program and the
     * tool.
     *
     * @param answer the answer
     * @return this context
     */
    public ToolContext answer(Answer answer) {
        this.answer = answer;
        return this;
    }

    /**
     * How long a call may be silent.
     *
     * @return milliseconds, or null for the default
     */
    public Long timeoutMs() {
        return timeoutMs;
    }

    /**
     * How long a call may take in all.
     *
     * @return milliseconds, or null for the default
     */
    public Long deadlineMs() {
        return deadlineMs;
    }

    /**
     * What {@link #answer(Answer)} set.
     *
     * @return the answer, or null
     */
    public Answer answer() {
        return answer;
    }

    Consumer<Progress> progress() {
        return progress;
    }

    /** Cancels every call that uses this context, now and later. Again: no effect. There is no way back. */
    public void cancel() {
        cancelled.set(true);
        for (Runnable listener : listeners) if (listeners.remove(listener)) listener.run();
    }

    /**
     * Whether the calls are cancelled. A tool of the program's own that takes long asks this now and then.
     *
     * @return true once {@link #cancel} was called or the signal said so
     */
    public boolean isCancelled() {
        return cancelled.get() || signal != null && signal.cancelled();
    }

    /** Runs the action once when this is cancelled, or at once if it is. Returns what ends the watching. */
    Runnable onCancel(Runnable action) {
        listeners.add(action);
        if (isCancelled()) {
            if (listeners.remove(action)) action.run();
            return () -> {};
        }
        Runnable unpoll = signal == null ? () -> {} : Pools.poll(signal, action);
        return () -> {
            listeners.remove(action);
            unpoll.run();
        };
    }

    /** What a tool of the program's own gets: cancelled with this one, or alone. */
    static ToolContext child(ToolContext parent) {
        ToolContext child = new ToolContext();
        if (parent == null) return child;
        child.timeoutMs = parent.timeoutMs;
        child.deadlineMs = parent.deadlineMs;
        child.progress = parent.progress;
        child.answer = parent.answer;
        child.signal = parent::isCancelled;
        return child;
    }
}
