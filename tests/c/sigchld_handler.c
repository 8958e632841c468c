/* A host with a SIGCHLD handler: its own children are its own, its handler stays, and even one that reaps every child
 * it meets disturbs no server. */

#include "sigchld.h"

static volatile sig_atomic_t calls;
static volatile sig_atomic_t reaping;

static void on_child(int signal_number) {
    int before = errno;
    (void)signal_number;
    calls++;
    while (reaping && waitpid(-1, NULL, WNOHANG) > 0) {
    }
    errno = before;
}

int main(void) {
    struct sigaction action = {0}, now;
    pid_t own;
    begin();
    action.sa_handler = on_child;
    sigaction(SIGCHLD, &action, NULL);

    own = fork();
    if (own == 0) {
        for (;;)
            pause();
    }
    servers_end_and_are_noticed();
    kill(own, SIGTERM);
    CHECK_INT(WTERMSIG(wait_exit(own)), SIGTERM);

    reaping = 1;
    servers_end_and_are_noticed();
    CHECK(calls > 0);
    sigaction(SIGCHLD, NULL, &now);
    CHECK(now.sa_handler == on_child);
    finish();
    return 0;
}
