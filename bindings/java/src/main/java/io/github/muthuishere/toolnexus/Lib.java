package io.github.muthuishere.toolnexus;

import com.sun.jna.Pointer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The library's functions, as the C header has them. References are numbers; strings go in as bytes that end with a NUL. */
final class Lib {
    /** TN_ABI_VERSION of the header that this class was written for. */
    static final int ABI_VERSION = 1;

    static final int EVENT_DONE = 1;
    static final int EVENT_REQUEST = 2;
    static final int EVENT_CALL = 3;
    static final int EVENT_NOTICE = 4;
    static final int EVENT_CANCEL = 5;

    /** Where the library was found; null until it is loaded. */
    private static volatile String path;

    private Lib() {}

    /** Loads the library if it is not loaded. A failure is told each time, and tried again. */
    static String load() {
        if (path == null) {
            synchronized (Lib.class) {
                if (path == null) path = Loader.load();
            }
        }
        return path;
    }

    static native long tn_version();

    static native int tn_check(long object);

    static native void tn_free(long object);

    static native long tn_shutdown(int timeoutMs);

    static native int tn_result_status(long result);

    static native long tn_result_json(long result, long[] length);

    static native long tn_result_take_mcp(long result);

    static native long tn_result_take_toolkit(long result);

    static native long tn_result_take_tool(long result);

    static native long tn_context_new();

    static native int tn_context_set_timeout(long context, int idleMs);

    static native int tn_context_set_deadline(long context, int totalMs);

    static native int tn_context_set_progress(long context, long queue, long id);

    static native int tn_context_cancel(long context);

    static native long tn_config_parse(byte[] config, byte[] options);

    static native int tn_mcp_load_submit(byte[] config, byte[] options, long events, long context, long queue, long id);

    static native int tn_mcp_inventory_submit(byte[] config, byte[] options, long context, long queue, long id);

    static native long tn_mcp_tools(long mcp);

    static native long tn_resource_tools(long mcp);

    static native long tn_mcp_status(long mcp);

    static native int tn_mcp_request_submit(
            long mcp, byte[] server, byte[] method, byte[] params, long context, long queue, long id);

    static native int tn_mcp_skill_read_submit(
            long mcp, byte[] server, byte[] skill, byte[] uri, long context, long queue, long id);

    static native int tn_mcp_restart_submit(long mcp, byte[] server, long context, long queue, long id);

    static native int tn_mcp_close_submit(long mcp, long context, long queue, long id);

    static native long tn_tools_get(long tools, long index);

    static native long tn_tools_json(long tools, long[] length);

    static native long tn_tools_schema(long tools, byte[] provider);

    static native long tn_tool_json(long tool, long[] length);

    static native int tn_tool_execute_submit(long tool, byte[] arguments, long context, long queue, long id);

    static native long tn_tool_create(byte[] spec, long calls);

    static native int tn_toolkit_create_submit(byte[] options, long events, long context, long queue, long id);

    static native long tn_toolkit_register(long toolkit, long tool);

    static native long tn_toolkit_tools(long toolkit);

    static native long tn_toolkit_get(long toolkit, byte[] name);

    static native long tn_toolkit_mcp(long toolkit);

    static native int tn_toolkit_execute_submit(
            long toolkit, byte[] name, byte[] arguments, long context, long queue, long id);

    static native int tn_toolkit_close_submit(long toolkit, long context, long queue, long id);

    static native long tn_queue_new();

    static native long tn_queue_take_json(long queue, int timeoutMs);

    static native long tn_answer(long id, byte[] answer);

    /** A text as the library wants it; null is NULL. */
    static byte[] text(String text) {
        if (text == null) return null;
        int wrong = wrongAt(text);
        if (wrong >= 0 && text.charAt(wrong) == 0)
            throw new ToolnexusException(Status.ARGUMENT, "a text holds a NUL character, at " + wrong);
        if (wrong >= 0) throw new ToolnexusException(Status.UTF8, "a text holds half of a surrogate pair, at " + wrong);
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return Arrays.copyOf(bytes, bytes.length + 1);
    }

    /** Whether the library can be given this. */
    static boolean isText(String text) {
        return text == null || wrongAt(text) < 0;
    }

    private static int wrongAt(String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == 0) return i;
            if (!Character.isSurrogate(c)) continue;
            boolean pair = Character.isHighSurrogate(c)
                    && i + 1 < text.length()
                    && Character.isLowSurrogate(text.charAt(i + 1));
            if (!pair) return i;
            i++;
        }
        return -1;
    }

    /** A copy of what the library says at an address. */
    static byte[] bytes(long address, long length) {
        return address == 0 ? new byte[0] : new Pointer(address).getByteArray(0, Math.toIntExact(length));
    }

    static String string(long address) {
        return new Pointer(address).getString(0, "UTF-8");
    }

    /** The document of a result. */
    static byte[] json(long result) {
        long[] length = new long[1];
        return bytes(tn_result_json(result, length), length[0]);
    }

    /** Reads a result that holds no object, and frees it. */
    static Outcome outcome(long result) {
        try {
            return new Outcome(Status.of(tn_result_status(result)), json(result));
        } finally {
            tn_free(result);
        }
    }
}
