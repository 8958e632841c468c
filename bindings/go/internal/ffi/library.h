// How the functions of the library are reached: linked, or, with the build tag toolnexus_dlopen, found when the program runs.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE // for dladdr
#endif
#include <dlfcn.h>
#include <toolnexus.h>

#ifdef TOOLNEXUS_DLOPEN

#define TN_FUNCTIONS(F) F(tn_abi_version) F(tn_answer) F(tn_config_parse) F(tn_context_cancel) F(tn_context_new) \
	F(tn_context_set_deadline) F(tn_context_set_progress) F(tn_context_set_timeout) F(tn_free) F(tn_log_to_callback) \
	F(tn_log_to_queue) F(tn_mcp_close_submit) F(tn_mcp_inventory_submit) F(tn_mcp_load_submit) F(tn_mcp_request_submit) \
	F(tn_mcp_restart_submit) F(tn_mcp_skill_read_submit) F(tn_mcp_status) F(tn_mcp_tools) F(tn_queue_close) F(tn_queue_fd) F(tn_queue_new) \
	F(tn_queue_take) F(tn_resource_tools) F(tn_result_is_error) F(tn_result_json) F(tn_result_output) F(tn_result_status) \
	F(tn_result_take_mcp) F(tn_result_take_tool) F(tn_result_take_toolkit) F(tn_shutdown) F(tn_status_name) F(tn_tool_create) \
	F(tn_tool_execute_submit) F(tn_tool_json) F(tn_toolkit_close_submit) F(tn_toolkit_create_submit) \
	F(tn_toolkit_execute_submit) F(tn_toolkit_mcp) F(tn_toolkit_register) F(tn_toolkit_tools) F(tn_tools_get) \
	F(tn_tools_json) F(tn_tools_len) F(tn_tools_schema) F(tn_version)

#define TN_MEMBER(name) __typeof__(&name) name;
typedef struct { TN_FUNCTIONS(TN_MEMBER) } tn_library;
extern tn_library tn_loaded;
#define TN(name) (*tn_loaded.name)

#else
#define TN(name) name
#endif
