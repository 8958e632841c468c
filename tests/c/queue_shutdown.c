/* tn_shutdown with queues open, calls under way, takers that wait and callbacks at work: every call ends, once; what was in the
 * queues can be read; nothing more goes in. */

#include "queue.h"

enum { CALLS = 20 };

static int ended, dropped;

static void on_event(uintptr_t user, const tn_event *event) {
    (void)user;
    CHECK_INT(event->status, TN_E_CLOSED);
    tn_free(event->result);
    __atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
}

static void on_drop(uintptr_t user) {
    (void)user;
    __atomic_add_fetch(&dropped, 1, __ATOMIC_SEQ_CST);
}

static void *take_all(void *queue) {
    tn_event event;
    size_t count, sum = 0;
    tn_status status;
    while ((status = tn_queue_take(queue, &event, 1, -1, &count)) == TN_OK) {
        CHECK_INT(event.status, TN_E_CLOSED);
        tn_free(event.result);
        sum += count;
    }
    CHECK_INT(status, TN_E_CLOSED);
    return (void *)sum;
}

static void with_calls_under_way(void) {
    config servers = {0};
    add_hostile(&servers, "mute", "never-answers");
    tn_mcp *mcp = load_all(&servers);
    tn_tool *odd = find_tool(mcp, "mute_odd");
    tn_queue *taken = tn_queue_new(), *unread = tn_queue_new(), *empty = tn_queue_new();
    tn_queue *called = tn_queue_with_callback(on_event, 0, on_drop);
    int fd = tn_queue_fd(unread);
    char byte;
    for (uint64_t id = 0; id < CALLS; id++) {
        submit(odd, NULL, NULL, taken, id);
        submit(odd, NULL, NULL, unread, id);
        submit(odd, NULL, NULL, called, id);
    }
    pthread_t taker = start_thread(take_all, taken);
    WAIT_FOR(received(mcp, "mute", "\"name\":\"odd\"") == 3 * CALLS);
    tn_result *result = tn_shutdown(PATIENCE_MS);
    CHECK_STATUS(result, TN_OK);
    CHECK_HAS(tn_result_json(result, NULL), "\"queue\":4");
    tn_free(result);
    CHECK_INT((size_t)join_thread(taker), CALLS);
    CHECK_INT(ended, CALLS);
    CHECK_INT(dropped, 1);
    WAIT_FOR(count_threads() == 1);
    expect_nothing_left();
    CHECK_INT(read(fd, &byte, 1), 1);
    for (uint64_t id = 0; id < CALLS; id++) {
        tn_event event = next_event(unread);
        CHECK_INT(event.status, TN_E_CLOSED);
        tn_free(event.result);
    }
    CHECK_INT(read(fd, &byte, 1), 0);
    expect_over(unread);
    expect_over(empty);
    CHECK_INT(tn_tool_execute_submit(odd, NULL, NULL, empty, 1), TN_E_CLOSED);
    close(fd);
    tn_free(taken);
    tn_free(unread);
    tn_free(empty);
    tn_free(called);
    tn_free(odd);
    tn_free(mcp);
}

/* Calls that wait for the host's answer, whichever of the two queues ends first. */
static void with_calls_of_host_tools(void) {
    tn_queue *queues[2] = {tn_queue_new(), tn_queue_new()};
    for (int i = 0; i < 2; i++) {
        tn_result *made = tn_tool_create("{\"name\":\"a\"}", queues[i]);
        tn_tool *tool = tn_result_take_tool(made);
        submit(tool, NULL, NULL, queues[1 - i], 7);
        tn_event call = next_event(queues[i]);
        CHECK_INT(call.kind, TN_EVENT_CALL);
        tn_free(call.result);
        tn_free(tool);
        tn_free(made);
    }
    tn_free(tn_shutdown(PATIENCE_MS));
    for (int i = 0; i < 2; i++) {
        expect_done(queues[i], 7, TN_E_CLOSED);
        expect_over(queues[i]);
        tn_free(queues[i]);
    }
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static int running;

static void on_event_held(uintptr_t user, const tn_event *event) {
    (void)user;
    tn_free(event->result);
    __atomic_store_n(&running, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
}

/* A callback that does not return: told as a time-out, and waited for by the next shutdown. */
static void with_a_callback_that_blocks(void) {
    tn_queue *queue = tn_queue_with_callback(on_event_held, 0, on_drop);
    pthread_mutex_lock(&held);
    submit(NULL, NULL, NULL, queue, 1);
    WAIT_FOR(__atomic_load_n(&running, __ATOMIC_SEQ_CST));
    EXPECT(tn_shutdown(50), TN_E_TIMEOUT);
    EXPECT(tn_shutdown(50), TN_E_TIMEOUT);
    CHECK_INT(dropped, 1);
    pthread_mutex_unlock(&held);
    EXPECT(tn_shutdown(PATIENCE_MS), TN_OK);
    CHECK_INT(dropped, 2);
    tn_free(queue);
}

static volatile bool stop;
static uint64_t submitted, completed;

/* Submits without a pause, over shutdowns. */
static void *submit_and_take(void *unused) {
    (void)unused;
    while (!stop) {
        config servers = {0};
        tn_queue *queue = tn_queue_new();
        uint64_t here = 0;
        add_tiny(&servers, "a");
        for (int i = 0; i < 3; i++)
            here += tn_mcp_load_submit(config_text(&servers), NULL, NULL, NULL, queue, 1) == TN_OK;
        config_free(&servers);
        tn_queue_close(queue);
        tn_event event;
        size_t count;
        __atomic_add_fetch(&submitted, here, __ATOMIC_SEQ_CST);
        while (tn_queue_take(queue, &event, 1, PATIENCE_MS, &count) == TN_OK) {
            CHECK_INT(count, 1);
            tn_free(event.result);
            __atomic_add_fetch(&completed, 1, __ATOMIC_SEQ_CST);
        }
        tn_free(queue);
    }
    return NULL;
}

static void with_submits_at_the_same_time(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = start_thread(submit_and_take, NULL);
    for (int i = 0; i < 20; i++) {
        tn_result *result = tn_shutdown(PATIENCE_MS);
        CHECK_STATUS(result, TN_OK);
        tn_free(result);
    }
    stop = true;
    for (int i = 0; i < 3; i++)
        join_thread(threads[i]);
    CHECK_INT(completed, submitted);
}

int main(void) {
    begin();
    with_calls_under_way();
    finish();
    with_calls_of_host_tools();
    finish();
    with_a_callback_that_blocks();
    finish();
    with_submits_at_the_same_time();
    finish();
    return 0;
}
