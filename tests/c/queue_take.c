/* Taking: arguments, times, capacities, many takers of one queue, many queues of one taker. */

#include "queue.h"

enum { TAKERS = 4, CALLS = 2000, QUEUES = 300 };

static tn_tool *echo;

static void arguments(void) {
    tn_queue *queue = tn_queue_new();
    tn_event event;
    size_t count = 7;
    CHECK_INT(tn_queue_take(NULL, &event, 1, 0, &count), TN_E_ARGUMENT);
    CHECK_INT(count, 0);
    CHECK_INT(tn_queue_take(queue, NULL, 1, 0, &count), TN_E_ARGUMENT);
    CHECK_INT(tn_queue_take(queue, &event, 0, 0, &count), TN_E_ARGUMENT);
    CHECK_INT(tn_queue_take(queue, &event, 1, 0, NULL), TN_E_ARGUMENT);
    CHECK_INT(tn_queue_take((tn_queue *)echo, &event, 1, 0, &count), TN_E_HANDLE);
    EXPECT(tn_queue_take_json(NULL, 0), TN_E_ARGUMENT);
    EXPECT(tn_queue_take_json((tn_queue *)echo, 0), TN_E_HANDLE);
    CHECK_INT(tn_queue_fd(NULL), -1);
    CHECK_INT(tn_queue_fd((tn_queue *)echo), -1);
    tn_free(queue);
    CHECK_INT(tn_queue_take(queue, &event, 1, 0, &count), TN_E_HANDLE);
    CHECK_INT(tn_queue_fd(queue), -1);
    EXPECT(tn_queue_take_json(queue, 0), TN_E_HANDLE);
}

static void *submit_late(void *queue) {
    nap();
    submit(echo, "{\"text\":\"late\"}", NULL, queue, 1);
    return NULL;
}

static int64_t take_without_waiting(tn_queue *queue) {
    tn_event event;
    size_t count = 7;
    int64_t began = now_ms();
    CHECK_INT(tn_queue_take(queue, &event, 1, 0, &count), TN_OK);
    CHECK_INT(count, 0);
    return now_ms() - began;
}

static void times(void) {
    tn_queue *queue = tn_queue_new();
    tn_event event;
    size_t count = 7;
    CHECK_WITHIN(50, take_without_waiting(queue));
    int64_t began = now_ms();
    CHECK_INT(tn_queue_take(queue, &event, 1, 30, &count), TN_OK);
    CHECK_INT(count, 0);
    CHECK(now_ms() - began >= 30);
    began = now_ms();
    tn_result *result = tn_queue_take_json(queue, 30);
    CHECK_TEXT(tn_result_json(result, NULL), "[]");
    CHECK(now_ms() - began >= 30);
    tn_free(result);
    /* For ever, and the event comes while it waits; a time that is longer than needed ends with the event, too. */
    for (int round = 0; round < 2; round++) {
        pthread_t thread = start_thread(submit_late, queue);
        CHECK_INT(tn_queue_take(queue, &event, 1, round ? -1 : INT32_MAX, &count), TN_OK);
        CHECK_INT(count, 1);
        CHECK_TEXT(tn_result_output(event.result, NULL), "late");
        tn_free(event.result);
        join_thread(thread);
    }
    tn_free(queue);
}

/* What is there is taken at once, as much as fits, in the order in which it came. */
static void capacities(void) {
    tn_queue *queue = tn_queue_new();
    tn_event events[20];
    size_t count;
    /* Calls that are refused at once: they end in the order of their submits. */
    for (uint64_t id = 0; id < 30; id++)
        submit(NULL, NULL, NULL, queue, id);
    uint64_t next = 0;
    size_t wanted[] = {1, 7, 20, 2, 0};
    for (int i = 0; i < 5; i++) {
        CHECK_INT(tn_queue_take(queue, events, i == 1 ? 7 : i ? 20 : 1, 0, &count), TN_OK);
        CHECK_INT(count, wanted[i]);
        for (size_t j = 0; j < count; j++) {
            CHECK_INT(events[j].id, next++);
            tn_free(events[j].result);
        }
    }
    CHECK_INT(next, 30);
    tn_free(queue);
}

static int seen[CALLS];

static void *take_until_over(void *queue) {
    tn_event events[5];
    size_t count;
    tn_status status;
    while ((status = tn_queue_take(queue, events, 5, -1, &count)) == TN_OK)
        for (size_t i = 0; i < count; i++) {
            CHECK_STATUS(events[i].result, TN_OK);
            __atomic_add_fetch(&seen[events[i].id], 1, __ATOMIC_SEQ_CST);
            tn_free(events[i].result);
        }
    CHECK_INT(status, TN_E_CLOSED);
    return NULL;
}

static void many_takers(void) {
    tn_queue *queue = tn_queue_new();
    pthread_t takers[TAKERS];
    for (int i = 0; i < TAKERS; i++)
        takers[i] = start_thread(take_until_over, queue);
    for (uint64_t id = 0; id < CALLS; id++)
        submit(echo, "{\"text\":\"x\"}", NULL, queue, id);
    for (int id = 0; id < CALLS; id++)
        WAIT_FOR(__atomic_load_n(&seen[id], __ATOMIC_SEQ_CST));
    CHECK_INT(tn_queue_close(queue), TN_OK);
    for (int i = 0; i < TAKERS; i++)
        join_thread(takers[i]);
    for (int id = 0; id < CALLS; id++)
        CHECK_INT(seen[id], 1);
    tn_free(queue);
}

/* Takers that wait, or come later and find a bad reference. */
static void *take_freed(void *queue) {
    tn_event event;
    size_t count;
    tn_status status = tn_queue_take(queue, &event, 1, -1, &count);
    CHECK(status == TN_E_CLOSED || status == TN_E_HANDLE);
    return NULL;
}

static void freed_while_taken(void) {
    for (int round = 0; round < 50; round++) {
        tn_queue *queue = tn_queue_new();
        pthread_t takers[2] = {start_thread(take_freed, queue), start_thread(take_freed, queue)};
        tn_free(queue);
        join_thread(takers[0]);
        join_thread(takers[1]);
    }
}

static void many_queues(void) {
    static tn_queue *queues[QUEUES];
    for (int i = 0; i < QUEUES; i++)
        queues[i] = tn_queue_new();
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < QUEUES; i++)
            submit(echo, "{\"text\":\"x\"}", NULL, queues[i], (uint64_t)(round * QUEUES + i));
    for (int i = QUEUES; i-- > 0;) {
        for (int round = 0; round < 3; round++)
            expect_done(queues[i], (uint64_t)(round * QUEUES + i), TN_OK);
        expect_nothing(queues[i]);
        tn_free(queues[i]);
    }
}

int main(void) {
    begin();
    config servers = {0};
    add_tiny(&servers, "a");
    tn_mcp *mcp = load_all(&servers);
    echo = find_tool(mcp, "a_echo");
    arguments();
    times();
    capacities();
    many_takers();
    freed_while_taken();
    many_queues();
    tn_free(echo);
    tn_free(mcp);
    finish();
    return 0;
}
