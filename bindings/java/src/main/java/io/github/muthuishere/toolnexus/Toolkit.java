package io.github.muthuishere.toolnexus;

import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * All tools of an agent: those of the servers of an {@code mcp.json}, then those that the program registers. A name stays with
 * the tool that had it first.
 */
public final class Toolkit implements AutoCloseable {
    private static final AtomicBoolean SAID_NO_BUILTINS = new AtomicBoolean();

    private final Handle handle;
    private final McpSource source;
    private final Events events;
    /** The program's own tools, by name. */
    private final Map<String, Tool> hosted = new ConcurrentHashMap<>();
    /** Their calls under way. */
    private final Set<CompletableFuture<ToolResult>> running = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    private Toolkit(Handle handle, McpSource source, Events events) {
        this.handle = handle;
        this.source = source;
        this.events = events;
    }

    /** What a toolkit has: all of it may be left out. */
    public static final class Options {
        private final McpSource.Options mcp = new McpSource.Options();
        private final List<Tool> extraTools = new ArrayList<>();
        private final List<String> disabled = new ArrayList<>();
        private Object mcpConfig;
        private Boolean builtins;

        /** Nothing. */
        public Options() {}

        /**
         * Sets the servers.
         *
         * @param config a path, JSON text, or the config as a map
         * @return these options
         */
        public Options mcpConfig(Object config) {
            mcpConfig = config;
            return this;
        }

        /**
         * There are no built-in tools: this can only be false.
         *
         * @param builtins false
         * @return these options
         */
        public Options builtins(boolean builtins) {
            this.builtins = builtins;
            return this;
        }

        /**
         * Adds tools of the program's own.
         *
         * @param tools the tools
         * @return these options
         */
        public Options extraTools(Tool... tools) {
            return extraTools(List.of(tools));
        }

        /**
         * Adds tools of the program's own.
         *
         * @param tools the tools
         * @return these options
         */
        public Options extraTools(List<? extends Tool> tools) {
            extraTools.addAll(tools);
            return this;
        }

        /**
         * Names tools that the toolkit shall not have, whoever brings them.
         *
         * @param names the exposed names
         * @return these options
         */
        public Options disableTools(String... names) {
            disabled.addAll(List.of(names));
            return this;
        }

        /**
         * Answers what servers ask for: {@link McpSource.Options#waitFor}.
         *
         * @param waitFor gives the answers
         * @return these options
         */
        public Options waitFor(Function<Request, Answer> waitFor) {
            mcp.waitFor(waitFor);
            return this;
        }

        /**
         * Hears what servers tell: {@link McpSource.Options#onNotice}.
         *
         * @param notices gets each notice
         * @return these options
         */
        public Options onNotice(Consumer<Map<String, Object>> notices) {
            mcp.onNotice(notices);
            return this;
        }

        /**
         * Gives the creation up, with everything that it started.
         *
         * @param cancel the signal
         * @return these options
         */
        public Options cancel(McpSource.CancelSignal cancel) {
            mcp.cancel(cancel);
            return this;
        }

        /**
         * Sets any option of the load: {@link McpSource.Options#option}.
         *
         * @param name its name
         * @param value its value, as JSON has it
         * @return these options
         */
        public Options mcpOption(String name, Object value) {
            mcp.option(name, value);
            return this;
        }

        private String json() {
            Map<String, Object> json = new LinkedHashMap<>();
            if (mcpConfig != null) {
                json.put("mcpConfig", mcpConfig instanceof Map<?, ?> ? mcpConfig : mcpConfig.toString());
                json.put("mcpOptions", mcp.json());
            }
            if (builtins != null) json.put("builtins", builtins);
            if (!disabled.isEmpty()) json.put("disableTools", disabled);
            return Json.write(json);
        }
    }

    /**
     * Makes a toolkit, and waits until every server is connected or has failed.
     *
     * @param options what it has
     * @return the toolkit
     * @throws ToolnexusException if the config as a whole cannot be read, or an option is wrong
     * @throws java.util.concurrent.CancellationException if it was given up
     */
    public static Toolkit create(Options options) {
        if (options.builtins == null && !SAID_NO_BUILTINS.getAndSet(true))
            Core.LOG.log(Level.INFO, "a toolkit has no built-in tools; builtins(false) says that this is known");
        byte[] json = Lib.text(options.json());
        Core.get();
        Events events = options.mcp.events();
        boolean hears = events != null;
        if (!hears) events = new Events(null, null);
        Toolkit toolkit;
        try {
            Handle queue = events.queue();
            Outcome outcome = Core.call(options.mcp.context(), (context, into, id) -> queue.with(
                    own -> Lib.tn_toolkit_create_submit(json, hears ? own : 0, context, into, id)));
            toolkit = of(outcome, events);
        } catch (RuntimeException | Error e) {
            events.close();
            throw e;
        }
        try {
            toolkit.register(options.extraTools.toArray(new Tool[0]));
            return toolkit;
        } catch (RuntimeException | Error e) {
            toolkit.close();
            throw e;
        }
    }

