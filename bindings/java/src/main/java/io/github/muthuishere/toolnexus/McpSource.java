package io.github.muthuishere.toolnexus;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * The connected servers of one {@code mcp.json}, and their tools.
 *
 * <p>Every method may be called from any thread. A source that is not closed is closed when it is collected as garbage, or
 * at the end of the program.
 */
public final class McpSource implements AutoCloseable {
    private final Handle handle;
    private final Map<String, Object> report;
    private final Events events;

    McpSource(Handle handle, Map<String, Object> report, Events events) {
        this.handle = handle;
        this.report = report;
        this.events = events;
    }

    /** Says whether what is under way is to be given up. It is asked every few milliseconds, and must not take long. */
    @FunctionalInterface
    public interface CancelSignal {
        /**
         * Whether to give up.
         *
         * @return true to give up
         */
        boolean cancelled();
    }

    /**
     * A tool as its server lists it.
     *
     * @param name the server's own name for it
     * @param description what it does
     * @param inputSchema the JSON schema of its arguments
     */
    public record ToolInfo(String name, String description, Map<String, Object> inputSchema) {}

    /**
     * What the servers of a config offer.
     *
     * @param tools for each server its tools, whatever the config's filters say
     * @param status for each server {@code connected}, {@code disabled}, {@code failed} or {@code needs_auth}
     */
    public record McpInventory(Map<String, List<ToolInfo>> tools, Map<String, String> status) {}

    /** How to load: all of it may be left out. */
    public static final class Options {
        private final Map<String, Object> options = new LinkedHashMap<>();
        private final ToolContext context = new ToolContext();
        private Function<Request, Answer> waitFor;
        private Consumer<Map<String, Object>> notices;

        /** The defaults. */
        public Options() {}

        /**
         * Answers what servers ask for in the middle of a call. Only with it are servers told that they may ask. It runs on a
         * thread of its own, may take its time, and is interrupted when the answer is no longer wanted. Null, and what it
         * throws, cancel.
         *
         * @param waitFor gives the answers
         * @return these options
         */
        public Options waitFor(Function<Request, Answer> waitFor) {
            this.waitFor = waitFor;
            return this;
        }

        /**
         * Gives the load up, with everything that it started.
         *
         * @param cancel the signal
         * @return these options
         */
        public Options cancel(CancelSignal cancel) {
            context.signal(cancel);
            return this;
        }

        /**
         * Sets how long the load may take in all. Each server has its own {@code timeout} besides.
         *
         * @param deadline the time
         * @return these options
         */
        public Options deadline(Duration deadline) {
            context.deadline(deadline);
            return this;
        }

        /**
         * Hears what servers tell: {@code {"kind":"tools_changed","server":"..."}} and the like. It must not take long.
         *
         * @param notices gets each notice
         * @return these options
         */
        public Options onNotice(Consumer<Map<String, Object>> notices) {
            this.notices = notices;
            return this;
        }

        /**
         * Sets any option that the library has: {@code inheritEnv}, {@code inputs}, {@code workspaceFolder}, {@code roots},
         * {@code clientInfo}, {@code parallel}, {@code restart}, {@code liveTools}, {@code lifecycle}, {@code sampling},
         * {@code maxMessageBytes}, {@code requestTimeoutMs}. An unknown one is an exception when loading.
         *
         * @param name its name
         * @param value its value, as JSON has it
         * @return these options
         */
        public Options option(String name, Object value) {
            options.put(name, value);
            return this;
        }

        ToolContext context() {
            return context;
        }

        /** Null if nobody would hear them. */
        Events events() {
            return waitFor == null && notices == null ? null : new Events(waitFor, notices);
        }

        Map<String, Object> json() {
            Map<String, Object> json = new LinkedHashMap<>(options);
            if (waitFor == null) json.putIfAbsent("elicitation", false);
            return json;
        }
    }

    /**
     * Connects to every server of a config, all at once, and returns when each is connected or has failed. A server that fails
     * costs only itself: {@link #status}.
     *
     * @param input a path (a text or a {@link Path}), JSON text, or the config as a map
     * @return the source
     * @throws ToolnexusException if the config as a whole cannot be read, or the library not be loaded
     */
    public static McpSource load(Object input) {
        return loadWith(input, new Options());
    }

    /**
     * The same for a program that answers what servers ask.
     *
     * @param input as for {@link #load(Object)}
     * @param waitFor as for {@link Options#waitFor}; or null
     * @return the source
     */
    public static McpSource load(Object input, Function<Request, Answer> waitFor) {
        return loadWith(input, new Options().waitFor(waitFor));
    }

