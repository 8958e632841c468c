/* 200 servers, of which half never answer: the load takes about one time-out, not a hundred, and then everything is as it was.
 * valgrind: no, it looks at memory and starts 400 processes */

#include "test.h"

#include <malloc.h>
#include <sys/resource.h>

/* 200 servers need some 800 descriptors. */
static void raise_fd_limit(void) {
    struct rlimit limits;
    CHECK(getrlimit(RLIMIT_NOFILE, &limits) == 0);
    if (limits.rlim_cur < limits.rlim_max && limits.rlim_cur < 4096)
        limits.rlim_cur = limits.rlim_max < 4096 ? limits.rlim_max : 4096;
    CHECK(setrlimit(RLIMIT_NOFILE, &limits) == 0);
}

/* Bytes that are allocated and not freed. What the process holds beyond them is the allocator's own business. */
static size_t allocated(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

enum { SERVERS = 200, TIMEOUT = 4000 };

static int count_of(const char *text, const char *part) {
    int count = 0;
    for (text = strstr(text, part); text; text = strstr(text + 1, part))
        count++;
    return count;
}

static void load_and_close(int threads) {
    config servers = {0};
    char name[32], members[32], patient[32];
    snprintf(patient, sizeof patient, ",\"timeout\":%d", PATIENCE_MS);
    snprintf(members, sizeof members, ",\"timeout\":%d", TIMEOUT);
    for (int i = 0; i < SERVERS; i++) {
        snprintf(name, sizeof name, "server%d", i);
        if (i % 2)
            add_server(&servers, name, "hostile-server", "never-replies", members);
        else
            add_server(&servers, name, "tiny-server", "", patient);
    }
    int64_t began = now_ms();
    tn_result *result = tn_mcp_load(config_text(&servers), NULL, NULL, NULL);
    int64_t took = now_ms() - began;
    config_free(&servers);
    CHECK_STATUS(result, TN_OK);
    CHECK_INT(count_of(tn_result_json(result, NULL), "\"status\":\"connected\""), SERVERS / 2);
    CHECK_INT(count_of(tn_result_json(result, NULL), "\"status\":\"failed\""), SERVERS / 2);
    CHECK_HAS(tn_result_json(result, NULL), "\"phase\":\"initialize\"");
    CHECK(took >= TIMEOUT);
    CHECK(took < SERVERS / 10 * TIMEOUT);
    WAIT_FOR(count_threads() == threads);
    tn_mcp *mcp = tn_result_take_mcp(result);
    tn_free(result);
    check_echo(mcp, "server0");
    check_echo(mcp, "server198");
    EXPECT(tn_mcp_close(mcp, NULL), TN_OK);
    expect_nothing_left();
    tn_free(mcp);
}

int main(void) {
    begin();
    raise_fd_limit();
    CHECK_INT(tn_log_to_callback(0, NULL, 0, NULL), TN_OK);
    config servers = {0};
    add_tiny(&servers, "a");
    tn_mcp *mcp = load_all(&servers);
    tn_free(tn_mcp_close(mcp, NULL));
    tn_free(mcp);
    int fds = count_fds(), threads = count_threads();

    load_and_close(threads);
    CHECK_INT(count_fds(), fds);
    /* A leak grows with every round, the allocator's own reserves do not. Less than one leaked buffer a server. */
    size_t before, after;
    int rounds = 0;
    do {
        before = allocated();
        load_and_close(threads);
        CHECK_INT(count_fds(), fds);
        after = allocated();
    } while (after > before + SERVERS * 1024 && ++rounds < 4);
    if (rounds == 4)
        FAIL("memory in use grew in each round, at last from %zu to %zu bytes", before, after);
    finish();
    return 0;
}
