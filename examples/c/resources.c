/* Lists the resources of an mcp.json's servers, reads one, and shows what the two usual mistakes give.
 *
 *     resources [CONFIG]      CONFIG: JSON text or a path; examples/c/mcp.json if not given */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "toolnexus.h"

/* Connects to the servers of a config. NULL: it could not be read, and the user knows. A server that fails is not fatal:
 * the library logs it to standard error, and tn_mcp_status says more. */
static tn_mcp *load(const char *config) {
  tn_result *loaded = tn_mcp_load(config, NULL, NULL, NULL);
  tn_mcp *mcp = tn_result_take_mcp(loaded);
  if (mcp == NULL) {
    fprintf(stderr, "%s: %s\n", tn_status_name(tn_result_status(loaded)), tn_result_output(loaded, NULL));
  }
  tn_free(loaded);
  return mcp;
}

/* Calls a tool and prints what a model would read, after the status if it is an error. Returns whether it worked. */
static bool call(const tn_tools *tools, const char *name, const char *arguments) {
  tn_tool *tool = tn_tools_find(tools, name);
  /* A tool that was not found is NULL here, and the result says so: no need to look before each step. */
  tn_result *result = tn_tool_execute(tool, arguments, NULL);
  bool failed = tn_result_is_error(result);
  if (failed) printf("%s: ", tn_status_name(tn_result_status(result)));
  size_t len = 0;
  const char *output = tn_result_output(result, &len); /* lives as long as the result */
  fwrite(output, 1, len, stdout);
  putchar('\n');
  tn_free(result);
  tn_free(tool);
  return !failed;
}

/* Ends the library. Returns whether everything was given back. */
static bool finish(void) {
  tn_result *ended = tn_shutdown(5000);
  const char *json = tn_result_json(ended, NULL);
  bool clean = !tn_result_is_error(ended) && strcmp(json, "{\"live\":{}}") == 0;
  if (!clean) fprintf(stderr, "at the end: %s\n", json);
  tn_free(ended);
  return clean;
}

int main(int argc, char **argv) {
  tn_mcp *mcp = load(argc > 1 ? argv[1] : "examples/c/mcp.json");
  bool worked = mcp != NULL;
  if (worked) {
    tn_tools *tools = tn_resource_tools(mcp);
    worked = call(tools, "list_mcp_resources", NULL);
    worked &= call(tools, "read_mcp_resource", "{\"server\":\"progress\",\"uri\":\"fixture://hello\"}");
    /* A server that the config does not have, and a resource that the server does not have. */
    worked &= !call(tools, "read_mcp_resource", "{\"server\":\"nope\",\"uri\":\"fixture://hello\"}");
    worked &= !call(tools, "read_mcp_resource", "{\"server\":\"progress\",\"uri\":\"fixture://nope\"}");
    tn_free(tools);
  }
  tn_free(mcp); /* the last reference: the servers are ended */
  return finish() && worked ? 0 : 1;
}
