/* Plays the client scenarios of the official MCP conformance suite, on the C API alone.
 *
 *   conformance URL     with MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_PROTOCOL_VERSION and MCP_CONFORMANCE_CONTEXT
 *
 * The suite's server at URL judges what it gets. This program exits with 0 if what it asked for went as the scenario
 * says, and complains and exits with 1 if not. tests/conformance/run runs it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "toolnexus.h"

static tn_mcp *mcp;
static tn_tools *tools;

static void stop(const char *what, const char *why) {
  fprintf(stderr, "conformance: %s: %s\n", what, why);
  exit(1);
}

static const char *environment(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

/* The document of a result that has to be a success. */
static json *succeeded(tn_result *result, const char *what) {
  if (tn_result_is_error(result)) stop(what, tn_result_json(result, NULL));
  json *document = json_parse(tn_result_json(result, NULL));
  tn_free(result);
  return document;
}

static json *request(const char *method, const char *params) {
  return succeeded(tn_mcp_request(mcp, "s", method, params, NULL), method);
}

/* {"NAME":"…"} as text, to be given back with free(). */
static char *member(const char *name, const char *value) {
  json_text text = {NULL, 0, 0};
  json_add(&text, "{", 1);
  json_write_string(&text, name, strlen(name));
  json_add(&text, ":", 1);
  json_write_string(&text, value, strlen(value));
  json_add(&text, "}", 1);
  return text.text;
}

/* The document of the tool that the server calls `name`. */
static json *tool_named(const char *name, tn_tool **tool) {
  for (size_t i = 0; (*tool = tn_tools_get(tools, i)) != NULL; i++) {
    json *document = json_parse(tn_tool_json(*tool, NULL));
    const char *original = json_get_text(document, "originalName");
    if (original && strcmp(original, name) == 0) return document;
    json_free(document);
    tn_free(*tool);
  }
  stop(name, "the server has no tool of this name");
  return NULL;
}

static void call(const char *name, const char *arguments) {
  tn_tool *tool;
  json_free(tool_named(name, &tool));
  json_free(succeeded(tn_tool_execute(tool, arguments, NULL), name));
  tn_free(tool);
}

static void call_every_tool(const char *arguments) {
  tn_tool *tool;
  for (size_t i = 0; (tool = tn_tools_get(tools, i)) != NULL; i++) {
    json_free(succeeded(tn_tool_execute(tool, arguments, NULL), tn_tool_name(tool)));
    tn_free(tool);
  }
}

/* -- what servers ask -------------------------------------------------------------------------------------------------- */

/* Accepts each form. Its switches are set to true if they have no default; the other fields are left to the library, which has
 * to fill in their defaults. */
static void on_event(uintptr_t user, const tn_event *event) {
  (void)user;
  if (event->kind == TN_EVENT_REQUEST) {
    json *question = json_parse(tn_result_json(event->result, NULL));
    const json *fields = json_get(json_get(json_get(question, "data"), "schema"), "properties");
    json_text answer = {NULL, 0, 0};
    const char *comma = "";
    json_add(&answer, "{\"ok\":true,\"data\":{", 19);
    for (const json *field = fields ? fields->first : NULL; field; field = field->next) {
      const char *type = json_get_text(field, "type");
      if (!type || strcmp(type, "boolean") != 0 || json_get(field, "default")) continue;
      json_add(&answer, comma, strlen(comma));
      json_write_string(&answer, field->name, strlen(field->name));
      json_add(&answer, ":true", 5);
      comma = ",";
    }
    json_add(&answer, "}}", 2);
    tn_result *taken = tn_answer(event->id, answer.text);
    if (tn_result_is_error(taken)) fprintf(stderr, "conformance: %s\n", tn_result_output(taken, NULL));
    tn_free(taken);
    free(answer.text);
    json_free(question);
  }
  tn_free(event->result);
}

/* -- the scenarios: what each does once the tools are listed ------------------------------------------------------------- */

static void nothing_more(void) {}

static void tools_call(void) {
  call("add_numbers", "{\"a\":5,\"b\":3}");
}

static void elicitation_defaults(void) {
  call("test_client_elicitation_defaults", NULL);
}

static void sse_retry(void) {
  call("test_reconnection", NULL);
}

static void request_state(void) {
  static const char *const names[] = {"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated",
                                      "test_mrtr_no_result_type"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) call(names[i], NULL);
}

/* Lists with `list`, and sends `one` for each of `what` with its `key`. */
static void ask_for_each(const char *list, const char *what, const char *one, const char *key) {
  json *listed = request(list, NULL);
  const json *items = json_get(listed, what);
  for (const json *item = items ? items->first : NULL; item; item = item->next) {
    const char *value = json_get_text(item, key);
    if (!value) stop(list, "an item has no name");
    char *params = member(key, value);
    json_free(request(one, params));
    free(params);
  }
  json_free(listed);
}

static void standard_headers(void) {
  call_every_tool(NULL);
  ask_for_each("resources/list", "resources", "resources/read", "uri");
  ask_for_each("prompts/list", "prompts", "prompts/get", "name");
}

static void custom_headers(void) {
  json *context = json_parse(environment("MCP_CONFORMANCE_CONTEXT"));
  const json *calls = json_get(context, "toolCalls");
  if (!calls || !calls->first) stop("MCP_CONFORMANCE_CONTEXT", "it has no toolCalls");
  for (const json *each = calls->first; each; each = each->next) {
    const json *arguments = json_get(each, "arguments");
    char *text = arguments ? json_print(arguments) : NULL;
    call(json_get_text(each, "name"), text);
    free(text);
  }
  json_free(context);
}