    private static Toolkit of(Outcome outcome, Events events) {
        try {
            Map<String, Object> report = outcome.orThrow();
            Handle handle = new Handle(Lib.tn_result_take_toolkit(outcome.result()));
            long mcp = handle.with(Lib::tn_toolkit_mcp);
            return new Toolkit(handle, mcp == 0 ? null : new McpSource(new Handle(mcp), report, null), events);
        } finally {
            Lib.tn_free(outcome.result());
        }
    }

    /**
     * Adds tools. A name that is taken stays with the tool that has it, which is logged as a warning.
     *
     * @param tools the program's own, resource tools, or tools of another source
     * @throws ToolnexusException if a tool's name or schema is not usable, or the toolkit is closed
     */
    public void register(Tool... tools) {
        for (Tool tool : tools) {
            if (tool instanceof McpTool mcp) mcp.handle().with(this::registered);
            else registerHosted(tool);
        }
    }

    private void registerHosted(Tool tool) {
        if (closed) throw new ToolnexusException(Status.CLOSED, "the toolkit is closed");
        Handle made = events.queue().with(calls -> {
            long result = Lib.tn_tool_create(Lib.text(Hosted.spec(tool)), calls);
            try {
                long own = Lib.tn_result_take_tool(result);
                if (own == 0) throw new Outcome(Status.of(Lib.tn_result_status(result)), Lib.json(result)).failure();
                return new Handle(own);
            } finally {
                Lib.tn_free(result);
            }
        });
        boolean served = events.serve(tool);
        boolean registered = false;
        try {
            registered = made.with(this::registered);
        } finally {
            made.free();
            if (registered) hosted.put(tool.name(), tool);
            else if (served) events.stopServing(tool);
        }
    }

    private boolean registered(long tool) {
        Map<String, Object> document =
                Lib.outcome(handle.with(own -> Lib.tn_toolkit_register(own, tool))).orThrow();
        for (Object warning : Json.list(document.get("warnings"))) Core.LOG.log(Level.WARNING, "{0}", warning);
        return Boolean.TRUE.equals(document.get("registered"));
    }

    /**
     * The tools as of now: those of the servers, then the registered ones in their order. After the close, the last list.
     *
     * @return the tools
     */
    public List<Tool> tools() {
        List<Tool> tools = new ArrayList<>();
        for (McpTool tool : McpTool.list(handle.with(Lib::tn_toolkit_tools))) tools.add(known(tool));
        return List.copyOf(tools);
    }

    /**
     * The tool of a name, as of now.
     *
     * @param name the exposed name
     * @return the tool, or null if there is none
     */
    public Tool get(String name) {
        if (!Lib.isText(name)) return null;
        byte[] wanted = Lib.text(name);
        long tool = handle.with(own -> Lib.tn_toolkit_get(own, wanted));
        return tool == 0 ? null : known(McpTool.of(tool));
    }

    /** The program's own object for a tool of its own. */
    private Tool known(McpTool tool) {
        Tool own = tool.source().equals("native") ? hosted.get(tool.name()) : null;
        if (own == null) return tool;
        tool.handle().free();
        return own;
    }

    /**
     * Calls the tool of a name and waits. What a model made up, a name or arguments, is a result that it can read.
     *
     * @param name the exposed name
     * @param args the arguments, or null for none
     * @return the result
     */
    public ToolResult execute(String name, Map<String, Object> args) {
        return execute(name, args, null);
    }

    /**
     * The same with time-outs and cancellation.
     *
     * @param name the exposed name
     * @param args the arguments, or null for none
     * @param ctx the limits, or null for the defaults
     * @return the result
     */
    public ToolResult execute(String name, Map<String, Object> args, ToolContext ctx) {
        Hosted.Run own = startHosted(name, args, ctx);
        return own != null ? own.await() : executeThere(name, args == null ? null : Json.write(args), ctx);
    }

