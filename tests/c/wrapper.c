/* A wrapper (sh -c, npx, uvx) that starts the server as its child: the whole group ends with the source, with a crash,
 * with a failed start and with a cancelled load, also when the wrapper ended first. */

#include "test.h"

static void a_close_ends_the_group(const char *behaviour, int processes) {
    config servers = {0};
    add_hostile(&servers, "w", behaviour);
    tn_mcp *mcp = load_all(&servers);
    /* And the guardian. */
    WAIT_FOR(count_processes(getpid()) == processes + 1);
    EXPECT(tn_mcp_close(mcp, NULL), TN_OK);
    expect_nothing_left();
    tn_free(mcp);
}

static void a_crash_ends_the_group(const char *behaviour) {
    config servers = {0};
    add_hostile(&servers, "w", behaviour);
    tn_mcp *mcp = load_all(&servers);
    EXPECT(call_tool(mcp, "w_odd", NULL, NULL), TN_E_TRANSPORT);
    WAIT_FOR(count_processes(getpid()) == 0);
    tn_free(mcp);
}

/* A shell that starts a server and leaves: what it left behind is nobody's to talk to. */
static void a_wrapper_that_ends_first_leaves_nothing(void) {
    config servers = {0};
    add_hostile(&servers, "w", "wrapper-ends-first");
    tn_result *result = tn_mcp_load(config_text(&servers), NULL, NULL, NULL);
    CHECK_STATUS(result, TN_OK);
    config_free(&servers);
    tn_mcp *mcp = tn_result_take_mcp(result);
    EXPECT(tn_mcp_close(mcp, NULL), TN_OK);
    expect_nothing_left();
    tn_free(mcp);
    tn_free(result);
}

static void a_failed_start_leaves_nothing(void) {
    config servers = {0};
    add_server(&servers, "w", "hostile-server", "wrapper-ignores-eof --at initialize --era modern",
               ",\"lifecycle\":\"initialize\",\"timeout\":2000");
    tn_result *result = tn_mcp_load(config_text(&servers), NULL, NULL, NULL);
    CHECK_STATUS(result, TN_OK);
    config_free(&servers);
    CHECK_HAS(tn_result_json(result, NULL), "\"w\":{\"status\":\"failed\"");
    WAIT_FOR(count_processes(getpid()) == 0);
    tn_free(result);
}

static void *cancel_when_there(void *context) {
    WAIT_FOR(count_processes(getpid()) > 1);
    CHECK_INT(tn_context_cancel(context), TN_OK);
    return NULL;
}

static void a_cancelled_load_leaves_nothing(void) {
    config servers = {0};
    tn_context *context = tn_context_new();
    add_hostile(&servers, "w", "wrapper-ignores-eof");
    add_hostile(&servers, "mute", "never-replies");
    pthread_t thread = start_thread(cancel_when_there, context);
    EXPECT(tn_mcp_load(config_text(&servers), NULL, NULL, context), TN_E_CANCELLED);
    expect_nothing_left();
    join_thread(thread);
    config_free(&servers);
    tn_free(context);
}

int main(void) {
    begin();
    a_close_ends_the_group("wrapper", 2);
    a_close_ends_the_group("wrapper-ignores-eof", 2);
    a_close_ends_the_group("leaves-grandchild", 2);
    a_close_ends_the_group("grandchild-ignores-term", 2);
    a_crash_ends_the_group("wrapper");
    a_crash_ends_the_group("leaves-grandchild");
    a_crash_ends_the_group("grandchild-ignores-term");
    a_wrapper_that_ends_first_leaves_nothing();
    a_failed_start_leaves_nothing();
    a_cancelled_load_leaves_nothing();
    finish();
    return 0;
}