static void invalid_tool_headers(void) {
  call_every_tool("{\"region\":\"us-west1\"}");
}

static void schema_preservation(void) {
  tn_tool *tool;
  json *document = tool_named("json_schema_2020_12_tool", &tool);
  char *schema = json_print(json_get(document, "inputSchema"));
  json_text arguments = {NULL, 0, 0};
  json_add(&arguments, "{\"schema\":", 10);
  json_add(&arguments, schema, strlen(schema));
  json_add(&arguments, "}", 1);
  call("json_schema_echo", arguments.text);
  free(arguments.text);
  free(schema);
  json_free(document);
  tn_free(tool);
}

static void list_skills(void) {
  json_free(request("skills/list", NULL));
}

/* Loads the first skill as a host does: SKILL.md, and if that is what its entry says, the other files. Here it never is. */
static void verify_skill(void) {
  json *listed = request("skills/list", NULL);
  const json *skills = json_get(listed, "skills");
  if (!skills || !skills->first) stop("skills/list", "there is no skill");
  char *entry = json_print(skills->first);
  tn_result *read = tn_mcp_skill_read(mcp, "s", entry, NULL, NULL);
  if (tn_result_status(read) != TN_E_PROTOCOL) {
    const json *files = json_get(skills->first, "resources");
    for (const json *file = files ? files->first : NULL; file; file = file->next)
      tn_free(tn_mcp_skill_read(mcp, "s", entry, json_get_text(file, "uri"), NULL));
    stop("the skill was not refused", tn_result_json(read, NULL));
  }
  printf("%s\n", tn_result_output(read, NULL));
  tn_free(read);
  free(entry);
  json_free(listed);
}

static const struct {
  const char *name;
  void (*play)(void);
} scenarios[] = {
    {"initialize", nothing_more},
    {"tools_call", tools_call},
    {"elicitation-sep1034-client-defaults", elicitation_defaults},
    {"sse-retry", sse_retry},
    {"request-metadata", nothing_more},
    {"sep-2322-client-request-state", request_state},
    {"http-standard-headers", standard_headers},
    {"http-custom-headers", custom_headers},
    {"http-invalid-tool-headers", invalid_tool_headers},
    {"json-schema-ref-no-deref", nothing_more},
    {"json-schema-2020-12-preservation", schema_preservation},
    {"sep-2640-client-no-prefetch", list_skills},
    {"sep-2640-client-verify-digest", verify_skill},
    {"sep-2640-client-verify-size", verify_skill},
    {"sep-2640-client-verify-frontmatter", verify_skill},
};

/* The document of a load says that the server is up. */
static void load(const char *url, tn_queue *events) {
  char *entry = member("url", url);
  json_text config = {NULL, 0, 0};
  json_add(&config, "{\"mcpServers\":{\"s\":", 19);
  json_add(&config, entry, strlen(entry));
  json_add(&config, "}}", 2);
  free(entry);
  /* The suite's server of the skills speaks both eras, and the newer one is what the library would find: for a run of the older
   * one it has to be told. The other servers speak one era, and to find it is a part of the test. */
  bool told = strncmp(environment("MCP_CONFORMANCE_SCENARIO"), "sep-2640-", 9) == 0 &&
              strcmp(environment("MCP_CONFORMANCE_PROTOCOL_VERSION"), "2025-11-25") <= 0;
  char options[128];
  snprintf(options, sizeof options, "{\"sampling\":true,\"roots\":[\"file:///\"],\"lifecycle\":\"%s\"}",
           told ? "initialize" : "auto");
  tn_result *loaded = tn_mcp_load(config.text, options, events, NULL);
  mcp = tn_result_take_mcp(loaded);
  json *document = succeeded(loaded, "load");
  const json *server = json_get(json_get(document, "servers"), "s");
  const char *status = json_get_text(server, "status");
  if (!status || strcmp(status, "connected") != 0) stop("load", json_print(server));
  const char *version = json_get_text(server, "protocolVersion");
  if (!version || strcmp(version, environment("MCP_CONFORMANCE_PROTOCOL_VERSION")) != 0) stop("load, the revision", json_print(server));
  json_free(document);
  free(config.text);
}

int main(int argc, char **argv) {
  if (argc < 2) stop("usage", "conformance URL");
  uint32_t version = tn_abi_version();
  if (version >> 16 != TN_ABI_VERSION >> 16 || version < TN_ABI_VERSION) stop("libtoolnexus", tn_version());
  const char *name = environment("MCP_CONFORMANCE_SCENARIO");
  void (*play)(void) = NULL;
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
    if (strcmp(scenarios[i].name, name) == 0) play = scenarios[i].play;
  if (!play) stop(name, "a scenario that this program does not play");

  tn_queue *events = tn_queue_with_callback(on_event, 0, NULL);
  load(argv[argc - 1], events);
  tools = tn_mcp_tools(mcp);
  play();

  json_free(succeeded(tn_mcp_close(mcp, NULL), "close"));
  tn_free(tools);
  tn_free(mcp);
  tn_free(events);
  tn_result *ended = tn_shutdown(5000);
  if (strcmp(tn_result_json(ended, NULL), "{\"live\":{}}") != 0) stop("at the end", tn_result_json(ended, NULL));
  tn_free(ended);
  return 0;
}
