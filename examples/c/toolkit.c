/* A tool of the program's own beside those of MCP servers, and all of them as three providers of models want them.
 *
 *   toolkit CONFIG      CONFIG: an mcp.json, as text or as a path, with the fixture as its server `progress`
 *
 * A thread serves the calls of the program's own tool: they are answered while main waits in a call. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "toolnexus.h"

static const char *const SPEC =
    "{\"name\":\"add\",\"description\":\"Adds two whole numbers.\",\"inputSchema\":{\"type\":\"object\","
    "\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"integer\"}},\"required\":[\"a\",\"b\"]},"
    "\"hints\":{\"readOnly\":true}}";

static void die(const char *what) {
  fprintf(stderr, "toolkit: %s\n", what);
  exit(1);
}

/* The number behind "name": in a document. A real program uses its JSON library. */
static long number(const char *json, const char *name) {
  const char *found = strstr(json, name);
  return found ? strtol(found + strlen(name), NULL, 10) : 0;
}

/* Answers the calls of `add` until the queue is closed. */
static void *serve(void *calls) {
  tn_event event;
  size_t count = 0;
  while (tn_queue_take(calls, &event, 1, -1, &count) == TN_OK) {
    if (event.kind == TN_EVENT_CALL) { /* {"id":1,"tool":"add","arguments":{"a":1,"b":2}} */
      const char *json = tn_result_json(event.result, NULL);
      char answer[64];
      snprintf(answer, sizeof answer, "{\"output\":\"%ld\"}", number(json, "\"a\":") + number(json, "\"b\":"));
      tn_result *answered = tn_answer(event.id, answer);
      if (tn_result_is_error(answered)) fprintf(stderr, "toolkit: %s\n", tn_result_output(answered, NULL));
      tn_free(answered);
    }
    tn_free(event.result);
  }
  return NULL;
}

static void execute(tn_toolkit *toolkit, const char *name, const char *arguments) {
  tn_result *result = tn_toolkit_execute(toolkit, name, arguments, NULL);
  printf("%s: %s\n", name, tn_result_output(result, NULL));
  tn_free(result);
}

static void print_schema(const tn_tools *tools, const char *provider) {
  tn_result *schema = tn_tools_schema(tools, provider);
  printf("%s: %s\n", provider, tn_result_json(schema, NULL));
  tn_free(schema);
}

int main(int argc, char **argv) {
  if (argc != 2) die("usage: toolkit CONFIG");
  /* In the options the config is an object, or a string with its path. */
  const char *quote = argv[1][0] == '{' ? "" : "\"";
  const char *form = "{\"mcpConfig\":%s%s%s,\"disableTools\":[\"progress_slow\",\"progress_fail\"]}";
  size_t size = strlen(form) + strlen(argv[1]) + 1;
  char *options = malloc(size);
  if (!options) die("no memory");
  snprintf(options, size, form, quote, argv[1], quote);
  tn_result *result = tn_toolkit_create(options, NULL, NULL);
  free(options);
  tn_toolkit *toolkit = tn_result_take_toolkit(result);
  if (!toolkit) die(tn_result_output(result, NULL));
  tn_free(result);

  tn_queue *calls = tn_queue_new();
  result = tn_tool_create(SPEC, calls);
  tn_tool *add = tn_result_take_tool(result);
  if (!add) die(tn_result_output(result, NULL));
  tn_free(result);
  result = tn_toolkit_register(toolkit, add);
  printf("%s\n", tn_result_json(result, NULL));
  tn_free(result);
  tn_free(add);

  pthread_t server;
  if (pthread_create(&server, NULL, serve, calls) != 0) die("no thread");
  execute(toolkit, "progress_echo", "{\"text\":\"hello\"}");
  execute(toolkit, "add", "{\"a\":1,\"b\":2}");
  execute(toolkit, "subtract", "{\"a\":1,\"b\":2}");
  tn_tools *tools = tn_toolkit_tools(toolkit);
  print_schema(tools, "openai");
  print_schema(tools, "anthropic");
  print_schema(tools, "gemini");

  tn_queue_close(calls);
  pthread_join(server, NULL);
  tn_free(calls);
  tn_free(tools);
  tn_free(toolkit); /* its servers end in the background; the shutdown waits for them */
  result = tn_shutdown(10000);
  printf("left: %s\n", tn_result_json(result, NULL));
  int clean = strcmp(tn_result_json(result, NULL), "{\"live\":{}}") == 0;
  tn_free(result);
  return clean ? 0 : 1;
}
