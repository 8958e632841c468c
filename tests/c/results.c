/* Results and what they hold: strings live as long as their reference, whatever else is closed or freed; the object of a
 * load is given once; one that nobody took closes with its result. */

#include "test.h"

static tn_result *load(void) {
    config servers = {0};
    add_tiny(&servers, "a");
    tn_result *result = tn_mcp_load(config_text(&servers), NULL, NULL, NULL);
    config_free(&servers);
    CHECK_STATUS(result, TN_OK);
    return result;
}

int main(void) {
    begin();
    tn_result *loaded = load();
    CHECK(!tn_result_is_error(loaded));
    CHECK_TEXT(tn_result_output(loaded, NULL), "");
    tn_mcp *mcp = tn_result_take_mcp(loaded);
    CHECK(mcp != NULL);
    CHECK(tn_result_take_mcp(loaded) == NULL);
    /* What else it holds stays. */
    CHECK_HAS(tn_result_json(loaded, NULL), "\"a\":{\"status\":\"connected\"");

    /* Every reference is one of its own. */
    tn_tools *tools = tn_mcp_tools(mcp), *again = tn_mcp_tools(mcp);
    CHECK(tools != again);
    tn_free(again);
    CHECK_INT(tn_check(tools), TN_OK);
    tn_tool *tool = tn_tools_get(tools, 0);
    CHECK(tn_tools_get(tools, 3) == NULL);
    CHECK(tn_tools_get(tools, SIZE_MAX) == NULL);
    CHECK(tn_tools_find(tools, "nope") == NULL);
    tn_result *result = tn_tool_execute(tool, "{\"text\":\"hello\"}", NULL);
    const char *output = tn_result_output(result, NULL), *json = tn_result_json(result, NULL);
    const char *list = tn_tools_json(tools, NULL), *name = tn_tool_name(tool), *document = tn_tool_json(tool, NULL);
    /* Asked again, the same. */
    CHECK(tn_result_output(result, NULL) == output && tn_result_json(result, NULL) == json);
    CHECK(tn_tools_json(tools, NULL) == list && tn_tool_json(tool, NULL) == document);
    char *copy = strdup(json);

    EXPECT(tn_mcp_close(mcp, NULL), TN_OK);
    tn_free(mcp);
    tn_free(loaded);
    tn_free(tn_shutdown(PATIENCE_MS));
    CHECK_TEXT(output, "hello");
    CHECK_TEXT(json, copy);
    CHECK_TEXT(name, "a_echo");
    CHECK_HAS(list, document);
    free(copy);
    tn_free(tools);
    CHECK_TEXT(tn_tool_name(tool), "a_echo");
    /* A result that lives on belongs to nobody's source. */
    EXPECT(tn_tool_execute(tool, "{\"text\":\"hello\"}", NULL), TN_E_CLOSED);
    tn_free(tool);
    CHECK_TEXT(output, "hello");
    tn_free(result);

    /* Only a load makes a source. */
    result = tn_config_parse("{}", NULL);
    CHECK(tn_result_take_mcp(result) == NULL);
    tn_free(result);

    /* Not taken: closed with the result. */
    loaded = load();
    WAIT_FOR(count_processes(getpid()) == 2);
    tn_free(loaded);
    WAIT_FOR(count_processes(getpid()) == 0);
    /* Taken: not closed with it. */
    loaded = load();
    mcp = tn_result_take_mcp(loaded);
    tn_free(loaded);
    check_echo(mcp, "a");
    /* Tools and lists do not keep the source open. */
    tool = find_tool(mcp, "a_echo");
    tools = tn_resource_tools(mcp);
    tn_free(mcp);
    WAIT_FOR(count_processes(getpid()) == 0);
    EXPECT(tn_tool_execute(tool, NULL, NULL), TN_E_CLOSED);
    tn_free(tool);
    tool = tn_tools_get(tools, 0);
    result = tn_tool_execute(tool, NULL, NULL);
    CHECK_STATUS(result, TN_E_CLOSED);
    CHECK_TEXT(tn_result_output(result, NULL), "MCP source is closed");
    tn_free(result);
    tn_free(tool);
    tn_free(tools);
    finish();
    return 0;
}
