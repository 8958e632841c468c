/* A fork with calls in flight, takers that wait and a callback at work: the child is told, and holds no socket open; the
 * parent's calls end as if nothing had happened.
 * valgrind: no, its own threads do not outlive a fork in an orderly way, and the child is a second report */

#include "queue.h"

static tn_mcp *mcp;
static tn_tool *echo, *slow, *odd;
static tn_queue *queue, *called;
static int calls;

static void on_event(uintptr_t user, const tn_event *event) {
    (void)user;
    tn_free(event->result);
    __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
}

static void expect_forked(tn_result *result) {
    CHECK_INT(tn_result_status(result), TN_E_FORKED);
    CHECK(tn_result_is_error(result));
    tn_free(result);
}

static void in_child(void) {
    tn_event event;
    size_t count = 7;
    CHECK_INT(tn_tool_execute_submit(echo, NULL, NULL, queue, 1), TN_E_FORKED);
    CHECK_INT(tn_tool_execute_submit(NULL, NULL, NULL, NULL, 1), TN_E_FORKED);
    CHECK_INT(tn_mcp_load_submit("{}", NULL, NULL, NULL, queue, 1), TN_E_FORKED);
    CHECK_INT(tn_mcp_inventory_submit("{}", NULL, NULL, queue, 1), TN_E_FORKED);
    CHECK_INT(tn_mcp_request_submit(mcp, "a", "ping", NULL, NULL, queue, 1), TN_E_FORKED);
    CHECK_INT(tn_mcp_restart_submit(mcp, NULL, NULL, queue, 1), TN_E_FORKED);
    CHECK_INT(tn_mcp_close_submit(mcp, NULL, queue, 1), TN_E_FORKED);
    CHECK_INT(tn_toolkit_create_submit(NULL, NULL, NULL, queue, 1), TN_E_FORKED);
    CHECK_INT(tn_toolkit_execute_submit(NULL, "x", NULL, NULL, queue, 1), TN_E_FORKED);
    CHECK_INT(tn_toolkit_close_submit(NULL, NULL, queue, 1), TN_E_FORKED);
    CHECK_INT(tn_queue_take(queue, &event, 1, -1, &count), TN_E_FORKED);
    CHECK_INT(tn_queue_close(queue), TN_E_FORKED);
    CHECK_INT(tn_queue_fd(queue), -1);
    CHECK_INT(tn_log_to_queue(5, queue), TN_E_FORKED);
    CHECK_INT(tn_context_set_progress(NULL, queue, 1), TN_E_FORKED);
    CHECK(tn_queue_new() == NULL);
    CHECK(tn_queue_with_callback(on_event, 0, NULL) == NULL);
    expect_forked(tn_queue_take_json(queue, -1));
    expect_forked(tn_answer(1, "{}"));
    tn_free(queue);
    tn_free(called);
}

static volatile bool stop;

static void *keep_busy(void *unused) {
    (void)unused;
    while (!stop) {
        tn_queue *own = tn_queue_new();
        submit(echo, "{\"text\":\"x\"}", NULL, own, 1);
        submit(NULL, NULL, NULL, called, 1);
        expect_done(own, 1, TN_OK);
        tn_free(own);
    }
    return NULL;
}

static void calls_in_flight(void) {
    pthread_t busy[2] = {start_thread(keep_busy, NULL), start_thread(keep_busy, NULL)};
    for (int round = 0; round < 20; round++) {
        for (uint64_t id = 0; id < 10; id++)
            submit(slow, "{\"durationMs\":20}", NULL, queue, id);
        pid_t child = fork();
        int status;
        CHECK(child >= 0);
        if (child == 0) {
            in_child();
            exit(7);
        }
        uint64_t seen = 0;
        for (int i = 0; i < 10; i++) {
            tn_event event = next_event(queue);
            CHECK_STATUS(event.result, TN_OK);
            seen |= 1u << event.id;
            tn_free(event.result);
        }
        CHECK_INT(seen, 1023);
        WAIT_FOR(waitpid(child, &status, WNOHANG) == child);
        CHECK(WIFEXITED(status));
        CHECK_INT(WEXITSTATUS(status), 7);
    }
    stop = true;
    join_thread(busy[0]);
    join_thread(busy[1]);
    CHECK(__atomic_load_n(&calls, __ATOMIC_SEQ_CST) > 0);
}

/* The end-of-file of a queue's socket comes although a child of the host lives on. */
static void a_child_holds_no_socket(void) {
    int hold[2], fd = tn_queue_fd(queue);
    char byte;
    pid_t child;
    CHECK(pipe2(hold, O_CLOEXEC) == 0);
    child = fork();
    if (child == 0) {
        close(hold[1]);
        _exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(hold[0]);
    tn_free(queue);
    /* The child closes its copies before it does anything else, and may not have run yet. */
    WAIT_FOR(read(fd, &byte, 1) == 0);
    close(hold[1]);
    CHECK_INT(wait_exit(child), 0);
    close(fd);
}

int main(void) {
    begin();
    config servers = {0};
    add_tiny(&servers, "a");
    add_hostile(&servers, "mute", "never-answers");
    mcp = load_all(&servers);
    echo = find_tool(mcp, "a_echo");
    slow = find_tool(mcp, "a_slow");
    odd = find_tool(mcp, "mute_odd");
    queue = tn_queue_new();
    called = tn_queue_with_callback(on_event, 0, NULL);
    calls_in_flight();
    a_child_holds_no_socket();
    tn_free(called);
    tn_free(echo);
    tn_free(slow);
    tn_free(odd);
    tn_free(mcp);
    finish();
    return 0;
}
