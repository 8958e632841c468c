/* Runs the shared cases, tests/cases/cases.json, through the C ABI: the model for every language's runner.
 *
 *   cases [FILE [NAME]]     all cases of the file, or the one of that name
 *
 * TOOLNEXUS_TINY and TOOLNEXUS_HOSTILE are the paths of the two example servers; without them they are looked for in
 * TN_TEST_SERVERS. TOOLNEXUS_REMOTE is the URL of the remote one: tools/with-remote sets it. One line for each case that fails,
 * then "N passed, N failed". What a case may say: tests/cases/README.md. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include "json.h"
#include "toolnexus.h"

#define WAIT_MS 60000

/* What one case works with. */
typedef struct {
  const json *spec;
  tn_mcp *mcp;
  tn_toolkit *toolkit; /* only with a tool of the host */
  tn_tools *resources; /* the resource tools, once a step has added them */
  tn_tool *last;       /* the tool of the last call */
  tn_queue *done;      /* where submitted calls complete */
  tn_context *started; /* of the call that a `start` step has begun */
  tn_queue *events;    /* requests of the servers, calls of the host's tool */
  pthread_t host;      /* serves `events` */
  const json *answer;  /* the next of the case's answers; the host's alone */
  int step;
  char failure[1024]; /* the first one; empty while there is none */
} run;

static void fail(run *run, const char *format, ...) {
  va_list values;
  size_t at;
  if (run->failure[0]) return;
  at = (size_t)snprintf(run->failure, sizeof run->failure, run->step ? "step %d: " : "", run->step);
  va_start(values, format);
  vsnprintf(run->failure + at, sizeof run->failure - at, format, values);
  va_end(values);
}

/* Fails at a word that this runner does not know. Words have a blank before and behind. */
static void only(run *run, const json *object, const char *words) {
  const char *word = json_unknown(object, words);
  if (word) fail(run, "this runner does not know \"%s\"", word);
}

/* The text of a config or of arguments, to be given back with free(): as it is, or as JSON. NULL if there is none. */
static char *text_of(const json *value) {
  if (!value) return NULL;
  return value->kind == JSON_STRING ? strdup(value->text) : json_print(value);
}

static void holds(run *run, const char *what, const char *document, const json *part) {
  json *whole = json_parse(document ? document : "null");
  if (!json_holds(whole, part)) {
    char *wanted = json_print(part);
    fail(run, "%s is %.400s, expected to hold %.300s", what, document ? document : "NULL", wanted);
    free(wanted);
  }
  json_free(whole);
}

/* -- the host's side ------------------------------------------------------------------------------------------------- */

static void answer(run *run, uint64_t id, const char *text) {
  tn_result *answered = tn_answer(id, text);
  if (tn_result_is_error(answered)) fprintf(stderr, "cases: an answer: %s\n", tn_result_output(answered, NULL));
  tn_free(answered);
  (void)run;
}

/* Does what the case's tool of the host does: `upper` gives `text` in capitals, `fail` reports failure. */
static void answer_call(run *run, const tn_event *event) {
  const char *does = json_get_text(json_get(run->spec, "hostTool"), "does");
  json *call = json_parse(tn_result_json(event->result, NULL));
  const json *text = json_get(json_get(call, "arguments"), "text");
  json_text made = {NULL, 0, 0};
  json_add(&made, "{\"output\":", 10);
  if (strcmp(does, "upper") == 0 && text) {
    for (size_t i = 0; i < text->length; i++)
      if (text->text[i] >= 'a' && text->text[i] <= 'z') text->text[i] = (char)(text->text[i] - 32);
    json_write_string(&made, text->text, text->length);
    json_add(&made, "}", 1);
  } else {
    const char *failed = "\"it does not want to\",\"isError\":true}";
    json_add(&made, failed, strlen(failed));
  }
  answer(run, event->id, made.text);
  free(made.text);
  json_free(call);
}

