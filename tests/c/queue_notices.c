/* Notices: progress of a call before its end, the log in a queue, and how many are kept for nobody. */

#include "queue.h"

static tn_mcp *mcp;
static tn_tool *slow, *flood;

static void progress_comes_first(tn_queue *queue) {
    tn_context *context = tn_context_new();
    CHECK_INT(tn_context_set_progress(NULL, queue, 1), TN_E_ARGUMENT);
    CHECK_INT(tn_context_set_progress(context, (tn_queue *)context, 1), TN_E_HANDLE);
    CHECK_INT(tn_context_set_progress(context, queue, UINT64_MAX - 1), TN_OK);
    submit(slow, "{\"durationMs\":50,\"intervalMs\":10}", context, queue, 1);
    for (int i = 1; i <= 5; i++) {
        char wanted[96];
        tn_event event = next_event(queue);
        CHECK_INT(event.kind, TN_EVENT_NOTICE);
        CHECK(event.id == UINT64_MAX - 1);
        CHECK_INT(event.status, TN_OK);
        snprintf(wanted, sizeof wanted, "{\"kind\":\"progress\",\"server\":\"a\",\"progress\":%d,\"total\":50}", i * 10);
        CHECK_TEXT(tn_result_json(event.result, NULL), wanted);
        tn_free(event.result);
    }
    expect_done(queue, 1, TN_OK);
    /* In a queue of its own, with a blocking call. */
    tn_queue *own = tn_queue_new();
    CHECK_INT(tn_context_set_progress(context, own, 3), TN_OK);
    EXPECT(tn_tool_execute(slow, "{\"durationMs\":10,\"intervalMs\":10}", context), TN_OK);
    tn_event event = next_event(own);
    CHECK_INT(event.kind, TN_EVENT_NOTICE);
    CHECK_INT(event.id, 3);
    tn_free(event.result);
    expect_nothing(own);
    /* None any more; and into a queue that is gone. */
    CHECK_INT(tn_context_set_progress(context, NULL, 0), TN_OK);
    EXPECT(tn_tool_execute(slow, "{\"durationMs\":10,\"intervalMs\":10}", context), TN_OK);
    expect_nothing(own);
    CHECK_INT(tn_context_set_progress(context, own, 3), TN_OK);
    tn_free(own);
    EXPECT(tn_tool_execute(slow, "{\"durationMs\":10,\"intervalMs\":10}", context), TN_OK);
    expect_nothing(queue);
    tn_free(context);
}

/* 5,000 notices that nobody reads: the last 1,024 are kept, the first of them says how many went, and what is no notice
 * stays. */
static void unread_notices_are_bounded(tn_queue *queue) {
    tn_context *context = tn_context_new();
    CHECK_INT(tn_context_set_progress(context, queue, 9), TN_OK);
    submit(NULL, NULL, NULL, queue, 1);
    EXPECT(tn_tool_execute(flood, NULL, context), TN_OK);
    submit(NULL, NULL, NULL, queue, 2);
    expect_done(queue, 1, TN_E_ARGUMENT);
    for (int i = 0; i < 1024; i++) {
        tn_event event = next_event(queue);
        const char *json = tn_result_json(event.result, NULL);
        CHECK_INT(event.kind, TN_EVENT_NOTICE);
        if (i == 0)
            CHECK_HAS(json, ",\"lost\":3976}");
        else
            CHECK_LACKS(json, "\"lost\"");
        tn_free(event.result);
    }
    expect_done(queue, 2, TN_E_ARGUMENT);
    expect_nothing(queue);
    tn_free(context);
}

static void the_log_in_a_queue(void) {
    tn_queue *queue = tn_queue_new();
    CHECK_INT(tn_log_to_queue(2, NULL), TN_E_ARGUMENT);
    CHECK_INT(tn_log_to_queue(6, queue), TN_E_ARGUMENT);
    CHECK_INT(tn_log_to_queue(-1, queue), TN_E_ARGUMENT);
    CHECK_INT(tn_log_to_queue(2, (tn_queue *)slow), TN_E_HANDLE);
    CHECK_INT(tn_log_to_queue(2, queue), TN_OK);
    for (int i = 0; i < 3; i++)
        tn_free((void *)(uintptr_t)(0x1000 + i));
    for (int i = 0; i < 3; i++) {
        tn_event event = next_event(queue);
        CHECK_INT(event.kind, TN_EVENT_NOTICE);
        CHECK_INT(event.id, 0);
        CHECK_TEXT(tn_result_json(event.result, NULL),
                   "{\"kind\":\"log\",\"level\":2,\"target\":\"ffi\",\"message\":\"tn_free: the reference is no reference of this library\"}");
        tn_free(event.result);
    }
    /* To another place: what comes later is not here. */
    CHECK_INT(tn_log_to_callback(0, NULL, 0, NULL), TN_OK);
    tn_free((void *)0x1000);
    expect_nothing(queue);
    CHECK_INT(tn_log_to_queue(5, queue), TN_OK);
    check_echo(mcp, "a");
    /* A queue that is gone takes the records with it, and nothing else. */
    tn_free(queue);
    tn_free((void *)0x1000);
    check_echo(mcp, "a");
    CHECK_INT(tn_log_to_callback(0, NULL, 0, NULL), TN_OK);
}

int main(void) {
    begin();
    config servers = {0};
    add_tiny(&servers, "a");
    add_hostile(&servers, "loud", "progress-flood");
    mcp = load_all(&servers);
    slow = find_tool(mcp, "a_slow");
    flood = find_tool(mcp, "loud_odd");
    tn_queue *queue = tn_queue_new();
    progress_comes_first(queue);
    unread_notices_are_bounded(queue);
    the_log_in_a_queue();
    tn_free(queue);
    tn_free(slow);
    tn_free(flood);
    tn_free(mcp);
    finish();
    return 0;
}