    /**
     * The same for a load that can be given up.
     *
     * @param input as for {@link #load(Object)}
     * @param waitFor as for {@link Options#waitFor}; or null
     * @param cancel the signal; or null
     * @return the source
     * @throws java.util.concurrent.CancellationException if it was given up; nothing that it started is left
     */
    public static McpSource load(Object input, Function<Request, Answer> waitFor, CancelSignal cancel) {
        return loadWith(input, new Options().waitFor(waitFor).cancel(cancel));
    }

    /**
     * The same with options. A thread that is interrupted gives the load up.
     *
     * @param input as for {@link #load(Object)}
     * @param options the options
     * @return the source
     */
    public static McpSource loadWith(Object input, Options options) {
        byte[] config = Lib.text(config(input));
        byte[] json = Lib.text(Json.write(options.json()));
        Core.get();
        Events events = options.events();
        try {
            Outcome outcome = Core.call(options.context(), (context, queue, id) -> events == null
                    ? Lib.tn_mcp_load_submit(config, json, 0, context, queue, id)
                    : events.queue()
                            .with(own -> Lib.tn_mcp_load_submit(config, json, own, context, queue, id)));
            return of(outcome, events);
        } catch (RuntimeException | Error e) {
            if (events != null) events.close();
            throw e;
        }
    }

    private static McpSource of(Outcome outcome, Events events) {
        try {
            Map<String, Object> report = outcome.orThrow();
            return new McpSource(new Handle(Lib.tn_result_take_mcp(outcome.result())), report, events);
        } finally {
            Lib.tn_free(outcome.result());
        }
    }

    /** The config as the library wants it: JSON text, or a path. */
    static String config(Object input) {
        if (input == null) throw new ToolnexusException(Status.ARGUMENT, "the config is null: give a path, JSON text or a map");
        return input instanceof Map<?, ?> ? Json.write(input) : input.toString();
    }

    /**
     * Says what the servers of a config offer, and keeps nothing open.
     *
     * @param input as for {@link #load(Object)}
     * @return the tools and the states of the servers
     */
    public static McpInventory listMcpTools(Object input) {
        return listMcpTools(input, null);
    }

    /**
     * The same, which can be given up.
     *
     * @param input as for {@link #load(Object)}
     * @param cancel the signal; or null
     * @return the tools and the states of the servers
     * @throws java.util.concurrent.CancellationException if it was given up
     */
    public static McpInventory listMcpTools(Object input, CancelSignal cancel) {
        byte[] config = Lib.text(config(input));
        Map<String, Object> document = Core.call(
                        new ToolContext().signal(cancel),
                        (context, queue, id) -> Lib.tn_mcp_inventory_submit(config, null, context, queue, id))
                .orThrow();
        Map<String, List<ToolInfo>> tools = new LinkedHashMap<>();
        Json.object(document.get("tools")).forEach((server, listed) -> {
            List<ToolInfo> infos = new ArrayList<>();
            for (Object each : Json.list(listed)) {
                Map<String, Object> tool = Json.object(each);
                String description = Json.text(tool.get("description"));
                infos.add(new ToolInfo(
                        Json.text(tool.get("name")),
                        description == null ? "" : description,
                        Json.object(tool.get("inputSchema"))));
            }
            tools.put(server, infos);
        });
        Map<String, String> status = new LinkedHashMap<>();
        Json.object(document.get("status")).forEach((server, state) -> status.put(server, String.valueOf(state)));
        return new McpInventory(tools, status);
    }

    /**
     * Reads and checks a config. Starts nothing and connects to nothing.
     *
     * @param input as for {@link #load(Object)}
     * @return for each server its entry, brought into one form; with the values of {@code env} and {@code headers}
     * @throws ToolnexusException if the config or one of its entries is wrong: the message says where
     */
    public static Map<String, Object> parseConfig(Object input) {
        Map<String, Object> document = parse(input, true);
        List<String> wrong = new ArrayList<>();
        Json.object(document.get("failed")).values().forEach(each -> {
            Map<String, Object> failed = Json.object(each);
            wrong.add(failed.get("path") + ": " + failed.get("reason"));
        });
        if (!wrong.isEmpty()) throw new ToolnexusException(Status.CONFIG, String.join("; ", wrong));
        return Json.object(document.get("servers"));
    }

    static Map<String, Object> parse(Object input, boolean secrets) {
        byte[] config = Lib.text(config(input));
        Lib.load();
        return Lib.outcome(Lib.tn_config_parse(config, Lib.text("{\"secrets\":" + secrets + "}")))
                .orThrow();
    }

    /**
     * Every server's tools as of now: servers in the order of the config, tools as listed. After the close, the last list.
     *
     * @return the tools
     */
    public List<Tool> tools() {
        return List.copyOf(McpTool.list(handle.with(Lib::tn_mcp_tools)));
    }

    /**
     * Two read-only tools with which a model finds and reads the servers' resources: {@code list_mcp_resources} and
     * {@code read_mcp_resource}. Nothing registers them but the program.
     *
     * @return the two, in this order
     */
    public List<Tool> resourceTools() {
        return List.copyOf(McpTool.list(handle.with(Lib::tn_resource_tools)));
    }

