/* One thread, a hundred calls in flight: a queue's socket in an epoll loop.
 *
 *   epoll CONFIG      CONFIG: an mcp.json, as text or as a path, with the fixture as its server `progress`
 *
 * Ninety-nine calls of `slow` end by themselves; one is cancelled while it runs. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "toolnexus.h"

enum { CALLS = 100, CANCELLED = 42 };

static void die(const char *what) {
  fprintf(stderr, "epoll: %s\n", what);
  exit(1);
}

/* Counts what one event says. Returns how many calls it ended. */
static int on_event(const tn_event *event, int *done, int *cancelled) {
  int ended = 0;
  if (event->kind == TN_EVENT_DONE) {
    ended = 1;
    if (event->status == TN_E_CANCELLED && event->id == CANCELLED) ++*cancelled;
    else if (!tn_result_is_error(event->result)) ++*done;
    else fprintf(stderr, "call %llu: %s\n", (unsigned long long)event->id, tn_result_output(event->result, NULL));
  }
  tn_free(event->result);
  return ended;
}

/* Takes until the queue is empty. */
static int drain(tn_queue *queue, int *done, int *cancelled) {
  tn_event events[16];
  size_t count = 0;
  int ended = 0;
  do {
    if (tn_queue_take(queue, events, 16, 0, &count) != TN_OK) die("the queue is closed");
    for (size_t i = 0; i < count; i++) ended += on_event(&events[i], done, cancelled);
  } while (count == 16);
  return ended;
}

int main(int argc, char **argv) {
  if (argc != 2) die("usage: epoll CONFIG");
  tn_result *result = tn_mcp_load(argv[1], NULL, NULL, NULL);
  tn_mcp *mcp = tn_result_take_mcp(result);
  if (!mcp) die(tn_result_output(result, NULL));
  tn_free(result);
  tn_tools *tools = tn_mcp_tools(mcp);
  tn_tool *slow = tn_tools_find(tools, "progress_slow");
  if (!slow) die("there is no tool progress_slow");

  tn_queue *queue = tn_queue_new();
  int fd = tn_queue_fd(queue);
  int loop = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event watch = {.events = EPOLLIN, .data = {.fd = fd}};
  if (fd < 0 || loop < 0 || epoll_ctl(loop, EPOLL_CTL_ADD, fd, &watch) != 0) die("epoll");

  tn_context *impatient = tn_context_new();
  for (uint64_t id = 0; id < CALLS; id++) {
    const char *arguments = id == CANCELLED ? "{\"durationMs\":60000}" : "{\"durationMs\":50,\"intervalMs\":0}";
    if (tn_tool_execute_submit(slow, arguments, id == CANCELLED ? impatient : NULL, queue, id) != TN_OK) die("submit");
  }

  int ended = 0, done = 0, cancelled = 0;
  while (ended < CALLS) {
    struct epoll_event ready;
    int woken = epoll_wait(loop, &ready, 1, 30000);
    if (woken == 0) die("nothing came for 30 seconds");
    /* The end of a child process may interrupt it. */
    if (woken < 0 && errno != EINTR) die("epoll_wait");
    char bytes[64];
    while (read(fd, bytes, sizeof bytes) > 0) continue;
    ended += drain(queue, &done, &cancelled);
    if (ended == CALLS - 1) tn_context_cancel(impatient);
  }
  printf("%d done, %d cancelled\n", done, cancelled);

  close(loop);
  close(fd);
  tn_free(queue);
  tn_free(impatient);
  tn_free(slow);
  tn_free(tools);
  tn_free(mcp);
  result = tn_shutdown(10000);
  printf("left: %s\n", tn_result_json(result, NULL));
  int clean = strcmp(tn_result_json(result, NULL), "{\"live\":{}}") == 0;
  tn_free(result);
  return clean && done == CALLS - 1 && cancelled == 1 ? 0 : 1;
}
