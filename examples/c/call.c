/* Loads an mcp.json, prints the names of its tools, and calls one.
 *
 *     call CONFIG [TOOL [ARGUMENTS]]      CONFIG: JSON text or a path; ARGUMENTS: a JSON object
 *
 * Exits with 1 if the tool failed, and with 2 if it could not be called at all. */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "toolnexus.h"

enum { WORKED = 0, FAILED = 1, MISUSED = 2 };

static void complain(const tn_result *result) {
  tn_status status = tn_result_status(result);
  /* TN_OK: the tool ran, and reported failure itself. */
  if (status != TN_OK) fprintf(stderr, "%s: ", tn_status_name(status));
  fprintf(stderr, "%s\n", tn_result_output(result, NULL));
}

static void print_names(const tn_tools *tools) {
  for (size_t i = 0; i < tn_tools_len(tools); i++) {
    tn_tool *tool = tn_tools_get(tools, i); /* a reference of its own: given back below */
    puts(tn_tool_name(tool));
    tn_free(tool);
  }
}

static int call(const tn_tools *tools, const char *name, const char *arguments) {
  tn_tool *tool = tn_tools_find(tools, name);
  if (tool == NULL) {
    fprintf(stderr, "there is no tool \"%s\"\n", name);
    return MISUSED;
  }
  tn_result *result = tn_tool_execute(tool, arguments, NULL);
  int code = WORKED;
  if (tn_result_is_error(result)) {
    code = tn_result_status(result) == TN_OK ? FAILED : MISUSED;
    complain(result);
  } else {
    puts(tn_result_output(result, NULL)); /* tn_result_json has all of it: images, structured content, ... */
  }
  tn_free(result);
  tn_free(tool);
  return code;
}

static int run(const char *config, const char *name, const char *arguments) {
  tn_result *loaded = tn_mcp_load(config, NULL, NULL, NULL);
  if (tn_result_is_error(loaded)) {
    complain(loaded);
    tn_free(loaded);
    return MISUSED;
  }
  tn_mcp *mcp = tn_result_take_mcp(loaded);
  tn_free(loaded);
  tn_tools *tools = tn_mcp_tools(mcp);
  print_names(tools);
  int code = name == NULL ? WORKED : call(tools, name, arguments);
  tn_free(tools);
  tn_free(mcp);
  return code;
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 4) {
    fprintf(stderr, "usage: %s CONFIG [TOOL [ARGUMENTS]]\n", argv[0]);
    return MISUSED;
  }
  /* A header newer than the library could name functions that the library does not have. */
  uint32_t version = tn_abi_version();
  if (version >> 16 != TN_ABI_VERSION >> 16 || version < TN_ABI_VERSION) {
    fprintf(stderr, "libtoolnexus %s is not the one that this program was built for\n", tn_version());
    return MISUSED;
  }
  int code = run(argv[1], argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL);

  tn_result *ended = tn_shutdown(5000);
  if (tn_result_is_error(ended) || strcmp(tn_result_json(ended, NULL), "{\"live\":{}}") != 0) {
    fprintf(stderr, "at the end: %s\n", tn_result_json(ended, NULL));
    code = MISUSED;
  }
  tn_free(ended);
  return code;
}
