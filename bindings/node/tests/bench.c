/* The same calls as bench.js from C: of the tool of benches/server.c, FLIGHT at once, through a queue.
 * Prints nanoseconds a call, and how much of that the process itself (with the library's threads) computed. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "toolnexus.h"

static double ns(struct timespec at) { return at.tv_sec * 1e9 + at.tv_nsec; }

static double now(clockid_t clock) {
  struct timespec at;
  clock_gettime(clock, &at);
  return ns(at);
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  long count = atol(argv[2]), flight = atol(argv[3]);
  char config[4096];
  snprintf(config, sizeof config, "{\"mcpServers\":{\"s\":{\"command\":[\"%s\",\"1\"]}}}", argv[1]);
  tn_result *loaded = tn_mcp_load(config, NULL, NULL, NULL);
  tn_mcp *mcp = tn_result_take_mcp(loaded);
  tn_tools *tools = tn_mcp_tools(mcp);
  tn_tool *tool = tn_tools_get(tools, 0);
  tn_queue *queue = tn_queue_new();
  const char *arguments = "{\"size\":100}";
  double wall = 0, computed = 0;
  for (int warm = 1; warm >= 0; warm--) {
    long todo = warm ? count / 10 : count, sent = 0, done = 0;
    wall = now(CLOCK_MONOTONIC), computed = now(CLOCK_PROCESS_CPUTIME_ID);
    while (sent < flight && sent < todo) tn_tool_execute_submit(tool, arguments, NULL, queue, (uint64_t)sent++);
    while (done < todo) {
      tn_event events[64];
      size_t got = 0;
      if (tn_queue_take(queue, events, 64, -1, &got) != TN_OK) return 3;
      for (size_t i = 0; i < got; i++) {
        size_t length = 0;
        tn_result_output(events[i].result, &length);
        if (length != 100) return 4;
        tn_free(events[i].result);
        done++;
        if (sent < todo) tn_tool_execute_submit(tool, arguments, NULL, queue, (uint64_t)sent++);
      }
    }
    wall = now(CLOCK_MONOTONIC) - wall, computed = now(CLOCK_PROCESS_CPUTIME_ID) - computed;
  }
  printf("%.0f %.0f\n", wall / count, computed / count);
  tn_free(queue), tn_free(tool), tn_free(tools), tn_free(mcp), tn_free(loaded);
  tn_free(tn_shutdown(5000));
  return 0;
}
