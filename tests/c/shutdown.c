/* tn_shutdown: calls under way end as closed, references stay the host's, the count is right, and a later call starts
 * anew; from many threads at once, too. */

#include "test.h"

enum { CALLS = 8 };

static tn_tool *odd;
static int under_way;

static void *call(void *unused) {
    (void)unused;
    __atomic_add_fetch(&under_way, 1, __ATOMIC_SEQ_CST);
    EXPECT(tn_tool_execute(odd, NULL, NULL), TN_E_CLOSED);
    return NULL;
}

/* The server counts the calls that have reached it. */
static bool all_arrived(const tn_mcp *mcp) {
    int count = 0;
    tn_result *result = call_tool(mcp, "mute_received", NULL, NULL);
    const char *at = tn_result_output(result, NULL);
    for (at = strstr(at, "\"name\":\"odd\""); at; at = strstr(at + 1, "\"name\":\"odd\""))
        count++;
    tn_free(result);
    return count == CALLS;
}

static void *shut_down(void *unused) {
    (void)unused;
    tn_result *result = tn_shutdown(PATIENCE_MS);
    CHECK_STATUS(result, TN_OK);
    tn_free(result);
    return NULL;
}

static void calls_under_way_end_as_closed(void) {
    pthread_t threads[CALLS];
    config servers = {0};
    add_hostile(&servers, "mute", "never-answers");
    tn_mcp *mcp = load_all(&servers);
    odd = find_tool(mcp, "mute_odd");
    for (int i = 0; i < CALLS; i++)
        threads[i] = start_thread(call, NULL);
    WAIT_FOR(all_arrived(mcp));
    tn_result *result = tn_shutdown(PATIENCE_MS);
    CHECK_STATUS(result, TN_OK);
    for (int i = 0; i < CALLS; i++)
        join_thread(threads[i]);
    CHECK_INT(under_way, CALLS);
    WAIT_FOR(count_threads() == 1);
    expect_nothing_left();
    tn_free(result);

    /* What is the host's is counted by its kind, and answers. */
    tn_context *context = tn_context_new(), *other = tn_context_new();
    tn_tools *tools = tn_mcp_tools(mcp);
    CHECK_INT(tn_tools_len(tools), 4);
    result = tn_shutdown(PATIENCE_MS);
    CHECK_TEXT(tn_result_json(result, NULL), "{\"live\":{\"context\":2,\"mcp\":1,\"tools\":1,\"tool\":1}}");
    CHECK(!tn_result_is_error(result));
    tn_free(result);
    EXPECT(tn_tool_execute(odd, NULL, NULL), TN_E_CLOSED);
    EXPECT(tn_mcp_request(mcp, "mute", "ping", NULL, NULL), TN_E_CLOSED);
    EXPECT(tn_mcp_restart(mcp, NULL, NULL), TN_E_CLOSED);
    EXPECT(tn_mcp_close(mcp, NULL), TN_OK);
    EXPECT(tn_mcp_status(mcp), TN_OK);
    tn_free(context);
    tn_free(other);
    tn_free(tools);
    tn_free(odd);
    tn_free(mcp);
}

static void *load_and_call(void *unused) {
    (void)unused;
    for (int i = 0; i < 5; i++) {
        config servers = {0};
        add_tiny(&servers, "a");
        tn_result *result = tn_mcp_load(config_text(&servers), NULL, NULL, NULL);
        config_free(&servers);
        tn_mcp *mcp = tn_result_take_mcp(result);
        if (tn_result_status(result) != TN_E_CLOSED) {
            CHECK_STATUS(result, TN_OK);
            tn_tools *tools = tn_mcp_tools(mcp);
            tn_tool *tool = tn_tools_find(tools, "a_echo");
            tn_result *answer = tn_tool_execute(tool, "{\"text\":\"x\"}", NULL);
            tn_status status = tn_result_status(answer);
            /* A server that a shutdown caught while it was being started has no tools. */
            CHECK(status == TN_OK || status == TN_E_CLOSED || (tool == NULL && status == TN_E_ARGUMENT));
            tn_free(answer);
            tn_free(tool);
            tn_free(tools);
        }
        tn_free(mcp);
        tn_free(result);
    }
    return NULL;
}

static void from_many_threads_at_once(void) {
    pthread_t threads[4], loading[4];
    for (int i = 0; i < 4; i++) {
        loading[i] = start_thread(load_and_call, NULL);
        threads[i] = start_thread(shut_down, NULL);
    }
    for (int i = 0; i < 4; i++) {
        join_thread(threads[i]);
        join_thread(loading[i]);
    }
}

/* Too little time for the polite steps: it says so, ends what it can, and the next one finds nothing. */
static void with_too_little_time(void) {
    config servers = {0};
    add_hostile(&servers, "a", "ignores-term");
    tn_mcp *mcp = load_all(&servers);
    tn_result *result = tn_shutdown(50);
    CHECK_STATUS(result, TN_E_TIMEOUT);
    CHECK_HAS(tn_result_output(result, NULL), "50 ms");
    tn_free(result);
    WAIT_FOR(count_processes(getpid()) == 0);
    add_tiny(&servers, "b");
    tn_mcp *later = load_all(&servers);
    check_echo(later, "b");
    tn_free(later);
    EXPECT(tn_mcp_close(mcp, NULL), TN_OK);
    tn_free(mcp);
}

int main(void) {
    begin();
    /* Before anything was started. */
    EXPECT(tn_shutdown(0), TN_OK);
    calls_under_way_end_as_closed();
    from_many_threads_at_once();
    finish();
    with_too_little_time();
    finish();
    return 0;
}
