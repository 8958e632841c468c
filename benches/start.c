/* From the start of a program to its first byte of output, as the median of several runs.
 *
 *     start TIMES PROGRAM ARGUMENT... */

#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

extern char **environ;

int main(int argc, char **argv) {
    unsigned long times = number(argc, argv, 1);
    if (argc < 3 || !times) fail("usage", "start TIMES PROGRAM ARGUMENT...");
    uint64_t *took = room_for(times * sizeof *took);
    for (unsigned long i = 0; i < times; i++) {
        int out[2];
        char byte;
        pid_t pid;
        posix_spawn_file_actions_t actions;
        if (pipe2(out, O_CLOEXEC)) fail("start", "no pipe");
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, out[1], 1);
        uint64_t began = now_ns();
        if (posix_spawn(&pid, argv[2], &actions, NULL, argv + 2, environ)) fail(argv[2], "cannot be started");
        close(out[1]);
        if (read(out[0], &byte, 1) != 1) fail(argv[2], "wrote nothing");
        took[i] = now_ns() - began;
        close(out[0]);
        waitpid(pid, NULL, 0);
        posix_spawn_file_actions_destroy(&actions);
    }
    print(median(took, times));
    return 0;
}
