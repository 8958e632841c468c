/* A host that exits without giving anything back exits at once, with its own status, and no server is left.
 * valgrind: no, the hosts are programs of their own */

#include "test.h"

static void *call(void *tool) {
    tn_free(tn_tool_execute(tool, NULL, NULL));
    return NULL;
}

static void *leave(void *unused) {
    (void)unused;
    exit(5);
}

static int host(const char *role) {
    config servers = {0};
    add_hostile(&servers, "mute", "never-answers");
    add_hostile(&servers, "stubborn", "ignores-term");
    add_hostile(&servers, "wrapped", "wrapper-ignores-eof");
    add_tiny(&servers, "tiny");
    tn_mcp *mcp = load_all(&servers);
    tn_tool *tool = find_tool(mcp, "mute_odd");
    tn_tools *tools = tn_resource_tools(mcp);
    tn_context *context = tn_context_new();
    CHECK(tools != NULL && context != NULL);
    /* Blocked in a call until the end. */
    start_thread(call, tool);
    puts("loaded");
    fflush(stdout);
    if (strcmp(role, "other thread") == 0) {
        start_thread(leave, NULL);
        for (;;)
            pause();
    }
    if (strcmp(role, "shutdown") == 0)
        /* Half-way through it. */
        tn_shutdown(50);
    return 5;
}

/* How long the exit of a host takes. */
static int64_t check(const char *role) {
    int out;
    pid_t pid = start_role(role, &out);
    expect_line(out, "loaded");
    int64_t began = now_ms();
    int status = wait_exit(pid);
    int64_t ended = now_ms();
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 5);
    while (count_processes(pid) != 0) {
        if (now_ms() - ended > PATIENCE_MS) {
            each_process(pid, show_process);
            FAIL("these outlive a host that returned from main (%s)", role);
        }
        nap();
    }
    close(out);
    return ended - began;
}

int main(int argc, char **argv) {
    if (argc > 1)
        return host(argv[1]);
    /* The polite steps would take three seconds. */
    CHECK_WITHIN(1500, check("main"));
    CHECK_WITHIN(1500, check("other thread"));
    CHECK_WITHIN(1500, check("shutdown"));
    return 0;
}
