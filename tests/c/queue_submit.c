/* Every submit: it fails for its queue alone, and then has queued nothing; whatever else is wrong or right about the call
 * arrives as its completion, once, under the id that was given. */

#include "queue.h"

static tn_mcp *mcp;
static tn_tool *echo, *fail_tool, *odd;

/* Calls every submit there is with the queue. */
static void all_submits(tn_queue *queue, tn_status wanted) {
    CHECK_INT(tn_mcp_load_submit("{}", NULL, NULL, NULL, queue, 1), wanted);
    CHECK_INT(tn_mcp_inventory_submit("{}", NULL, NULL, queue, 2), wanted);
    CHECK_INT(tn_mcp_request_submit(mcp, "a", "ping", NULL, NULL, queue, 3), wanted);
    CHECK_INT(tn_mcp_restart_submit(mcp, "a", NULL, queue, 4), wanted);
    CHECK_INT(tn_mcp_close_submit(mcp, NULL, queue, 5), wanted);
    CHECK_INT(tn_tool_execute_submit(echo, "{\"text\":\"x\"}", NULL, queue, 6), wanted);
    CHECK_INT(tn_toolkit_create_submit(NULL, NULL, NULL, queue, 9), wanted);
    CHECK_INT(tn_toolkit_execute_submit(NULL, "x", NULL, NULL, queue, 10), wanted);
    CHECK_INT(tn_toolkit_close_submit(NULL, NULL, queue, 11), wanted);
    /* The queue counts before anything else does. */
    CHECK_INT(tn_mcp_load_submit(NULL, NULL, NULL, NULL, queue, 7), wanted);
    CHECK_INT(tn_tool_execute_submit(NULL, "[", NULL, queue, 8), wanted);
}

static void a_queue_that_is_not_good(void) {
    tn_queue *queue = tn_queue_new();
    all_submits(NULL, TN_E_ARGUMENT);
    all_submits((tn_queue *)0x1234, TN_E_HANDLE);
    all_submits((tn_queue *)echo, TN_E_HANDLE);
    CHECK_INT(tn_queue_close(queue), TN_OK);
    CHECK_INT(tn_queue_close(queue), TN_OK);
    all_submits(queue, TN_E_CLOSED);
    expect_over(queue);
    tn_free(queue);
    all_submits(queue, TN_E_HANDLE);
    CHECK_INT(tn_queue_close(queue), TN_E_HANDLE);
    CHECK_INT(tn_queue_close(NULL), TN_E_ARGUMENT);
    check_echo(mcp, "a");
}

static void what_is_wrong_arrives(tn_queue *queue) {
    tn_context *context = tn_context_new();
    tn_tool *freed = find_tool(mcp, "a_echo");
    tn_free(freed);
    submit(NULL, NULL, NULL, queue, 1);
    expect_done(queue, 1, TN_E_ARGUMENT);
    submit(freed, NULL, NULL, queue, 2);
    expect_done(queue, 2, TN_E_HANDLE);
    submit((tn_tool *)queue, NULL, NULL, queue, 3);
    expect_done(queue, 3, TN_E_HANDLE);
    submit((tn_tool *)0x10, NULL, NULL, queue, 4);
    expect_done(queue, 4, TN_E_HANDLE);
    submit(echo, "{", NULL, queue, 5);
    expect_done(queue, 5, TN_E_JSON);
    submit(echo, "[]", NULL, queue, 6);
    expect_done(queue, 6, TN_E_JSON);
    submit(echo, "\xff", NULL, queue, 7);
    expect_done(queue, 7, TN_E_UTF8);
    submit(echo, NULL, (tn_context *)queue, queue, 8);
    expect_done(queue, 8, TN_E_HANDLE);
    CHECK_INT(tn_mcp_load_submit(NULL, NULL, NULL, NULL, queue, 9), TN_OK);
    expect_done(queue, 9, TN_E_ARGUMENT);
    CHECK_INT(tn_mcp_load_submit("{", NULL, NULL, NULL, queue, 10), TN_OK);
    expect_done(queue, 10, TN_E_CONFIG);
    CHECK_INT(tn_mcp_load_submit("{}", "{\"what\":1}", NULL, NULL, queue, 11), TN_OK);
    expect_done(queue, 11, TN_E_ARGUMENT);
    CHECK_INT(tn_mcp_load_submit("{}", NULL, (tn_queue *)echo, NULL, queue, 12), TN_OK);
    expect_done(queue, 12, TN_E_HANDLE);
    CHECK_INT(tn_mcp_inventory_submit("{", NULL, NULL, queue, 13), TN_OK);
    expect_done(queue, 13, TN_E_CONFIG);
    CHECK_INT(tn_mcp_request_submit(NULL, "a", "ping", NULL, NULL, queue, 14), TN_OK);
    expect_done(queue, 14, TN_E_ARGUMENT);
    CHECK_INT(tn_mcp_request_submit(mcp, NULL, "ping", NULL, NULL, queue, 15), TN_OK);
    expect_done(queue, 15, TN_E_ARGUMENT);
    CHECK_INT(tn_mcp_request_submit(mcp, "nobody", "ping", NULL, NULL, queue, 16), TN_OK);
    expect_done(queue, 16, TN_E_NOT_FOUND);
    CHECK_INT(tn_mcp_request_submit(mcp, "a", "ping", "[", NULL, queue, 17), TN_OK);
    expect_done(queue, 17, TN_E_JSON);
    CHECK_INT(tn_mcp_restart_submit(mcp, "nobody", NULL, queue, 18), TN_OK);
    expect_done(queue, 18, TN_E_NOT_FOUND);
    CHECK_INT(tn_mcp_close_submit((tn_mcp *)echo, NULL, queue, 19), TN_OK);
    expect_done(queue, 19, TN_E_HANDLE);
    /* A context that was cancelled before. */
    CHECK_INT(tn_context_cancel(context), TN_OK);
    submit(echo, "{\"text\":\"x\"}", context, queue, 20);
    expect_done(queue, 20, TN_E_CANCELLED);
    tn_free(context);
    expect_nothing(queue);
}

