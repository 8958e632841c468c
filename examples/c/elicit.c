/* A server asks, the program answers: elicitation with a callback queue.
 *
 *   elicit CONFIG     CONFIG: an mcp.json, as text or as a path, with tests/servers/rmcp_server.rs as its server `greeter`
 *
 * The tool greeter_confirm asks for a name before it answers. Here it is called twice: the first time the person gives a
 * name, the second time the person declines. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "toolnexus.h"

static void die(const char *what) {
  fprintf(stderr, "elicit: %s\n", what);
  exit(1);
}

/* A string of a JSON object, quotes included. It stands for your JSON library. */
static const char *text_of(const char *json, const char *name, int *length) {
  char key[32];
  snprintf(key, sizeof key, "\"%s\":\"", name);
  const char *start = strstr(json, key);
  *length = 0;
  if (!start) return "";
  start += strlen(key) - 1;
  const char *end = start + 1;
  while (*end && *end != '"') end += *end == '\\' && end[1] ? 2 : 1;
  *length = (int)(end - start) + (*end == '"');
  return start;
}

/* What the person says, in their order. A real program shows the form and gives the answer later, from any thread:
 * the callback must not wait for people. */
typedef struct person {
  const char *says[2];
  int asked;
} person;

static void on_event(uintptr_t user, const tn_event *event) {
  person *visitor = (person *)user;
  const char *json = tn_result_json(event->result, NULL);
  if (event->kind == TN_EVENT_REQUEST) {
    int server_length, kind_length, prompt_length;
    const char *server = text_of(json, "server", &server_length);
    const char *kind = text_of(json, "kind", &kind_length);
    const char *prompt = text_of(json, "prompt", &prompt_length);
    printf("server %.*s asks (%.*s): %.*s\n", server_length, server, kind_length, kind, prompt_length, prompt);
    /* An answer that does not fit the form is refused, and the question stays open. */
    tn_result *refused = tn_answer(event->id, "{\"ok\":true,\"data\":{\"name\":7}}");
    printf("  7: %s\n", tn_result_output(refused, NULL));
    tn_free(refused);
    const char *answer = visitor->says[visitor->asked++ % 2];
    printf("  %s\n", answer); /* Before it is given: the call may end at once. */
    tn_result *taken = tn_answer(event->id, answer);
    if (tn_result_is_error(taken)) printf("  %s\n", tn_result_output(taken, NULL));
    tn_free(taken);
  } else if (event->kind == TN_EVENT_CANCEL) {
    printf("  question %llu is no longer wanted\n", (unsigned long long)event->id);
  }
  tn_free(event->result); /* Notices and events that we do not know are passed over. */
}

int main(int argc, char **argv) {
  if (argc != 2) die("usage: elicit CONFIG");
  person visitor = {{"{\"ok\":true,\"data\":{\"name\":\"Ada\"}}", "{\"ok\":false,\"reason\":\"declined\"}"}, 0};
  tn_queue *events = tn_queue_with_callback(on_event, (uintptr_t)&visitor, NULL);
  if (!events) die("no queue");

  /* Servers are told of elicitation because there is somebody who hears them. */
  tn_result *result = tn_mcp_load(argv[1], NULL, events, NULL);
  tn_mcp *mcp = tn_result_take_mcp(result);
  if (!mcp) die(tn_result_output(result, NULL));
  tn_free(result);
  tn_tools *tools = tn_mcp_tools(mcp);
  tn_tool *confirm = tn_tools_find(tools, "greeter_confirm");
  if (!confirm) die("there is no tool greeter_confirm");

  int failed = 0;
  for (int i = 0; i < 2; i++) {
    result = tn_tool_execute(confirm, NULL, NULL); /* The callback answers meanwhile, on its own thread. */
    printf("%s\n", tn_result_output(result, NULL));
    failed |= tn_result_is_error(result);
    tn_free(result);
  }

  tn_free(confirm);
  tn_free(tools);
  tn_free(mcp);
  tn_free(events);
  result = tn_shutdown(10000);
  printf("left: %s\n", tn_result_json(result, NULL));
  int clean = strcmp(tn_result_json(result, NULL), "{\"live\":{}}") == 0;
  tn_free(result);
  return clean && !failed && visitor.asked == 2 ? 0 : 1;
}
