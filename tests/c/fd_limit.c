/* The limit of open files is reached: the servers that it hits fail, each with a reason that names it, and the others
 * work; once it is raised, all work.
 * valgrind: no, it keeps descriptors of its own near the limit */

#include "test.h"

#include <sys/resource.h>

static void limit_fds(rlim_t limit) {
    struct rlimit limits;
    CHECK(getrlimit(RLIMIT_NOFILE, &limits) == 0);
    limits.rlim_cur = limit;
    CHECK(setrlimit(RLIMIT_NOFILE, &limits) == 0);
}

/* The limit at which so many more can be opened, whatever numbers the host's open ones have. */
static rlim_t limit_with_room_for(int room) {
    rlim_t limit = 0;
    for (int fd = 0; room > 0; fd++, limit++)
        room -= fcntl(fd, F_GETFD) < 0;
    return limit;
}

static void ten(config *servers) {
    char name[32];
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "server%d", i);
        add_tiny(servers, name);
    }
}

int main(void) {
    struct rlimit before;
    config servers = {0};
    begin();
    CHECK_INT(tn_log_to_callback(0, NULL, 0, NULL), TN_OK);
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);

    /* No room for the threads' own descriptors. */
    limit_fds(limit_with_room_for(1) - 1);
    ten(&servers);
    tn_result *result = tn_mcp_load(config_text(&servers), NULL, NULL, NULL);
    config_free(&servers);
    CHECK_STATUS(result, TN_E_INTERNAL);
    CHECK_HAS(tn_result_output(result, NULL), "open files");
    tn_free(result);

    /* Room for some servers. */
    limit_fds(limit_with_room_for(24));
    ten(&servers);
    result = tn_mcp_load(config_text(&servers), NULL, NULL, NULL);
    config_free(&servers);
    CHECK_STATUS(result, TN_OK);
    CHECK_HAS(tn_result_json(result, NULL), "\"status\":\"connected\"");
    CHECK_HAS(tn_result_json(result, NULL), "\"status\":\"failed\",\"phase\":\"start\"");
    CHECK_HAS(tn_result_json(result, NULL), "too many open files (its limit is ");
    tn_mcp *mcp = tn_result_take_mcp(result);
    tn_free(result);
    tn_tools *tools = tn_mcp_tools(mcp);
    CHECK(tn_tools_len(tools) >= 3);
    tn_tool *tool = tn_tools_get(tools, 0);
    EXPECT(tn_tool_execute(tool, "{\"text\":\"hello\"}", NULL), TN_OK);
    tn_free(tool);
    tn_free(tools);
    EXPECT(tn_mcp_close(mcp, NULL), TN_OK);
    tn_free(mcp);
    expect_nothing_left();

    limit_fds(before.rlim_cur);
    ten(&servers);
    mcp = load_all(&servers);
    check_echo(mcp, "server9");
    tn_free(mcp);
    finish();
    return 0;
}
