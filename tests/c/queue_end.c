/* How queues end: closed, they hand out what they hold and what was pending, as cancelled; freed, they discard it, and what
 * was in unread results ends with it. The servers learn of the calls that nobody wants any more. */

#include "queue.h"

enum { CALLS = 50 };

/* A tool's result, as every other end of a call of a tool. */
#define MESSAGE "the call was cancelled: its queue was closed"
#define WITH_ITS_QUEUE \
    "{\"output\":\"" MESSAGE "\",\"isError\":true,\"metadata\":{},\"parts\":[],\"content\":[]," \
    "\"error\":{\"code\":\"cancelled\",\"message\":\"" MESSAGE "\"}}"

static tn_mcp *mcp;
static tn_tool *odd;
static int cancels;

static void closed(void) {
    tn_queue *queue = tn_queue_new();
    bool seen[CALLS + 1] = {false};
    submit(NULL, NULL, NULL, queue, 0);
    for (uint64_t id = 1; id <= CALLS; id++)
        submit(odd, NULL, NULL, queue, id);
    /* Those that arrived are cancelled at the server, the others never reach it. */
    WAIT_FOR(received(mcp, "mute", "\"name\":\"odd\"") == CALLS);
    CHECK_INT(tn_queue_close(queue), TN_OK);
    CHECK_INT(tn_tool_execute_submit(odd, NULL, NULL, queue, 99), TN_E_CLOSED);
    expect_done(queue, 0, TN_E_ARGUMENT);
    for (int i = 0; i < CALLS; i++) {
        tn_event event = next_event(queue);
        CHECK_INT(event.status, TN_E_CANCELLED);
        CHECK_INT(event.kind, TN_EVENT_DONE);
        CHECK(event.id >= 1 && event.id <= CALLS && !seen[event.id]);
        CHECK_TEXT(tn_result_json(event.result, NULL), WITH_ITS_QUEUE);
        seen[event.id] = true;
        tn_free(event.result);
    }
    expect_over(queue);
    expect_over(queue);
    CHECK_INT(tn_queue_close(queue), TN_OK);
    WAIT_FOR(received(mcp, "mute", "notifications/cancelled") == CALLS);
    cancels += CALLS;
    tn_free(queue);
}

/* At once after the submits, when none of them may have begun. */
static void closed_at_once(void) {
    for (int round = 0; round < 20; round++) {
        tn_queue *queue = tn_queue_new();
        for (uint64_t id = 0; id < 3; id++)
            submit(odd, NULL, NULL, queue, id);
        CHECK_INT(tn_queue_close(queue), TN_OK);
        for (int i = 0; i < 3; i++) {
            tn_event event = next_event(queue);
            CHECK_INT(event.status, TN_E_CANCELLED);
            tn_free(event.result);
        }
        expect_over(queue);
        tn_free(queue);
    }
    /* Every call that reached the server was cancelled there, too. */
    WAIT_FOR(received(mcp, "mute", "\"name\":\"odd\"") == received(mcp, "mute", "notifications/cancelled"));
    cancels = received(mcp, "mute", "notifications/cancelled");
}

static void freed_with_calls_under_way(void) {
    tn_queue *queue = tn_queue_new();
    for (uint64_t id = 0; id < CALLS; id++)
        submit(odd, NULL, NULL, queue, id);
    WAIT_FOR(received(mcp, "mute", "\"name\":\"odd\"") == cancels + CALLS);
    tn_free(queue);
    CHECK_INT(tn_check(queue), TN_E_HANDLE);
    WAIT_FOR(received(mcp, "mute", "notifications/cancelled") == cancels + CALLS);
}

static int processes(void) {
    return count_processes(0);
}

/* A load whose result nobody read: its source ends with the queue. So does one that is still loading. */
static void freed_with_sources_in_it(void) {
    int before = processes();
    config servers = {0};
    for (int i = 0; i < 2; i++) {
        tn_queue *queue = tn_queue_new();
        int fd = tn_queue_fd(queue);
        char byte;
        add_tiny(&servers, "b");
        CHECK_INT(tn_mcp_load_submit(config_text(&servers), NULL, NULL, NULL, queue, 1), TN_OK);
        config_free(&servers);
        WAIT_FOR(read(fd, &byte, 1) == 1);
        CHECK_INT(processes(), before + 1);
        if (i == 0) {
            tn_free(queue);
            WAIT_FOR(processes() == before);
        } else {
            /* A result that was taken is the host's, and holds its source until it is freed. */
            tn_event event = next_done(queue, 1);
            tn_free(queue);
            CHECK_INT(processes(), before + 1);
            tn_free(event.result);
            WAIT_FOR(processes() == before);
        }
        close(fd);
    }
    tn_queue *queue = tn_queue_new();
    add_hostile(&servers, "b", "never-replies");
    CHECK_INT(tn_mcp_load_submit(config_text(&servers), NULL, NULL, NULL, queue, 1), TN_OK);
    config_free(&servers);
    WAIT_FOR(processes() == before + 1);
    tn_free(queue);
    WAIT_FOR(processes() == before);
}

/* A call keeps its source open when nothing else does, and lets go of it when its queue is freed. */
static void a_call_keeps_its_source(void) {
    int before = processes();
    config servers = {0};
    tn_queue *queue = tn_queue_new();
    add_hostile(&servers, "b", "never-answers");
    tn_mcp *source = load_all(&servers);
    tn_tool *tool = find_tool(source, "b_odd");
    submit(tool, NULL, NULL, queue, 1);
    WAIT_FOR(received(source, "b", "\"name\":\"odd\"") == 1);
    tn_free(source);
    expect_nothing(queue);
    CHECK_INT(processes(), before + 1);
    tn_free(queue);
    WAIT_FOR(processes() == before);
    tn_free(tool);
}

int main(void) {
    begin();
    config servers = {0};
    add_hostile(&servers, "mute", "never-answers");
    mcp = load_all(&servers);
    odd = find_tool(mcp, "mute_odd");
    closed();
    closed_at_once();
    freed_with_calls_under_way();
    freed_with_sources_in_it();
    a_call_keeps_its_source();
    tn_free(odd);
    tn_free(mcp);
    finish();
    return 0;
}
