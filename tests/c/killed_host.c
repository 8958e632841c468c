/* A host that is killed takes its servers along within a second: those of a wrapper, those that ignore the end of
 * their input, those that ignore SIGTERM, and the guardian.
 * valgrind: no, the hosts are programs of their own */

#include "test.h"

static const char *const SERVERS[] = {
    "ordinary", "wrapper", "wrapper-ignores-eof", "ignores-eof", "ignores-term", "leaves-grandchild",
    "grandchild-ignores-term",
};
enum { COUNT = sizeof SERVERS / sizeof *SERVERS };

/* Role: loads, tells so, and waits. */
static int host(const char *role) {
    config servers = {0};
    for (int i = 0; i < COUNT; i++)
        add_hostile(&servers, SERVERS[i], SERVERS[i]);
    add_tiny(&servers, "tiny");
    tn_mcp *mcp = load_all(&servers);
    /* Each server, the children of the four that have one, and the guardian. */
    WAIT_FOR(count_processes(getpid()) == COUNT + 1 + 4 + 1);
    puts(mcp ? "loaded" : "failed");
    fflush(stdout);
    if (strcmp(role, "abort") == 0)
        abort();
    if (strcmp(role, "end") == 0)
        _exit(3);
    for (;;)
        pause();
}

/* How long what a host leaves outlives it. */
static int64_t check(const char *role, int expected) {
    int out;
    pid_t pid = start_role(role, &out);
    expect_line(out, "loaded");
    if (strcmp(role, "wait") == 0)
        kill(pid, SIGKILL);
    int status = wait_exit(pid);
    int64_t ended = now_ms();
    CHECK_INT(WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status), expected);
    while (count_processes(pid) != 0) {
        if (now_ms() - ended > PATIENCE_MS) {
            each_process(pid, show_process);
            FAIL("these outlive a host that ended by %s", role);
        }
        nap();
    }
    close(out);
    return now_ms() - ended;
}

int main(int argc, char **argv) {
    if (argc > 1)
        return host(argv[1]);
    CHECK_WITHIN(1000, check("wait", -SIGKILL));
    CHECK_WITHIN(1000, check("abort", -SIGABRT));
    CHECK_WITHIN(1000, check("end", 3));
    return 0;
}
