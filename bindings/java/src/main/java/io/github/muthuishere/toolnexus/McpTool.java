package io.github.muthuishere.toolnexus;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** A tool of the library: a server's, or a resource tool. */
final class McpTool implements Tool {
    private final Handle handle;
    private final Map<String, Object> document;

    McpTool(Handle handle, Map<String, Object> document) {
        this.handle = handle;
        this.document = document;
    }

    /** Of a reference that is the caller's to keep. */
    static McpTool of(long tool) {
        long[] length = new long[1];
        long json = Lib.tn_tool_json(tool, length);
        byte[] bytes = Lib.bytes(json, length[0]);
        return new McpTool(new Handle(tool), Json.object(Json.parse(bytes, 0, bytes.length)));
    }

    /** The tools of a list, which is freed. */
    static List<McpTool> list(long tools) {
        try {
            long[] length = new long[1];
            long json = Lib.tn_tools_json(tools, length);
            byte[] bytes = Lib.bytes(json, length[0]);
            List<?> documents = bytes.length == 0 ? List.of() : Json.list(Json.parse(bytes, 0, bytes.length));
            List<McpTool> list = new ArrayList<>(documents.size());
            for (Object document : documents)
                list.add(new McpTool(new Handle(Lib.tn_tools_get(tools, list.size())), Json.object(document)));
            return list;
        } finally {
            Lib.tn_free(tools);
        }
    }

    /** The tools of a list as a provider wants them; the list is freed. */
    @SuppressWarnings("unchecked")
    static List<Map<String, Object>> schema(long tools, String provider) {
        try {
            Outcome outcome = Lib.outcome(Lib.tn_tools_schema(tools, Lib.text(provider)));
            if (outcome.status() != Status.OK) throw outcome.failure();
            return (List<Map<String, Object>>) outcome.json();
        } finally {
            Lib.tn_free(tools);
        }
    }

    @Override
    public String name() {
        return (String) document.get("name");
    }

    @Override
    public String description() {
        return (String) document.getOrDefault("description", "");
    }

    @Override
    public Map<String, Object> inputSchema() {
        return Json.object(document.get("inputSchema"));
    }

    @Override
    public String source() {
        return (String) document.get("source");
    }

    @Override
    public ToolHints hints() {
        return ToolHints.of(Json.object(document.get("hints")));
    }

    @Override
    public ToolResult execute(Map<String, Object> args, ToolContext ctx) {
        return executeJson(args == null ? null : Json.write(args), ctx);
    }

    @Override
    public ToolResult executeJson(String json, ToolContext ctx) {
        ToolResult refused = Hosted.refused(json);
        return refused != null ? refused : Core.execute(ctx, submit(json));
    }

    @Override
    public CompletableFuture<ToolResult> executeAsync(Map<String, Object> args, ToolContext ctx) {
        return Core.executeAsync(ctx, submit(args == null ? null : Json.write(args)));
    }

    private Core.Submit submit(String json) {
        byte[] arguments = Lib.text(json);
        return (context, queue, id) ->
                handle.with(tool -> Lib.tn_tool_execute_submit(tool, arguments, context, queue, id));
    }

    Map<String, Object> document() {
        return document;
    }

    Handle handle() {
        return handle;
    }

    @Override
    public String toString() {
        return name();
    }
}
