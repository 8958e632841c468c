/* NUL characters, lone surrogates and four-byte characters in texts, names and errors: lengths are right, and nothing
 * is cut. */

#include "test.h"

/* Checks an output that may hold NULs, and that what says its length agrees with what stands behind it. */
static void check_output(tn_result *result, tn_status status, const char *wanted, size_t length) {
    size_t got = 0, json_length = 0;
    const char *output = tn_result_output(result, &got);
    CHECK_STATUS(result, status);
    if (got != length || memcmp(output, wanted, length) != 0)
        FAIL("the output has %zu bytes, expected %zu: %s", got, length, output);
    CHECK_INT(output[got], 0);
    /* JSON holds no raw NUL. */
    const char *json = tn_result_json(result, &json_length);
    CHECK_INT(strlen(json), json_length);
    tn_free(result);
}

#define CHECK_OUTPUT(result, status, wanted) check_output(result, status, wanted, sizeof(wanted) - 1)

int main(void) {
    config servers = {0};
    begin();
    add_hostile(&servers, "n", "nul-and-4byte");
    add_hostile(&servers, "s", "lone-surrogate");
    add_hostile(&servers, "names", "odd-names");
    add_hostile(&servers, "r", "resources-only");
    add_tiny(&servers, "t");
    /* A name with a NUL and a four-byte character. */
    add_server(&servers, "a\\u0000\\ud83d\\ude00", "tiny-server", "", "");
    tn_mcp *mcp = load_all(&servers);

    CHECK_OUTPUT(call_tool(mcp, "n_odd", NULL, NULL), TN_OK, "a\0b \xf0\x9f\x98\x80 \xf0\x9f\x98\x80");
    /* A lone surrogate is U+FFFD in the output, and stays as it was in the JSON. */
    tn_result *result = call_tool(mcp, "s_odd", NULL, NULL);
    CHECK_HAS(tn_result_json(result, NULL), "a\\ud800b");
    CHECK_OUTPUT(result, TN_OK, "a\xef\xbf\xbd" "b");

    /* There and back: what the host gives as an escape comes back as the character. */
    result = call_tool(mcp, "t_echo", "{\"text\":\"\\u0000x\\u0000\\ud83d\\ude00\"}", NULL);
    CHECK_OUTPUT(result, TN_OK, "\0x\0\xf0\x9f\x98\x80");
    result = call_tool(mcp, "n_echo", "{\"text\":\"\"}", NULL);
    CHECK_OUTPUT(result, TN_OK, "");

    /* Errors: a server's message and our own, with a NUL inside. */
    tn_tools *tools = tn_resource_tools(mcp);
    tn_tool *read = tn_tools_find(tools, "read_mcp_resource");
    result = tn_tool_execute(read, "{\"server\":\"t\",\"uri\":\"x\\u0000y\"}", NULL);
    CHECK_OUTPUT(result, TN_E_SERVER, "Resource not found: x\0y");
    result = tn_tool_execute(read, "{\"server\":\"x\\u0000y\",\"uri\":\"u\"}", NULL);
    CHECK_STATUS(result, TN_E_NOT_FOUND);
    CHECK_HAS(tn_result_output(result, NULL), "Unknown MCP server \"x");
    size_t length = 0;
    const char *output = tn_result_output(result, &length);
    CHECK(length > strlen("Unknown MCP server \"x"));
    /* The list of the connected servers stands behind the NUL. */
    CHECK(memmem(output, length, "(connected: n, s, ", 18) != NULL);
    tn_free(result);
    tn_free(read);
    tn_free(tools);

    /* Names: exposed ones are plain; the originals are escaped in the document. */
    result = call_tool(mcp, "a___echo", "{\"text\":\"hello\"}", NULL);
    CHECK_HAS(tn_result_json(result, &length), "\"server\":\"a\\u0000\xf0\x9f\x98\x80\"");
    CHECK_OUTPUT(result, TN_OK, "hello");
    tools = tn_mcp_tools(mcp);
    const char *json = tn_tools_json(tools, &length);
    CHECK_INT(strlen(json), length);
    for (size_t i = 0; i < tn_tools_len(tools); i++) {
        tn_tool *tool = tn_tools_get(tools, i);
        const char *name = tn_tool_name(tool);
        CHECK(strlen(name) >= 1 && strlen(name) <= 64);
        CHECK_INT(strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"), strlen(name));
        json = tn_tool_json(tool, &length);
        CHECK_INT(strlen(json), length);
        CHECK_HAS(tn_tools_json(tools, NULL), json);
        tn_free(tool);
    }
    tn_free(tools);
    result = tn_mcp_status(mcp);
    CHECK_HAS(tn_result_json(result, &length), "\"a\\u0000\xf0\x9f\x98\x80\":{\"status\":\"connected\"");
    CHECK_INT(strlen(tn_result_json(result, NULL)), length);
    tn_free(result);
    tn_free(mcp);
    finish();
    return 0;
}
