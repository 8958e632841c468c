/* Runs a command, and fails if it leaves a process behind, however that process hides: in a session of its own, with a
 * clean environment, or orphaned on purpose as the guardian is. What is left is named and killed.
 *
 *     leftovers COMMAND [ARGUMENT...]
 *
 * Linux: as a "subreaper" this process, not init, becomes the parent of every orphan among its descendants. */

#define _GNU_SOURCE

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What is ending by itself, such as a guardian whose host has exited, has this long. Nobody waits if nothing is left. */
enum { GRACE_MS = 10000, STEP_MS = 20 };

static bool is_child(const char *pid) {
  char path[300], line[512] = "";
  snprintf(path, sizeof path, "/proc/%s/stat", pid);
  FILE *stat = fopen(path, "r");
  if (stat == NULL) return false;
  bool read = fgets(line, sizeof line, stat) != NULL;
  fclose(stat);
  /* The name in parentheses can hold anything; after the last one: state, parent. */
  const char *rest = read ? strrchr(line, ')') : NULL;
  char state;
  int parent;
  return rest != NULL && sscanf(rest + 1, " %c %d", &state, &parent) == 2 && parent == getpid();
}

static void name_and_kill(const char *pid) {
  char path[300], command[512];
  snprintf(path, sizeof path, "/proc/%s/cmdline", pid);
  FILE *file = fopen(path, "r");
  size_t len = file == NULL ? 0 : fread(command, 1, sizeof command - 1, file);
  if (file != NULL) fclose(file);
  for (size_t i = 0; i < len; i++) {
    if (command[i] == '\0' || command[i] == '\n') command[i] = ' ';
  }
  command[len] = '\0';
  fprintf(stderr, "leftovers: process %s is left: %s\n", pid, command);
  kill(atoi(pid), SIGKILL);
}

/* Orphans of what is killed become children in turn, so this goes on until there are none. */
static void kill_all(void) {
  do {
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc != NULL && (entry = readdir(proc)) != NULL;) {
      if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && is_child(entry->d_name)) name_and_kill(entry->d_name);
    }
    if (proc != NULL) closedir(proc);
  } while (waitpid(-1, NULL, 0) > 0);
}

int main(int argc, char **argv) {
  if (argc < 2 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    fprintf(stderr, "usage: leftovers COMMAND [ARGUMENT...]\n");
    return 2;
  }
  pid_t command = fork();
  if (command == 0) {
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    _exit(127);
  }
  int status = 0;
  /* Orphans that end meanwhile are reaped here too: a test may wait for them to be gone. */
  for (pid_t ended = 0; ended != command;) {
    int one = 0;
    ended = waitpid(-1, &one, 0);
    if (ended == command) status = one;
    if (ended < 0 && errno != EINTR) return 2;
  }
  struct timespec step = {.tv_sec = 0, .tv_nsec = STEP_MS * 1000000L};
  pid_t left = 0;
  for (int ms = 0; ms < GRACE_MS && (left = waitpid(-1, NULL, WNOHANG)) >= 0; ms += STEP_MS) {
    if (left == 0) nanosleep(&step, NULL);
  }
  if (left == 0 && waitpid(-1, NULL, WNOHANG) == 0) {
    kill_all();
    return 1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
