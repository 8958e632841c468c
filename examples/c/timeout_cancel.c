/* Time-outs and cancellation, on the fixture's `slow` tool, which takes `durationMs` and reports progress every `intervalMs`.
 *
 *     timeout_cancel [CONFIG]      CONFIG: JSON text or a path; examples/c/mcp.json if not given */

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "toolnexus.h"

/* Calls the tool and prints how it ended. Returns whether it ended as wanted. */
static bool call(const tn_tool *tool, const char *arguments, tn_context *context, tn_status wanted) {
  tn_result *result = tn_tool_execute(tool, arguments, context);
  tn_status status = tn_result_status(result);
  printf("%s: %s\n", tn_status_name(status), tn_result_output(result, NULL));
  tn_free(result);
  return status == wanted;
}

/* Silent for a minute, where half a second of silence is allowed. */
static bool idle_timeout(const tn_tool *tool) {
  tn_context *context = tn_context_new();
  tn_context_set_timeout(context, 500);
  bool worked = call(tool, "{\"durationMs\":60000,\"intervalMs\":0}", context, TN_E_TIMEOUT);
  tn_free(context);
  return worked;
}

/* Takes longer than the time-out, but is never silent for so long: each progress notification starts the time anew. */
static bool kept_alive(const tn_tool *tool) {
  tn_context *context = tn_context_new();
  tn_context_set_timeout(context, 2000);
  tn_context_set_deadline(context, 60000); /* the limit for a tool that reports progress for ever */
  bool worked = call(tool, "{\"durationMs\":3000,\"intervalMs\":100}", context, TN_OK);
  tn_free(context);
  return worked;
}

static void *cancel_soon(void *context) {
  struct timespec soon = {.tv_sec = 0, .tv_nsec = 200 * 1000 * 1000};
  nanosleep(&soon, NULL); /* an impatient user; the cancel counts whether the call has started or not */
  tn_context_cancel(context);
  return NULL;
}

/* The call blocks this thread, so another one cancels it. */
static bool cancelled(const tn_tool *tool) {
  tn_context *context = tn_context_new();
  pthread_t user;
  if (pthread_create(&user, NULL, cancel_soon, context) != 0) {
    fprintf(stderr, "no second thread\n");
    tn_free(context);
    return false;
  }
  bool worked = call(tool, "{\"durationMs\":60000,\"intervalMs\":0}", context, TN_E_CANCELLED);
  pthread_join(user, NULL);
  tn_free(context);
  return worked;
}

static bool run(const char *config) {
  tn_result *loaded = tn_mcp_load(config, NULL, NULL, NULL);
  if (tn_result_is_error(loaded)) {
    fprintf(stderr, "%s: %s\n", tn_status_name(tn_result_status(loaded)), tn_result_output(loaded, NULL));
    tn_free(loaded);
    return false;
  }
  tn_mcp *mcp = tn_result_take_mcp(loaded);
  tn_free(loaded);
  tn_tools *tools = tn_mcp_tools(mcp);
  tn_tool *slow = tn_tools_find(tools, "progress_slow");
  tn_free(tools); /* the tool outlives the list */
  bool worked = idle_timeout(slow) && kept_alive(slow) && cancelled(slow);
  /* The server was told each time, and is as good as before. */
  worked = worked && call(slow, "{\"durationMs\":0}", NULL, TN_OK);
  tn_free(slow);
  tn_free(mcp);
  return worked;
}

int main(int argc, char **argv) {
  bool worked = run(argc > 1 ? argv[1] : "examples/c/mcp.json");
  tn_result *ended = tn_shutdown(5000);
  bool clean = !tn_result_is_error(ended) && strcmp(tn_result_json(ended, NULL), "{\"live\":{}}") == 0;
  if (!clean) fprintf(stderr, "at the end: %s\n", tn_result_json(ended, NULL));
  tn_free(ended);
  return worked && clean ? 0 : 1;
}
