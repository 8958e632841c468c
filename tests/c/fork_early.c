/* A host that forks when it has made a queue and nothing that runs: the child is told all the same, and its copy of the
 * queue's socket does not hide the end-of-file from the parent.
 * valgrind: no, the forked child is a second report
 * asan: no, in a forked child all that the parent's threads hold looks like a leak */

#include "test.h"

#include <sys/wait.h>

int main(void) {
    begin();
    tn_queue *queue = tn_queue_new();
    int fd = tn_queue_fd(queue), hold[2];
    CHECK(fd >= 0 && pipe(hold) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char byte;
        int right = tn_check(queue) == TN_E_FORKED && tn_queue_close(queue) == TN_E_FORKED &&
                    tn_log_to_callback(0, NULL, 0, NULL) == TN_E_FORKED && tn_context_new() == NULL;
        close(hold[1]);
        /* The host's end is the host's; the library's was closed. */
        close(fd);
        while (read(hold[0], &byte, 1) > 0)
            continue;
        _exit(right ? 0 : 7);
    }
    close(hold[0]);
    tn_free(queue);
    char byte;
    /* The child closes its copies before it does anything else, and may not have run yet. */
    WAIT_FOR(read(fd, &byte, 1) == 0);
    close(hold[1]);
    CHECK_INT(wait_exit(child), 0);
    close(fd);
    finish();
    return 0;
}