    /**
     * The same with arguments as a model writes them.
     *
     * @param name the exposed name
     * @param json the arguments, a JSON object; null for none
     * @param ctx the limits, or null for the defaults
     * @return the result
     */
    public ToolResult executeJson(String name, String json, ToolContext ctx) {
        if (hosted(name) == null) return executeThere(name, json, ctx);
        try {
            return execute(name, Hosted.arguments(json), ctx);
        } catch (ToolnexusException e) {
            if (e.status() != Status.JSON) throw e;
            return ToolResult.failed(Status.JSON, e.getMessage());
        }
    }

    /**
     * The same without waiting: {@link Tool#executeAsync(Map, ToolContext)}.
     *
     * @param name the exposed name
     * @param args the arguments, or null for none
     * @param ctx the limits, or null for the defaults
     * @return the result to come
     */
    public CompletableFuture<ToolResult> executeAsync(String name, Map<String, Object> args, ToolContext ctx) {
        Hosted.Run own = startHosted(name, args, ctx);
        if (own != null) return own;
        ToolResult refused = refused(name, null);
        if (refused != null) return CompletableFuture.completedFuture(refused);
        return Core.executeAsync(ctx, submit(name, args == null ? null : Json.write(args)));
    }

    private ToolResult executeThere(String name, String json, ToolContext ctx) {
        ToolResult refused = refused(name, json);
        return refused != null ? refused : Core.execute(ctx, submit(name, json));
    }

    /** A model can make up a text that the library cannot even be given. Null: it can. */
    private static ToolResult refused(String name, String json) {
        if (!Lib.isText(name)) return ToolResult.failed(Status.NOT_FOUND, "Unknown tool: " + name);
        return Hosted.refused(json);
    }

    private Tool hosted(String name) {
        if (name == null) throw new ToolnexusException(Status.ARGUMENT, "the tool's name is null");
        return closed ? null : hosted.get(name);
    }

    /** The program's own tools need no way through the library. Null: it is none of them, or the toolkit is closed. */
    private Hosted.Run startHosted(String name, Map<String, Object> args, ToolContext ctx) {
        Tool tool = hosted(name);
        if (tool == null) return null;
        Hosted.Run run = tool instanceof NativeTool own ? own.start(args, ctx) : Hosted.start(name, tool::execute, args, ctx);
        running.add(run);
        run.whenComplete((result, thrown) -> running.remove(run));
        if (closed) run.end(ended());
        return run;
    }

    private static ToolResult ended() {
        return ToolResult.failed(Status.CLOSED, "the toolkit is closed");
    }

    private Core.Submit submit(String name, String json) {
        byte[] wanted = Lib.text(name);
        byte[] arguments = Lib.text(json);
        return (context, queue, id) ->
                handle.with(own -> Lib.tn_toolkit_execute_submit(own, wanted, arguments, context, queue, id));
    }

    /**
     * The servers, for their resource tools and the like.
     *
     * @return the source, or null if there is no config
     */
    public McpSource mcpSource() {
        return source;
    }

    /**
     * The state of every server as of now: {@link McpSource#status}.
     *
     * @return the states; empty if there is no config
     */
    public Map<String, String> mcpStatus() {
        return source == null ? Map.of() : source.status();
    }

    /**
     * The tools as OpenAI's API wants them.
     *
     * @return a list to be sent as {@code tools}
     */
    public List<Map<String, Object>> toOpenAI() {
        return schema("openai");
    }

    /**
     * The tools as Anthropic's API wants them.
     *
     * @return a list to be sent as {@code tools}
     */
    public List<Map<String, Object>> toAnthropic() {
        return schema("anthropic");
    }

    /**
     * The tools as Gemini's API wants them.
     *
     * @return a list to be sent as {@code tools}
     */
    public List<Map<String, Object>> toGemini() {
        return schema("gemini");
    }

    private List<Map<String, Object>> schema(String provider) {
        return McpTool.schema(handle.with(Lib::tn_toolkit_tools), provider);
    }

    /**
     * Ends every server and waits until nothing of them runs. Calls under way, and later ones, are error results that say so.
     * Again: no effect.
     */
    @Override
    public void close() {
        closed = true;
        for (CompletableFuture<ToolResult> run : running) ((Hosted.Run) run).end(ended());
        Core.callToTheEnd((context, queue, id) ->
                handle.with(own -> Lib.tn_toolkit_close_submit(own, context, queue, id)));
        events.close();
    }
}