    /**
     * The state of every server as of now.
     *
     * @return for each server {@code connected}, {@code disabled}, {@code failed} or {@code needs_auth}
     */
    public Map<String, String> status() {
        Map<String, String> status = new LinkedHashMap<>();
        Json.object(details().get("servers"))
                .forEach((server, state) -> status.put(server, String.valueOf(Json.object(state).get("status"))));
        return status;
    }

    /**
     * More about every server as of now: {@code servers} has for each its status, number of tools, protocol version, or the
     * phase and the reason of its failure and the last lines of its stderr.
     *
     * @return the document
     */
    public Map<String, Object> details() {
        return Lib.outcome(handle.with(Lib::tn_mcp_status)).orThrow();
    }

    /**
     * The same as it was after the load, with {@code warnings}.
     *
     * @return the document
     */
    public Map<String, Object> report() {
        return report;
    }

    /**
     * Sends any request to one server ({@code resources/read}, {@code prompts/get}, ...) and waits for its reply.
     *
     * @param server the server's name in the config
     * @param method the method
     * @param params its parameters, or null for none
     * @return the reply's result
     * @throws ToolnexusException if there is none; with {@link Status#SERVER} {@code details().get("data")} is the server's error
     */
    public Map<String, Object> request(String server, String method, Map<String, Object> params) {
        return request(server, method, params, null);
    }

    /**
     * The same with time-outs and cancellation.
     *
     * @param server the server's name in the config
     * @param method the method
     * @param params its parameters, or null for none
     * @param ctx the limits, or null for the defaults
     * @return the reply's result
     */
    public Map<String, Object> request(String server, String method, Map<String, Object> params, ToolContext ctx) {
        byte[] name = Lib.text(server);
        byte[] asked = Lib.text(method);
        byte[] given = params == null ? null : Lib.text(Json.write(params));
        return Core.call(ctx, (context, queue, id) ->
                        handle.with(mcp -> Lib.tn_mcp_request_submit(mcp, name, asked, given, context, queue, id)))
                .orThrow();
    }

    /**
     * Reads one file of a skill, if it is what the skill's entry says: its size, its digest, and in SKILL.md the frontmatter. That
     * it is as listed does not make it safe: the server wrote both.
     *
     * @param server the server's name in the config
     * @param skill the uri of SKILL.md: the server is asked for the skill's entry
     * @param uri the file, or null for SKILL.md
     * @return {@code output} (the text), {@code contents} (the file as it came), and {@code skill}, the entry that it was checked
     *     against: read the skill's other files with it
     * @throws ToolnexusException if there is none; with {@link Status#PROTOCOL} because it does not verify
     */
    public Map<String, Object> readSkill(String server, String skill, String uri) {
        return readSkill(server, Lib.text(skill), uri, null);
    }

    /**
     * The same for a skill whose entry the host has, with time-outs and cancellation.
     *
     * @param server the server's name in the config
     * @param skill the skill's entry, as {@code request(server, "skills/list", null)} has it
     * @param uri the file, or null for SKILL.md
     * @param ctx the limits, or null for the defaults
     * @return as above
     */
    public Map<String, Object> readSkill(String server, Map<String, Object> skill, String uri, ToolContext ctx) {
        return readSkill(server, Lib.text(Json.write(skill)), uri, ctx);
    }

    private Map<String, Object> readSkill(String server, byte[] skill, String uri, ToolContext ctx) {
        byte[] name = Lib.text(server);
        byte[] file = uri == null ? null : Lib.text(uri);
        return Core.call(ctx, (context, queue, id) ->
                        handle.with(mcp -> Lib.tn_mcp_skill_read_submit(mcp, name, skill, file, context, queue, id)))
                .orThrow();
    }

    /**
     * Ends a server and starts it again, and waits until it is connected.
     *
     * @param server the server's name in the config, or null for all of them
     * @throws ToolnexusException if the server fails
     */
    public void restart(String server) {
        byte[] name = Lib.text(server);
        Core.call(null, (context, queue, id) ->
                        handle.with(mcp -> Lib.tn_mcp_restart_submit(mcp, name, context, queue, id)))
                .orThrow();
    }

    /**
     * Ends every server and waits until nothing of them runs. Calls under way, and later ones, are error results that say so.
     * Again: no effect.
     */
    @Override
    public void close() {
        Core.callToTheEnd((context, queue, id) ->
                handle.with(mcp -> Lib.tn_mcp_close_submit(mcp, context, queue, id)));
        if (events != null) events.close();
    }

    List<Map<String, Object>> schema(String provider) {
        return McpTool.schema(handle.with(Lib::tn_mcp_tools), provider);
    }
}