/* Answers what arrives until the queue is closed. */
static void *serve(void *argument) {
  run *run = argument;
  tn_event event;
  size_t count = 0;
  while (tn_queue_take(run->events, &event, 1, -1, &count) == TN_OK) {
    if (event.kind == TN_EVENT_CALL) answer_call(run, &event);
    if (event.kind == TN_EVENT_REQUEST) {
      char *text = run->answer ? json_print(run->answer) : strdup("{\"ok\":false,\"reason\":\"cancelled\"}");
      if (run->answer) run->answer = run->answer->next;
      answer(run, event.id, text);
      free(text);
    }
    tn_free(event.result);
  }
  return NULL;
}

/* -- calls ----------------------------------------------------------------------------------------------------------- */

/* The tool of a name: of the toolkit, of the servers, or one of the two for resources. */
static tn_tool *find(run *run, const char *name) {
  tn_tool *tool;
  tn_tools *tools = run->toolkit ? tn_toolkit_tools(run->toolkit) : tn_mcp_tools(run->mcp);
  tool = tn_tools_find(tools, name);
  if (!tool) tool = tn_tools_find(run->resources, name);
  tn_free(tools);
  return tool;
}

static void check_result(run *run, const tn_result *result, const json *expect) {
  const char *status = json_get_text(expect, "status");
  const json *wanted = json_get(expect, "isError");
  size_t length = 0;
  const char *output = tn_result_output(result, &length), *got = tn_status_name(tn_result_status(result));
  bool error = wanted ? wanted->kind == JSON_TRUE : status && strcmp(status, "TN_OK") != 0;
  only(run, expect, " status isError output outputHas outputLength parts structured document serverError ");
  if (strcmp(got, status ? status : "TN_OK") != 0)
    fail(run, "the status is %s, expected %s; the output is %.300s", got, status ? status : "TN_OK", output);
  if (tn_result_is_error(result) != error)
    fail(run, "the error flag is %d; the output is %.300s", tn_result_is_error(result), output);
  if ((wanted = json_get(expect, "output")) && (wanted->length != length || memcmp(wanted->text, output, length) != 0))
    fail(run, "the output is %.300s, expected %.300s", output, wanted->text);
  if ((wanted = json_get(expect, "outputHas")))
    for (const json *part = wanted->first; part; part = part->next)
      if (!memmem(output, length, part->text, part->length)) fail(run, "the output lacks %s: %.300s", part->text, output);
  if (json_get_number(expect, "outputLength", (long)length) != (long)length)
    fail(run, "the output has %zu bytes", length);
  json *document = json_parse(tn_result_json(result, NULL));
  static const char *const members[] = {"parts", "structured"};
  for (int i = 0; i < 2; i++) {
    const json *member = json_get(document, members[i]);
    char *text = member ? json_print(member) : NULL;
    if ((wanted = json_get(expect, members[i]))) holds(run, members[i], text, wanted);
    free(text);
  }
  if ((wanted = json_get(expect, "document"))) holds(run, "the document", tn_result_json(result, NULL), wanted);
  if ((wanted = json_get(expect, "serverError")) &&
      !json_holds(json_get(json_get(json_get(document, "error"), "data"), "code"), wanted))
    fail(run, "the server's error is not %s: %.300s", wanted->text, tn_result_json(result, NULL));
  json_free(document);
}

/* Submits the call of a step. */
static void submit(run *run, const json *step, const char *name, tn_context *context, uint64_t id) {
  const json *raw = json_get(step, "text");
  char *arguments = text_of(raw ? raw : json_get(step, "arguments"));
  tn_status status;
  if (json_get(step, "through"))
    status = tn_toolkit_execute_submit(run->toolkit, name, arguments, context, run->done, id);
  else
    status = tn_tool_execute_submit(run->last, arguments, context, run->done, id);
  if (status != TN_OK) fail(run, "submit gives %s", tn_status_name(status));
  free(arguments);
}

/* Waits for one submitted call. NULL if it does not come. */
static tn_result *take(run *run) {
  tn_event event;
  size_t count = 0;
  if (tn_queue_take(run->done, &event, 1, WAIT_MS, &count) == TN_OK && count == 1) return event.result;
  fail(run, "a call does not end");
  return NULL;
}

