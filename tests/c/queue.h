/* What the tests of queues share. */

#ifndef TN_TEST_QUEUE_H
#define TN_TEST_QUEUE_H

#include "test.h"

/* The next event, which must come. */
static inline tn_event next_event(tn_queue *queue) {
    tn_event event = {0};
    size_t count = 7;
    CHECK_INT(tn_queue_take(queue, &event, 1, PATIENCE_MS, &count), TN_OK);
    if (count != 1)
        FAIL("no event came");
    CHECK(event.result != NULL);
    CHECK_INT(tn_result_status(event.result), event.status);
    return event;
}

/* The next event, which must be the end of the call `id`. */
static inline tn_event next_done(tn_queue *queue, uint64_t id) {
    tn_event event = next_event(queue);
    CHECK_INT(event.kind, TN_EVENT_DONE);
    CHECK(event.id == id);
    return event;
}

static inline void expect_done(tn_queue *queue, uint64_t id, tn_status status) {
    tn_event event = next_done(queue, id);
    CHECK_STATUS(event.result, status);
    CHECK(status == TN_OK || tn_result_is_error(event.result));
    tn_free(event.result);
}

static inline void expect_nothing(tn_queue *queue) {
    tn_event event;
    size_t count = 7;
    CHECK_INT(tn_queue_take(queue, &event, 1, 0, &count), TN_OK);
    CHECK_INT(count, 0);
}

static inline void expect_over(tn_queue *queue) {
    tn_event event;
    size_t count = 7;
    CHECK_INT(tn_queue_take(queue, &event, 1, -1, &count), TN_E_CLOSED);
    CHECK_INT(count, 0);
}

static inline void submit(const tn_tool *tool, const char *arguments, tn_context *context, tn_queue *queue, uint64_t id) {
    CHECK_INT(tn_tool_execute_submit(tool, arguments, context, queue, id), TN_OK);
}

/* How many lines with `part` the hostile server `server` has received. */
static inline int received(const tn_mcp *mcp, const char *server, const char *part) {
    char name[96];
    int count = 0;
    snprintf(name, sizeof name, "%s_received", server);
    tn_result *result = call_tool(mcp, name, NULL, NULL);
    CHECK_STATUS(result, TN_OK);
    for (const char *at = tn_result_output(result, NULL); (at = strstr(at, part)); at++)
        count++;
    tn_free(result);
    return count;
}

#endif
