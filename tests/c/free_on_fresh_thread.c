/* The last references go on a thread that the library has never met, as a garbage collector's: nothing panics, and the
 * servers end. */

#include "test.h"

static void *give_back(void *reference) {
    tn_free(reference);
    return NULL;
}

static void *give_back_and_end_thread(void *reference) {
    tn_free(reference);
    pthread_exit(NULL);
}

static tn_result *load(void) {
    config servers = {0};
    add_tiny(&servers, "a");
    add_hostile(&servers, "b", "ordinary");
    tn_result *result = tn_mcp_load(config_text(&servers), NULL, NULL, NULL);
    config_free(&servers);
    CHECK_STATUS(result, TN_OK);
    WAIT_FOR(count_processes(getpid()) == 3);
    return result;
}

int main(void) {
    begin();
    /* A source. */
    tn_result *result = load();
    tn_mcp *mcp = tn_result_take_mcp(result);
    tn_tools *tools = tn_mcp_tools(mcp);
    tn_tool *tool = tn_tools_get(tools, 0);
    tn_context *context = tn_context_new();
    join_thread(start_thread(give_back, mcp));
    WAIT_FOR(count_processes(getpid()) == 0);
    /* And what did not keep it open. */
    join_thread(start_thread(give_back, tool));
    join_thread(start_thread(give_back, tools));
    join_thread(start_thread(give_back, context));
    join_thread(start_thread(give_back, result));

    /* A result that still holds its source. */
    join_thread(start_thread(give_back_and_end_thread, load()));
    WAIT_FOR(count_processes(getpid()) == 0);

    /* After the library's threads are gone. */
    result = load();
    mcp = tn_result_take_mcp(result);
    tn_free(result);
    tn_free(tn_shutdown(PATIENCE_MS));
    join_thread(start_thread(give_back, mcp));
    finish();
    return 0;
}