/* Waits until the server has the call: its tool `received` tells what came in. */
static void wait_for_server(run *run, const char *name) {
  char other[64], quoted[64];
  const int server = (int)strcspn(name, "_");
  bool there = false;
  snprintf(other, sizeof other, "%.*s_received", server, name);
  snprintf(quoted, sizeof quoted, "\"%s\"", name + server + 1);
  tn_tool *received = find(run, other);
  for (int i = 0; received && !there && i < 1000; i++) {
    tn_result *lines = tn_tool_execute(received, NULL, NULL);
    there = strstr(tn_result_output(lines, NULL), quoted) != NULL;
    tn_free(lines);
  }
  if (!there) fail(run, "the server does not get the call");
  tn_free(received);
}

static void call(run *run, const json *step, const char *name, bool await) {
  const char *cancel = json_get_text(step, "cancel"), *through = json_get_text(step, "through");
  long times = json_get_number(step, "times", 1);
  tn_context *context = tn_context_new();
  only(run, step, " call start expect arguments text timeoutMs deadlineMs cancel times through ");
  if (through && strcmp(through, "toolkit") != 0) fail(run, "this runner does not know \"%s\"", through);
  tn_context_set_timeout(context, (uint32_t)json_get_number(step, "timeoutMs", 0));
  tn_context_set_deadline(context, (uint32_t)json_get_number(step, "deadlineMs", 0));
  if (!through) {
    tn_free(run->last);
    run->last = find(run, name);
    if (!run->last) fail(run, "there is no tool %s", name);
  }
  if (cancel && strcmp(cancel, "before") == 0) tn_context_cancel(context);
  for (long i = 0; i < times && !run->failure[0]; i++) submit(run, step, name, context, (uint64_t)i);
  if (cancel && strcmp(cancel, "during") == 0) {
    wait_for_server(run, name);
    tn_context_cancel(context);
  }
  for (long i = 0; await && i < times && !run->failure[0]; i++) {
    tn_result *result = take(run);
    if (result) check_result(run, result, json_get(step, "expect"));
    tn_free(result);
  }
  if (cancel && strcmp(cancel, "after") == 0) tn_context_cancel(context);
  else if (cancel && strcmp(cancel, "before") != 0 && strcmp(cancel, "during") != 0)
    fail(run, "this runner does not know \"%s\"", cancel);
  if (await) {
    tn_free(context);
  } else {
    tn_free(run->started);
    run->started = context;
  }
}

/* -- steps ----------------------------------------------------------------------------------------------------------- */

static void check_names(run *run, const json *names) {
  tn_tools *tools = tn_mcp_tools(run->mcp);
  size_t count = 0;
  for (const json *name = names->first; name; name = name->next, count++) {
    tn_tool *tool = tn_tools_get(tools, count);
    if (!tool || strcmp(tn_tool_name(tool), name->text) != 0)
      fail(run, "tool %zu is %s, expected %s", count, tool ? tn_tool_name(tool) : "missing", name->text);
    tn_free(tool);
  }
  if (tn_tools_len(tools) != count) fail(run, "there are %zu tools, expected %zu", tn_tools_len(tools), count);
  tn_free(tools);
}

static void check_tool(run *run, const json *step) {
  tn_tool *tool = find(run, json_get_text(step, "tool"));
  only(run, step, " tool document ");
  holds(run, "the tool", tn_tool_json(tool, NULL), json_get(step, "document"));
  tn_free(tool);
}

static void check_schema(run *run, const json *step) {
  tn_tools *tools = tn_mcp_tools(run->mcp);
  tn_result *schema = tn_tools_schema(tools, json_get_text(step, "schema"));
  const char *text = tn_result_json(schema, NULL);
  only(run, step, " schema contains ");
  for (const json *part = json_get(step, "contains")->first; part; part = part->next)
    if (!strstr(text, part->text)) fail(run, "the schema lacks %s: %.400s", part->text, text);
  tn_free(schema);
  tn_free(tools);
}

static void request(run *run, const json *step) {
  char *params = text_of(json_get(step, "params"));
  only(run, step, " request server params expect ");
  tn_result *result =
      tn_mcp_request(run->mcp, json_get_text(step, "server"), json_get_text(step, "request"), params, NULL);
  check_result(run, result, json_get(step, "expect"));
  tn_free(result);
  free(params);
}

