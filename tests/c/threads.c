/* Close, free and cancel from many threads while calls are under way: each call ends, once, as one of the ways in which
 * it may end, and nothing hangs. */

#include "test.h"

enum { CALLERS = 12, ROUNDS = 8, KINDS = 6 };

static tn_mcp *mcp;
static tn_tool *mute, *echo_tool;
static tn_tools *tools;
static tn_context *context;
static volatile bool stop;
static int started, ended;

static void *keep_calling(void *number) {
    bool patient = (intptr_t)number % 2;
    while (!stop) {
        __atomic_add_fetch(&started, 1, __ATOMIC_SEQ_CST);
        tn_result *result = patient ? tn_tool_execute(mute, NULL, context)
                                    : tn_tool_execute(echo_tool, "{\"text\":\"hello\"}", NULL);
        __atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
        switch (tn_result_status(result)) {
        case TN_OK:
            CHECK(!patient);
            CHECK_TEXT(tn_result_output(result, NULL), "hello");
            break;
        case TN_E_CANCELLED:
            CHECK(patient);
            break;
        case TN_E_CLOSED:
        case TN_E_HANDLE:
            break;
        default:
            FAIL("%s: %s", tn_status_name(tn_result_status(result)), tn_result_output(result, NULL));
        }
        tn_free(result);
    }
    return NULL;
}

static void *cancel(void *unused) {
    (void)unused;
    tn_context_cancel(context);
    return NULL;
}

static void *close_source(void *unused) {
    (void)unused;
    tn_result *result = tn_mcp_close(mcp, NULL);
    CHECK(tn_result_status(result) == TN_OK || tn_result_status(result) == TN_E_HANDLE);
    tn_free(result);
    return NULL;
}

static void *free_source(void *unused) {
    (void)unused;
    tn_free(mcp);
    return NULL;
}

static void *free_tools(void *unused) {
    (void)unused;
    tn_free(mute);
    tn_free(echo_tool);
    tn_free(tools);
    tn_free(context);
    return NULL;
}

static void *look(void *unused) {
    (void)unused;
    for (int i = 0; i < 20; i++) {
        tn_free(tn_mcp_status(mcp));
        tn_free(tn_mcp_tools(mcp));
        tn_free(tn_resource_tools(mcp));
        tn_free(tn_tools_find(tools, "well_echo"));
        tn_tools_len(tools);
    }
    return NULL;
}

static void *request(void *unused) {
    (void)unused;
    for (int i = 0; i < 20; i++) {
        tn_result *result = tn_mcp_request(mcp, "well", "resources/list", NULL, NULL);
        tn_status status = tn_result_status(result);
        CHECK(status == TN_OK || status == TN_E_CLOSED || status == TN_E_HANDLE);
        tn_free(result);
    }
    return NULL;
}

static void round_of(int number) {
    static void *(*const disturb[KINDS])(void *) = {cancel, close_source, free_source, free_tools, look, request};
    pthread_t callers[CALLERS], disturbers[2 * KINDS];
    config servers = {0};
    add_hostile(&servers, "mute", "never-answers");
    add_tiny(&servers, "well");
    mcp = load_all(&servers);
    tools = tn_mcp_tools(mcp);
    mute = tn_tools_find(tools, "mute_odd");
    echo_tool = tn_tools_find(tools, "well_echo");
    context = tn_context_new();
    stop = false;
    started = ended = 0;
    for (int i = 0; i < CALLERS; i++)
        callers[i] = start_thread(keep_calling, (void *)(intptr_t)i);
    WAIT_FOR(__atomic_load_n(&ended, __ATOMIC_SEQ_CST) > 50);
    /* In another order each time, and each twice, so that a second free meets the first. */
    for (int i = 0; i < 2 * KINDS; i++)
        disturbers[i] = start_thread(disturb[(i * 5 + number) % KINDS], NULL);
    for (int i = 0; i < 2 * KINDS; i++)
        join_thread(disturbers[i]);
    stop = true;
    /* A call that outlives every reference to its source and its context is ended by nothing else. */
    EXPECT(tn_shutdown(PATIENCE_MS), TN_OK);
    for (int i = 0; i < CALLERS; i++)
        join_thread(callers[i]);
    CHECK_INT(ended, started);
}

int main(void) {
    begin();
    /* A second free is a warning in the log, as it should be. */
    CHECK_INT(tn_log_to_callback(0, NULL, 0, NULL), TN_OK);
    for (int i = 0; i < (slowness() > 1 ? 2 : ROUNDS); i++)
        round_of(i);
    finish();
    return 0;
}
