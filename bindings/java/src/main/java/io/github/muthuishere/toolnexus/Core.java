package io.github.muthuishere.toolnexus;

import java.lang.System.Logger.Level;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

/**
 * The queue in which calls complete, and the one thread that reads it. That thread only hands on: whatever the program wants
 * to happen runs elsewhere. No thread waits inside the library but this one, so that virtual threads are never pinned.
 */
final class Core {
    static final System.Logger LOG = System.getLogger("io.github.muthuishere.toolnexus");
    private static final AtomicLong IDS = new AtomicLong();
    private static volatile Core current;

    private final long queue;
    private final Map<Long, Call<?>> pending = new ConcurrentHashMap<>();
    private final Thread pump;
    private volatile boolean ended;

    private Core() {
        queue = Lib.tn_queue_new();
        pump = Pools.thread("toolnexus-pump", this::pump);
    }

    /** The one there is, or after a shutdown a new one. */
    static Core get() {
        Core core = current;
        if (core != null && !core.ended) return core;
        synchronized (Core.class) {
            Lib.load();
            if (current == null || current.ended) current = new Core();
            return current;
        }
    }

    /** After a shutdown: waits until the pump has seen it and given its queue back. */
    static void ended(long timeoutMs) {
        Core core = current;
        if (core == null) return;
        try {
            core.pump.join(timeoutMs);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A function of the library that begins a call. */
    interface Submit {
        int submit(long context, long queue, long id);
    }

    /** Begins a call whose value is decoded, and seen by the program, away from the pump. */
    <T> Call<T> submit(ToolContext context, Function<Outcome, T> decode, Submit submit) {
        Call<T> call = new Call<>(IDS.incrementAndGet(), queue, context, decode);
        begin(call, submit);
        return call;
    }

    /** Makes a call and waits for its outcome. */
    static Outcome call(ToolContext context, Submit submit) {
        return finished(context, submit, true).outcome();
    }

    /** The same for what must not be given up half-way because the thread is interrupted. */
    static Outcome callToTheEnd(Submit submit) {
        return finished(null, submit, false).outcome();
    }

    /** Calls a tool, and waits for its result. */
    static ToolResult execute(ToolContext context, Submit submit) {
        Finished finished = finished(context, submit, true);
        return ToolResult.of(finished.outcome(), finished.stopped());
    }

    private record Finished(Outcome outcome, boolean stopped) {}

    private static Finished finished(ToolContext context, Submit submit, boolean cancellable) {
        Call<Outcome> call = get().submit(context, null, submit);
        return new Finished(call.await(cancellable), call.isStopped());
    }

    /** Calls a tool. */
    static Call<ToolResult> executeAsync(ToolContext context, Submit submit) {
        Core core = get();
        // The result's meaning depends on whether the program cancelled the call, which the call knows.
        Call<?>[] self = new Call<?>[1];
        Call<ToolResult> call = new Call<>(
                IDS.incrementAndGet(), core.queue, context, outcome -> ToolResult.of(outcome, self[0].isStopped()));
        self[0] = call;
        core.begin(call, submit);
        return call;
    }

    private void begin(Call<?> call, Submit submit) {
        pending.put(call.id(), call);
        Status status;
        try {
            status = Status.of(submit.submit(call.context(), queue, call.id()));
        } catch (RuntimeException | Error e) {
            pending.remove(call.id());
            call.release();
            throw e;
        }
        if (status == Status.OK) {
            call.watch();
            return;
        }
        pending.remove(call.id());
        call.release();
        throw new ToolnexusException(status, "the call could not be begun: " + status.nativeName());
    }

    private void pump() {
        try {
            while (take(queue, this::dispatch)) {}
        } finally {
            ended = true;
            Lib.tn_free(queue);
            Outcome closed = new Outcome(Status.CLOSED, new byte[0]);
            for (Long id : pending.keySet()) arrived(id, closed);
        }
    }

    private void dispatch(Event event) {
        if (event.kind() == Lib.EVENT_DONE) {
            arrived(event.id(), event.outcome());
        } else if (event.kind() == Lib.EVENT_NOTICE) {
            Call<?> call = pending.get(event.id());
            if (call != null) call.progressed(event.outcome().document());
        }
    }

    private void arrived(Long id, Outcome outcome) {
        Call<?> call = pending.remove(id);
        if (call != null) call.arrived(outcome);
    }

    /** One event of a queue. */
    record Event(int kind, long id, Outcome outcome) {}

    /** Waits for events and hands them on, in order. False: no more will come. */
    static boolean take(long queue, java.util.function.Consumer<Event> to) {
        long taken = Lib.tn_queue_take_json(queue, -1);
        byte[] bytes;
        try {
            if (Lib.tn_result_status(taken) != 0) return false;
            bytes = Lib.json(taken);
        } finally {
            Lib.tn_free(taken);
        }
        Json json = new Json(bytes, 0, bytes.length);
        json.expect('[');
        while (!json.skip(']')) {
            Event event = event(json, bytes);
            // One event that cannot be handled must not cost the others.
            try {
                to.accept(event);
            } catch (RuntimeException | Error e) {
                threw(e);
            }
            json.skip(',');
        }
        return true;
    }

    private static Event event(Json json, byte[] bytes) {
        int kind = 0;
        long id = 0;
        long result = 0;
        Status status = Status.INTERNAL;
        int from = 0;
        int to = 0;
        json.expect('{');
        while (!json.skip('}')) {
            String key = json.string();
            json.expect(':');
            switch (key) {
                case "kind" -> kind = (int) json.integer();
                case "id" -> id = json.integer();
                case "status" -> status = Status.of(json.string());
                case "result" -> result = Long.parseLong(json.string());
                case "json" -> {
                    from = json.at();
                    json.skipValue();
                    to = json.at();
                }
                default -> json.skipValue();
            }
            json.skip(',');
        }
        return new Event(kind, id, new Outcome(status, bytes, from, to, result));
    }

    static <T> T threw(Throwable thrown) {
        LOG.log(Level.WARNING, "a function that toolnexus was given threw", thrown);
        return null;
    }
}