static void take_inventory(run *run, const json *expect) {
  char *config = text_of(json_get(run->spec, "config")), *options = text_of(json_get(run->spec, "options"));
  tn_result *result = tn_mcp_inventory(config, options, NULL);
  holds(run, "the inventory", tn_result_json(result, NULL), expect);
  tn_free(result);
  free(options);
  free(config);
}

static void close_source(run *run) {
  tn_result *closed = run->toolkit ? tn_toolkit_close(run->toolkit, NULL) : tn_mcp_close(run->mcp, NULL);
  if (tn_result_is_error(closed)) fail(run, "close gives %s", tn_result_output(closed, NULL));
  tn_free(closed);
}

/* Frees the tool of the last call. What is left is no reference any more. */
static void free_tool(run *run) {
  tn_tool *tool = run->last;
  run->last = NULL;
  tn_free(tool);
  tn_result *result = tn_tool_execute(tool, NULL, NULL);
  if (tn_result_status(result) != TN_E_HANDLE) fail(run, "%s", tn_status_name(tn_result_status(result)));
  tn_free(result);
}

static void await(run *run, const json *step) {
  tn_result *result = take(run);
  only(run, step, " await expect ");
  if (result) check_result(run, result, json_get(step, "expect"));
  tn_free(result);
}

static void do_step(run *run, const json *step) {
  const json *what = step->first;
  if (json_get(step, "call")) call(run, step, json_get_text(step, "call"), true);
  else if (json_get(step, "start")) call(run, step, json_get_text(step, "start"), false);
  else if (json_get(step, "await")) await(run, step);
  else if (json_get(step, "tool")) check_tool(run, step);
  else if (json_get(step, "schema")) check_schema(run, step);
  else if (json_get(step, "request")) request(run, step);
  else if (!what || what->next) fail(run, "this runner does not know a step that begins with \"%s\"", what ? what->name : "");
  else if (strcmp(what->name, "tools") == 0) check_names(run, what);
  else if (strcmp(what->name, "status") == 0) {
    tn_result *status = tn_mcp_status(run->mcp);
    holds(run, "the status", tn_result_json(status, NULL), what);
    tn_free(status);
  } else if (strcmp(what->name, "inventory") == 0) take_inventory(run, what);
  else if (strcmp(what->name, "resourceTools") == 0) run->resources = tn_resource_tools(run->mcp);
  else if (strcmp(what->name, "close") == 0) close_source(run);
  else if (strcmp(what->name, "free") == 0 && strcmp(what->text, "tool") == 0) free_tool(run);
  else fail(run, "this runner does not know \"%s\"", what->name);
}

/* -- cases ----------------------------------------------------------------------------------------------------------- */

/* Checks what came of a load or a parse, but for `status` against its document. */
static void check_load(run *run, const tn_result *result) {
  const json *expect = json_get(run->spec, "load");
  const char *wanted = json_get_text(expect, "status"), *got = tn_status_name(tn_result_status(result));
  if (strcmp(got, wanted ? wanted : "TN_OK") != 0)
    fail(run, "the load gives %s: %.300s", got, tn_result_output(result, NULL));
  if (expect && !wanted) holds(run, "the load", tn_result_json(result, NULL), expect);
}

/* Loads the config: with a tool of the host through a toolkit, which is then asked for its source. */
static void load(run *run) {
  const json *tool = json_get(run->spec, "hostTool");
  char *config = text_of(json_get(run->spec, "config")), *options = text_of(json_get(run->spec, "options"));
  tn_queue *events = run->answer ? run->events : NULL;
  tn_result *result;
  if (tool) {
    json_text both = {NULL, 0, 0};
    only(run, tool, " name description inputSchema does ");
    json_add(&both, "{\"mcpConfig\":", 13);
    json_add(&both, config, strlen(config));
    json_add(&both, ",\"mcpOptions\":", 14);
    json_add(&both, options ? options : "{}", options ? strlen(options) : 2);
    json_add(&both, "}", 1);
    result = tn_toolkit_create(both.text, events, NULL);
    run->toolkit = tn_result_take_toolkit(result);
    run->mcp = tn_toolkit_mcp(run->toolkit);
    free(both.text);
  } else {
    result = tn_mcp_load(config, options, events, NULL);
    run->mcp = tn_result_take_mcp(result);
  }
  check_load(run, result);
  tn_free(result);
  free(options);
  free(config);
}

