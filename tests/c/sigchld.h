/* What the two tests about SIGCHLD have in common: servers that end, crash, are noticed and ended, in a host that
 * treats SIGCHLD in its own way. */

#include "test.h"

static inline void servers_end_and_are_noticed(void) {
    config servers = {0};
    tn_mcp *mcp;
    tn_result *result;
    add_hostile(&servers, "failing", "exit-1-stderr");
    add_hostile(&servers, "crashing", "crash-mid-call");
    add_hostile(&servers, "staying", "wrapper-ignores-eof");
    add_tiny(&servers, "well");
    result = tn_mcp_load(config_text(&servers), "{\"restart\":{\"max\":0}}", NULL, NULL);
    config_free(&servers);
    CHECK_STATUS(result, TN_OK);
    CHECK_HAS(tn_result_json(result, NULL), "\"failing\":{\"status\":\"failed\"");
    CHECK_HAS(tn_result_json(result, NULL), "the server's process ended");
    mcp = tn_result_take_mcp(result);
    tn_free(result);

    result = call_tool(mcp, "crashing_odd", NULL, NULL);
    CHECK_STATUS(result, TN_E_TRANSPORT);
    CHECK_HAS(tn_result_output(result, NULL), "ended");
    tn_free(result);
    check_echo(mcp, "well");
    EXPECT(tn_mcp_close(mcp, NULL), TN_OK);
    expect_nothing_left();
    tn_free(mcp);
}