static void what_is_right_arrives(tn_queue *queue) {
    config servers = {0};
    tn_event event;
    submit(echo, "{\"text\":\"hello\"}", NULL, queue, 0);
    event = next_done(queue, 0);
    CHECK_TEXT(tn_result_output(event.result, NULL), "hello");
    CHECK(!tn_result_is_error(event.result));
    tn_free(event.result);
    /* The id is the host's own, all of it. */
    submit(fail_tool, NULL, NULL, queue, UINT64_MAX);
    event = next_done(queue, UINT64_MAX);
    CHECK_INT(event.status, TN_OK);
    CHECK(tn_result_is_error(event.result));
    tn_free(event.result);
    CHECK_INT(tn_mcp_request_submit(mcp, "a", "resources/list", NULL, NULL, queue, 1), TN_OK);
    event = next_done(queue, 1);
    CHECK_HAS(tn_result_json(event.result, NULL), "fixture://hello");
    tn_free(event.result);
    CHECK_INT(tn_mcp_restart_submit(mcp, "a", NULL, queue, 2), TN_OK);
    event = next_done(queue, 2);
    CHECK_HAS(tn_result_json(event.result, NULL), "\"connected\"");
    tn_free(event.result);
    add_tiny(&servers, "b");
    CHECK_INT(tn_mcp_inventory_submit(config_text(&servers), NULL, NULL, queue, 3), TN_OK);
    event = next_done(queue, 3);
    CHECK_HAS(tn_result_json(event.result, NULL), "\"status\":{\"b\":\"connected\"}");
    tn_free(event.result);
    config_free(&servers);
    add_tiny(&servers, "c");
    CHECK_INT(tn_mcp_load_submit(config_text(&servers), NULL, NULL, NULL, queue, 4), TN_OK);
    config_free(&servers);
    event = next_done(queue, 4);
    CHECK_INT(event.status, TN_OK);
    tn_mcp *loaded = tn_result_take_mcp(event.result);
    CHECK(tn_result_take_mcp(event.result) == NULL);
    tn_free(event.result);
    check_echo(loaded, "c");
    CHECK_INT(tn_mcp_close_submit(loaded, NULL, queue, 5), TN_OK);
    expect_done(queue, 5, TN_OK);
    CHECK_INT(tn_mcp_close_submit(loaded, NULL, queue, 6), TN_OK);
    expect_done(queue, 6, TN_OK);
    tn_free(loaded);
    expect_nothing(queue);
}

/* By a time-out, a deadline, a cancel, and the close of the source. */
static void what_does_not_end_by_itself(tn_queue *queue) {
    tn_context *idle = tn_context_new(), *deadline = tn_context_new(), *cancelled = tn_context_new();
    CHECK_INT(tn_context_set_timeout(idle, 20), TN_OK);
    CHECK_INT(tn_context_set_deadline(deadline, 20), TN_OK);
    submit(odd, NULL, idle, queue, 1);
    expect_done(queue, 1, TN_E_TIMEOUT);
    submit(odd, NULL, deadline, queue, 2);
    expect_done(queue, 2, TN_E_TIMEOUT);
    /* Those two may have ended before they were sent. */
    int before = received(mcp, "mute", "\"name\":\"odd\"");
    submit(odd, NULL, cancelled, queue, 3);
    submit(odd, NULL, cancelled, queue, 4);
    WAIT_FOR(received(mcp, "mute", "\"name\":\"odd\"") == before + 2);
    CHECK_INT(tn_context_cancel(cancelled), TN_OK);
    uint64_t seen = 0;
    for (int i = 0; i < 2; i++) {
        tn_event event = next_event(queue);
        CHECK_INT(event.status, TN_E_CANCELLED);
        seen |= 1u << event.id;
        tn_free(event.result);
    }
    CHECK_INT(seen, 1 << 3 | 1 << 4);
    submit(odd, NULL, NULL, queue, 5);
    WAIT_FOR(received(mcp, "mute", "\"name\":\"odd\"") == before + 3);
    CHECK_INT(tn_mcp_close_submit(mcp, NULL, queue, 6), TN_OK);
    expect_done(queue, 5, TN_E_CLOSED);
    expect_done(queue, 6, TN_OK);
    submit(echo, NULL, NULL, queue, 7);
    expect_done(queue, 7, TN_E_CLOSED);
    tn_free(idle);
    tn_free(deadline);
    tn_free(cancelled);
}

int main(void) {
    begin();
    config servers = {0};
    add_tiny(&servers, "a");
    add_hostile(&servers, "mute", "never-answers");
    mcp = load_all(&servers);
    echo = find_tool(mcp, "a_echo");
    fail_tool = find_tool(mcp, "a_fail");
    odd = find_tool(mcp, "mute_odd");
    tn_queue *queue = tn_queue_new();
    a_queue_that_is_not_good();
    what_is_wrong_arrives(queue);
    what_is_right_arrives(queue);
    what_does_not_end_by_itself(queue);
    CHECK_INT(tn_queue_close(queue), TN_OK);
    expect_over(queue);
    tn_free(queue);
    tn_free(echo);
    tn_free(fail_tool);
    tn_free(odd);
    tn_free(mcp);
    finish();
    return 0;
}