static void register_tool(run *run, const json *tool) {
  const char *does = json_get_text(tool, "does");
  json_text spec = {NULL, 0, 0};
  if (!does || (strcmp(does, "upper") != 0 && strcmp(does, "fail") != 0)) fail(run, "this runner does not know \"%s\"", does);
  /* All but the last member, `does`, is the tool's spec. */
  for (const json *member = tool->first; member; member = member->next) {
    if (strcmp(member->name, "does") == 0) continue;
    json_add(&spec, spec.length ? "," : "{", 1);
    json_write_string(&spec, member->name, strlen(member->name));
    json_add(&spec, ":", 1);
    json_write(&spec, member);
  }
  json_add(&spec, "}", 1);
  tn_result *made = tn_tool_create(spec.text, run->events);
  tn_tool *created = tn_result_take_tool(made);
  tn_result *registered = tn_toolkit_register(run->toolkit, created);
  if (!created || tn_result_is_error(registered))
    fail(run, "the tool: %s %s", tn_result_output(made, NULL), tn_result_output(registered, NULL));
  tn_free(registered);
  tn_free(created);
  tn_free(made);
  free(spec.text);
}

static void run_case(run *run) {
  const json *tool = json_get(run->spec, "hostTool"), *parse = json_get(run->spec, "parse");
  only(run, run->spec, " name parse config options answers hostTool load steps ");
  if (parse) {
    char *config = text_of(parse), *options = text_of(json_get(run->spec, "options"));
    tn_result *result = tn_config_parse(config, options);
    check_load(run, result);
    tn_free(result);
    free(options);
    free(config);
    return;
  }
  const json *answers = json_get(run->spec, "answers");
  run->answer = answers ? answers->first : NULL;
  run->done = tn_queue_new();
  run->events = tn_queue_new();
  if (pthread_create(&run->host, NULL, serve, run) != 0) json_stop("no thread", NULL);
  load(run);
  if (tool && run->toolkit) register_tool(run, tool);
  for (const json *step = json_get(run->spec, "steps")->first; step && !run->failure[0]; step = step->next) {
    run->step++;
    do_step(run, step);
  }
  run->step = 0;
  if (run->mcp) close_source(run);
  tn_queue_close(run->events);
  pthread_join(run->host, NULL);
  tn_free(run->last), tn_free(run->started), tn_free(run->resources), tn_free(run->mcp), tn_free(run->toolkit);
  tn_free(run->done), tn_free(run->events);
}

/* The path of an example server: of the variable, or among the tests' servers. */
static const char *server(const char *variable, const char *name, char *space, size_t size) {
  const char *folder = getenv("TN_TEST_SERVERS");
  if (getenv(variable)) return getenv(variable);
  if (!folder) json_stop("not set", variable);
  snprintf(space, size, "%s/%s", folder, name);
  return space;
}

int main(int argc, char **argv) {
  char tiny[4096], hostile[4096];
  const char *remote = getenv("TOOLNEXUS_REMOTE");
  int passed = 0, failed = 0;
  if (!remote) json_stop("not set", "TOOLNEXUS_REMOTE");
  json *cases = json_read_file(argc > 1 ? argv[1] : "tests/cases/cases.json");
  json_fill_in(cases, server("TOOLNEXUS_TINY", "tiny-server", tiny, sizeof tiny),
               server("TOOLNEXUS_HOSTILE", "hostile-server", hostile, sizeof hostile), remote);
  for (const json *spec = cases->first; spec; spec = spec->next) {
    run run = {.spec = spec};
    if (argc > 2 && strcmp(argv[2], json_get_text(spec, "name")) != 0) continue;
    run_case(&run);
    tn_result *ended = tn_shutdown(WAIT_MS);
    if (strcmp(tn_result_json(ended, NULL), "{\"live\":{}}") != 0)
      fail(&run, "at the end there is still %s", tn_result_json(ended, NULL));
    tn_free(ended);
    if (run.failure[0]) printf("FAILED %s: %s\n", json_get_text(spec, "name"), run.failure);
    if (run.failure[0]) failed++;
    else passed++;
  }
  json_free(cases);
  printf("%d passed, %d failed\n", passed, failed);
  return failed > 0 || passed == 0;
}
