package io.github.muthuishere.toolnexus;

import java.lang.reflect.InvocationTargetException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Runs the program's own tools: on threads of their own, with the limits that calls of servers have. */
final class Hosted {
    private static final long TIMEOUT_MS = 300_000;
    private static final long DEADLINE_MS = 3_600_000;

    private Hosted() {}

    /** What a tool does. */
    interface Body {
        Object run(Map<String, Object> args, ToolContext ctx) throws Exception;
    }

    static Run start(String name, Body body, Map<String, Object> args, ToolContext parent) {
        Run run = new Run(ToolContext.child(parent));
        if (parent != null && parent.isCancelled()) {
            run.cancel(true);
            return run;
        }
        Map<String, Object> given = args == null ? Map.of() : args;
        run.task = Pools.WORK.submit(() -> run.complete(result(body, given, run.context)));
        long timeout = parent == null || parent.timeoutMs() == null ? TIMEOUT_MS : parent.timeoutMs();
        long deadline = parent == null || parent.deadlineMs() == null ? DEADLINE_MS : parent.deadlineMs();
        String limit = timeout <= deadline ? "the time-out of " + timeout : "the deadline of " + deadline;
        ToolResult late = ToolResult.failed(Status.TIMEOUT, "tool " + name + " did not end within " + limit + " ms");
        Future<?> timer = Pools.TIMER.schedule(
                () -> run.end(late), Math.max(1, Math.min(timeout, deadline)), TimeUnit.MILLISECONDS);
        Runnable unwatch = parent == null ? () -> {} : parent.onCancel(() -> run.cancel(true));
        run.whenComplete((result, thrown) -> {
            timer.cancel(false);
            unwatch.run();
        });
        return run;
    }

    /** A tool's result to come. */
    static final class Run extends CompletableFuture<ToolResult> {
        private final ToolContext context;
        private volatile Future<?> task;

        private Run(ToolContext context) {
            this.context = context;
        }

        /** Ends the call with this result, whatever the tool does. */
        void end(ToolResult result) {
            if (complete(result)) stop();
        }

        @Override
        public boolean cancel(boolean mayInterruptIfRunning) {
            boolean cancelled = super.cancel(mayInterruptIfRunning);
            if (cancelled) stop();
            return cancelled;
        }

        private void stop() {
            context.cancel();
            if (task != null) task.cancel(true);
        }

        ToolResult await() {
            try {
                return get();
            } catch (InterruptedException e) {
                cancel(true);
                Thread.currentThread().interrupt();
                throw new java.util.concurrent.CancellationException("the thread was interrupted");
            } catch (java.util.concurrent.ExecutionException e) {
                throw new IllegalStateException(e.getCause());
            }
        }
    }

    /** Whatever a tool does, its call has a result. */
    private static ToolResult result(Body body, Map<String, Object> args, ToolContext ctx) {
        try {
            Object value = body.run(args, ctx);
            if (value instanceof ToolResult result) return result;
            if (value == null || value instanceof CharSequence) return ToolResult.ok(value == null ? "" : value.toString());
            return ToolResult.ok(Json.write(value));
        } catch (Throwable thrown) {
            Throwable cause = thrown instanceof InvocationTargetException && thrown.getCause() != null ? thrown.getCause() : thrown;
            return ToolResult.error(cause.getMessage() == null ? cause.toString() : cause.getMessage());
        }
    }

    /** The arguments that a model wrote. */
    static Map<String, Object> arguments(String json) {
        if (json == null) return Map.of();
        if (Json.parse(json) instanceof Map<?, ?> map) return Json.object(map);
        throw new ToolnexusException(Status.JSON, "the arguments must be a JSON object");
    }

    /** A model can write what the library cannot even be given. Null: it can. */
    static ToolResult refused(String json) {
        if (Lib.isText(json)) return null;
        return ToolResult.failed(Status.JSON, "not JSON: the arguments hold a NUL character or half of a surrogate pair");
    }

    /** What the library must know of a tool. */
    static String spec(Tool tool) {
        Map<String, Object> spec = new LinkedHashMap<>();
        spec.put("name", tool.name());
        if (tool.description() != null) spec.put("description", tool.description());
        if (tool.inputSchema() != null) spec.put("inputSchema", tool.inputSchema());
        if (tool.hints() != null && !tool.hints().given().isEmpty()) spec.put("hints", tool.hints().given());
        return Json.write(spec);
    }

    /** A result as an answer to the library. */
    static String answer(ToolResult result) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("output", result.output());
        answer.put("isError", result.isError());
        if (!result.metadata().isEmpty()) answer.put("metadata", result.metadata());
        if (!result.parts().isEmpty()) answer.put("parts", result.parts());
        return Json.write(answer);
    }
}
