/* A host with SIGPIPE at its default outlives a server that closes its input: the call fails, and says why. */

#include "test.h"

static volatile bool input_closed;

static void on_log(uintptr_t user, int32_t level, const char *target, const char *message) {
    (void)user, (void)level, (void)target;
    if (strstr(message, "stdin is closed"))
        input_closed = true;
}

int main(void) {
    config servers = {0};
    tn_mcp *mcp;
    tn_result *result;
    begin();
    signal(SIGPIPE, SIG_DFL);
    CHECK_INT(tn_log_to_callback(3, on_log, 0, NULL), TN_OK);
    add_hostile(&servers, "deaf", "closes-stdin");
    add_tiny(&servers, "well");
    mcp = load_all(&servers);

    EXPECT(call_tool(mcp, "deaf_odd", NULL, NULL), TN_OK);
    WAIT_FOR(input_closed);
    result = call_tool(mcp, "deaf_odd", NULL, NULL);
    CHECK_STATUS(result, TN_E_TRANSPORT);
    CHECK(tn_result_is_error(result));
    CHECK_HAS(tn_result_output(result, NULL), "closed its input");
    tn_free(result);
    check_echo(mcp, "well");

    tn_free(mcp);
    CHECK_INT(tn_log_to_callback(2, NULL, 0, NULL), TN_OK);
    finish();
    return 0;
}
