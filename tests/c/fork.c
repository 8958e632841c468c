/* A host that forks after a load. The child is told at once, by every function, and exits normally; the parent is not
 * disturbed; and nothing that the child holds open keeps a server from meeting its end-of-file.
 * valgrind: no, its own threads do not outlive a fork in an orderly way, and the child is a second report
 * asan: no, in a forked child all that the parent's threads hold looks like a leak */

#include "test.h"

static tn_mcp *mcp;
static tn_tool *echo_tool;
static tn_result *result_of_parent;
static tn_context *context_of_parent;

static void expect_forked(tn_result *result) {
    size_t length = 0;
    CHECK(result != NULL);
    CHECK_INT(tn_result_status(result), TN_E_FORKED);
    CHECK(tn_result_is_error(result));
    CHECK_HAS(tn_result_output(result, &length), "forked");
    CHECK_INT(length, strlen(tn_result_output(result, NULL)));
    CHECK_HAS(tn_result_json(result, &length), "{\"error\":{\"code\":\"forked\"");
    CHECK_INT(length, strlen(tn_result_json(result, NULL)));
    CHECK(tn_result_take_mcp(result) == NULL);
    tn_free(result);
    /* A constant, so that freeing it has no effect. */
    CHECK_INT(tn_result_status(result), TN_E_FORKED);
}

/* What the child does: none of it may wait for what is not there. */
static void in_child(int pipes_before_load) {
    tn_queue *no_queue = NULL;
    size_t length = 7;
    CHECK_INT(count_pipes(), pipes_before_load);
    expect_forked(tn_tool_execute(echo_tool, "{\"text\":\"x\"}", NULL));
    expect_forked(tn_tool_execute(NULL, NULL, NULL));
    expect_forked(tn_mcp_load("{}", NULL, no_queue, NULL));
    expect_forked(tn_mcp_inventory("{}", NULL, NULL));
    expect_forked(tn_mcp_status(mcp));
    expect_forked(tn_mcp_request(mcp, "a", "ping", NULL, NULL));
    expect_forked(tn_mcp_restart(mcp, NULL, NULL));
    expect_forked(tn_mcp_close(mcp, NULL));
    expect_forked(tn_config_parse("{}", NULL));
    expect_forked(tn_shutdown(2 * PATIENCE_MS));
    CHECK_INT(tn_check(mcp), TN_E_FORKED);
    CHECK_INT(tn_context_cancel(context_of_parent), TN_E_FORKED);
    CHECK_INT(tn_context_set_timeout(context_of_parent, 1), TN_E_FORKED);
    CHECK_INT(tn_context_set_deadline(context_of_parent, 1), TN_E_FORKED);
    CHECK_INT(tn_log_to_callback(0, NULL, 0, NULL), TN_E_FORKED);
    CHECK(tn_context_new() == NULL);
    CHECK(tn_mcp_tools(mcp) == NULL);
    CHECK(tn_resource_tools(mcp) == NULL);
    CHECK(tn_tool_name(echo_tool) == NULL);
    CHECK(tn_tool_json(echo_tool, &length) == NULL);
    CHECK_INT(length, 0);
    /* A result of the parent's is out of reach, not an error of memory. */
    CHECK_INT(tn_result_status(result_of_parent), TN_E_FORKED);
    CHECK(tn_result_is_error(result_of_parent));
    CHECK_TEXT(tn_result_output(result_of_parent, &length), "");
    CHECK_INT(length, 0);
    tn_free(mcp);
    tn_free(echo_tool);
    tn_free(result_of_parent);
    tn_free((void *)0x1234);
}

static void load(void) {
    config servers = {0};
    add_tiny(&servers, "a");
    add_hostile(&servers, "b", "ordinary");
    mcp = load_all(&servers);
    echo_tool = find_tool(mcp, "a_echo");
    context_of_parent = tn_context_new();
    result_of_parent = tn_mcp_status(mcp);
    CHECK_STATUS(result_of_parent, TN_OK);
}

static void unload(void) {
    tn_free(echo_tool);
    tn_free(context_of_parent);
    tn_free(result_of_parent);
    tn_free(mcp);
}

static volatile bool stop;

/* Keeps the library's locks busy, one of which the fork will meet taken. */
static void *keep_busy(void *unused) {
    (void)unused;
    while (!stop) {
        EXPECT(tn_tool_execute(echo_tool, "{\"text\":\"x\"}", NULL), TN_OK);
        tn_free(tn_context_new());
    }
    return NULL;
}

static void the_child_is_told_and_the_parent_goes_on(int pipes_before_load) {
    pthread_t busy[2];
    load();
    for (int i = 0; i < 2; i++)
        busy[i] = start_thread(keep_busy, NULL);
    for (int round = 0; round < 20; round++) {
        pid_t child = fork();
        int status;
        CHECK(child >= 0);
        if (child == 0) {
            in_child(pipes_before_load);
            /* Through the exit handlers, the library's own included. */
            exit(7);
        }
        WAIT_FOR(waitpid(child, &status, WNOHANG) == child);
        CHECK(WIFEXITED(status));
        CHECK_INT(WEXITSTATUS(status), 7);
        check_echo(mcp, "b");
    }
    stop = true;
    for (int i = 0; i < 2; i++)
        join_thread(busy[i]);
    unload();
}

/* A server's input ends with the parent's copy of it alone: it leaves by itself, before the first SIGTERM, which comes after a
 * second. */
static int64_t close_beside_an_idle_child(void) {
    int hold[2];
    pid_t child;
    int64_t began, took;
    load();
    CHECK(pipe(hold) == 0);
    child = fork();
    if (child == 0) {
        char byte;
        close(hold[1]);
        _exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(hold[0]);
    began = now_ms();
    EXPECT(tn_mcp_close(mcp, NULL), TN_OK);
    took = now_ms() - began;
    close(hold[1]);
    CHECK_INT(wait_exit(child), 0);
    unload();
    return took;
}

/* Role: a host that forks, and waits to be killed, while its child stays. */
static void host(void) {
    pid_t child;
    load();
    child = fork();
    if (child == 0) {
        for (;;)
            pause();
    }
    printf("%ld\n", (long)child);
    fflush(stdout);
    for (;;)
        pause();
}

/* The guardian meets the end of the host although a child of it lives. */
static void a_child_that_stays_does_not_keep_the_servers(void) {
    int out;
    char line[32] = "";
    pid_t parent = start_role("host", &out), child;
    CHECK(read(out, line, sizeof line - 1) > 0);
    child = (pid_t)atol(line);
    CHECK(child > 0);
    /* Two servers, the guardian, and the host with its child, which are marked as well. */
    WAIT_FOR(count_processes(parent) == 5);
    kill(parent, SIGKILL);
    wait_exit(parent);
    WAIT_FOR(count_processes(parent) == 1);
    CHECK_INT(kill(child, SIGKILL), 0);
    WAIT_FOR(count_processes(parent) == 0);
    close(out);
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1)
        host();
    begin();
    a_child_that_stays_does_not_keep_the_servers();
    the_child_is_told_and_the_parent_goes_on(count_pipes());
    CHECK_WITHIN(900, close_beside_an_idle_child());
    finish();
    return 0;
}
