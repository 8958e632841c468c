/* A source that is loaded while a shutdown waits for another one: the shutdown ends it too, and if it comes too late for
 * that its calls still end. */

#include "test.h"

static config second;
static volatile bool stop;

static void *load_again(void *unused) {
    (void)unused;
    while (!stop) {
        tn_result *result = tn_mcp_load(config_text(&second), NULL, NULL, NULL);
        tn_mcp *mcp = tn_result_take_mcp(result);
        tn_free(result);
        if (mcp) {
            tn_context *context = tn_context_new();
            tn_context_set_deadline(context, PATIENCE_MS);
            /* A server that the shutdown caught while it was being started has no tools. */
            tn_tools *tools = tn_mcp_tools(mcp);
            tn_tool *tool = tn_tools_find(tools, "b_echo");
            tn_result *called = tn_tool_execute(tool, "{\"text\":\"x\"}", context);
            tn_status status = tn_result_status(called);
            CHECK(status == TN_OK || status == TN_E_CLOSED || status == TN_E_TRANSPORT ||
                  (tool == NULL && status == TN_E_ARGUMENT));
            tn_free(called);
            tn_free(tool);
            tn_free(tools);
            tn_free(context);
        }
        tn_free(mcp);
    }
    return NULL;
}

int main(void) {
    config first = {0};
    begin();
    add_hostile(&first, "a", "ignores-eof");
    add_tiny(&second, "b");
    tn_mcp *mcp = load_all(&first);
    pthread_t thread = start_thread(load_again, NULL);
    for (int round = 0; round < 3; round++) {
        tn_result *result = tn_shutdown(PATIENCE_MS);
        CHECK_STATUS(result, TN_OK);
        tn_free(result);
    }
    stop = true;
    join_thread(thread);
    tn_free(mcp);
    config_free(&first);
    config_free(&second);
    finish();
    return 0;
}
