package io.github.muthuishere.toolnexus;

import java.lang.System.Logger.Level;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.Function;

/** What servers ask and tell one source, and the calls of one toolkit's own tools: a queue, and the thread that reads it. */
final class Events {
    private final Handle queue;
    private final Loop loop;

    Events(Function<Request, Answer> waitFor, Consumer<Map<String, Object>> notices) {
        Lib.load();
        long value = Lib.tn_queue_new();
        queue = new Handle(value);
        loop = new Loop(value, waitFor, notices);
        Pools.thread("toolnexus-events", loop);
    }

    Handle queue() {
        return queue;
    }

    /** Has this tool serve the calls that the library makes of its name, unless another one does. */
    boolean serve(Tool tool) {
        return loop.tools.putIfAbsent(tool.name(), tool) == null;
    }

    void stopServing(Tool tool) {
        loop.tools.remove(tool.name(), tool);
    }

    /** Nothing is heard any more; the thread ends. */
    void close() {
        queue.free();
    }

    /** Knows nothing of its source, so that a source that is forgotten can be collected, which ends the loop. */
    private static final class Loop implements Runnable {
        private final long queue;
        private final Function<Request, Answer> waitFor;
        private final Consumer<Map<String, Object>> notices;
        private final Map<String, Tool> tools = new ConcurrentHashMap<>();
        private final Map<Long, Future<?>> open = new ConcurrentHashMap<>();

        Loop(long queue, Function<Request, Answer> waitFor, Consumer<Map<String, Object>> notices) {
            this.queue = queue;
            this.waitFor = waitFor;
            this.notices = notices;
        }

        @Override
        public void run() {
            while (Core.take(queue, this::handle)) {}
        }

        private void handle(Core.Event event) {
            Map<String, Object> document = event.outcome().document();
            switch (event.kind()) {
                case Lib.EVENT_REQUEST -> work(event.id(), () -> request(event.id(), document));
                case Lib.EVENT_CALL -> call(event.id(), document);
                case Lib.EVENT_CANCEL -> {
                    Future<?> wanted = open.remove(event.id());
                    if (wanted != null) wanted.cancel(true);
                }
                case Lib.EVENT_NOTICE -> {
                    if (notices != null) notices.accept(document);
                }
                default -> {}
            }
        }

        private void work(long id, Runnable run) {
            var started = new java.util.concurrent.FutureTask<Void>(run, null);
            open.put(id, started);
            Pools.WORK.execute(() -> {
                started.run();
                open.remove(id);
            });
        }

        /** The server waits: whatever the program does, it gets an answer. */
        private void request(long id, Map<String, Object> document) {
            Answer answer = null;
            try {
                if (waitFor != null) answer = waitFor.apply(Request.of(document));
            } catch (RuntimeException | Error e) {
                Core.threw(e);
            }
            Answer cancelled = Answer.cancel();
            try {
                if (answer(id, (answer == null ? cancelled : answer).json())) return;
            } catch (ToolnexusException e) {
                Core.threw(e);
            }
            answer(id, cancelled.json());
        }

        private void call(long id, Map<String, Object> document) {
            Tool tool = tools.get(String.valueOf(document.get("tool")));
            if (tool == null) {
                answer(id, Hosted.answer(ToolResult.error("the program has no such tool any more")));
                return;
            }
            var running = tool.executeAsync(Json.object(document.get("arguments")), null);
            open.put(id, running);
            running.whenComplete((result, thrown) -> {
                open.remove(id);
                if (running.isCancelled()) return;
                answer(id, Hosted.answer(result != null ? result : ToolResult.error(String.valueOf(thrown))));
            });
        }

        /** False: the answer does not fit, which is logged, and the question is still open. */
        private static boolean answer(long id, String json) {
            Outcome outcome = Lib.outcome(Lib.tn_answer(id, Lib.text(json)));
            if (outcome.status() == Status.OK || outcome.status() == Status.NOT_FOUND) return true;
            Core.LOG.log(Level.WARNING, "an answer does not fit: {0}", outcome.failure().getMessage());
            return false;
        }
    }
}
