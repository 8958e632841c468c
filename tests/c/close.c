/* Closing 32 servers takes as long as the slowest one of them, not as long as all together. */

#include "test.h"

static int64_t time_to_close(int count, const char *behaviour) {
    config servers = {0};
    char name[32];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "server%d", i);
        add_hostile(&servers, name, behaviour);
    }
    tn_mcp *mcp = load_all(&servers);
    int64_t began = now_ms();
    EXPECT(tn_mcp_close(mcp, NULL), TN_OK);
    int64_t took = now_ms() - began;
    expect_nothing_left();
    /* Again: no effect, and no wait. */
    EXPECT(tn_mcp_close(mcp, NULL), TN_OK);
    tn_free(mcp);
    return took;
}

/* A deadline ends the waiting, not the closing. */
static void a_deadline_ends_the_waiting(void) {
    config servers = {0};
    tn_context *context = tn_context_new();
    add_hostile(&servers, "a", "ignores-eof");
    tn_mcp *mcp = load_all(&servers);
    CHECK_INT(tn_context_set_deadline(context, 50), TN_OK);
    EXPECT(tn_mcp_close(mcp, context), TN_E_TIMEOUT);
    EXPECT(call_tool(mcp, "a_echo", "{\"text\":\"\"}", NULL), TN_E_CLOSED);
    EXPECT(tn_mcp_close(mcp, NULL), TN_OK);
    expect_nothing_left();
    tn_free(context);
    tn_free(mcp);
}

int main(void) {
    begin();
    int64_t one = time_to_close(1, "ignores-term");
    CHECK_WITHIN(4 * one, time_to_close(32, "ignores-term"));
    /* Those that end by themselves are not kept waiting for the steps. */
    CHECK_WITHIN(one / 3, time_to_close(32, "ordinary"));
    a_deadline_ends_the_waiting();
    finish();
    return 0;
}
