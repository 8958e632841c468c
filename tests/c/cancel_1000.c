/* A thousand calls in flight, all cancelled: each ends as cancelled, the server gets each cancellation, and the next
 * call works. */

#include "test.h"

enum { MOST = 1000, LEAST = 100 };

static tn_tool *odd;
static tn_context *context;
static char *recorded;
static size_t room = 4 << 20;

static void *call(void *unused) {
    (void)unused;
    tn_result *result = tn_tool_execute(odd, NULL, context);
    CHECK_STATUS(result, TN_E_CANCELLED);
    CHECK(tn_result_is_error(result));
    CHECK_HAS(tn_result_json(result, NULL), "\"code\":\"cancelled\"");
    tn_free(result);
    return NULL;
}

/* How many messages of the method the server has received. */
static int received(const char *file, const char *method) {
    char wanted[64];
    int count = 0;
    snprintf(wanted, sizeof wanted, "\"method\":\"%s\"", method);
    if (read_file(file, recorded, room) < 0)
        return 0;
    for (const char *at = strstr(recorded, wanted); at; at = strstr(at + 1, wanted))
        count++;
    return count;
}

/* The number behind `key` in the line, which is where `from` points into. */
static long number_of(const char *line, const char *key) {
    const char *at = strstr(line, key), *end = strchr(line, '\n');
    if (at == NULL || end == NULL || at > end)
        FAIL("no %s in %.200s", key, line);
    return atol(at + strlen(key));
}

static void check_ids(const char *file) {
    static bool called[1 << 20], cancelled[1 << 20];
    int calls = 0, matched = 0;
    CHECK(read_file(file, recorded, room) > 0);
    for (char *line = recorded; *line; line = strchr(line, '\n') + 1) {
        size_t length = strcspn(line, "\n");
        char kept = line[length];
        line[length] = 0;
        bool is_call = strstr(line, "\"method\":\"tools/call\"") && strstr(line, "\"name\":\"odd\"");
        bool is_cancel = strstr(line, "\"method\":\"notifications/cancelled\"");
        line[length] = kept;
        if (is_call) {
            long id = number_of(line, "\"id\":");
            CHECK(id >= 0 && id < (1 << 20) && !called[id]);
            called[id] = true;
            calls++;
        } else if (is_cancel) {
            long id = number_of(line, "\"requestId\":");
            CHECK(id >= 0 && id < (1 << 20) && called[id] && !cancelled[id]);
            cancelled[id] = true;
            matched++;
        }
    }
    CHECK_INT(matched, calls);
}

int main(void) {
    static pthread_t threads[MOST];
    /* Valgrind has room for some 500 threads. */
    int count = slowness() > 1 ? 200 : MOST;
    char file[64], behaviour[128];
    config servers = {0};
    begin();
    recorded = malloc(room);
    snprintf(file, sizeof file, "/tmp/toolnexus-cancel-%ld", (long)getpid());
    snprintf(behaviour, sizeof behaviour, "never-answers --record %s", file);
    unlink(file);
    add_hostile(&servers, "mute", behaviour);
    tn_mcp *mcp = load_all(&servers);
    odd = find_tool(mcp, "mute_odd");
    context = tn_context_new();

    for (int i = 0; i < count; i++)
        if (!try_start_thread(call, NULL, &threads[i])) {
            /* A container may not let us have more. */
            CHECK(i >= LEAST);
            count = i;
        }
    WAIT_FOR(received(file, "tools/call") == count);
    CHECK_INT(tn_context_cancel(context), TN_OK);
    for (int i = 0; i < count; i++)
        join_thread(threads[i]);
    WAIT_FOR(received(file, "notifications/cancelled") == count);
    check_ids(file);

    /* One more with the same context never starts. */
    EXPECT(tn_tool_execute(odd, NULL, context), TN_E_CANCELLED);
    check_echo(mcp, "mute");
    CHECK_INT(received(file, "tools/call"), count + 1);

    unlink(file);
    free(recorded);
    tn_free(odd);
    tn_free(context);
    tn_free(mcp);
    finish();
    return 0;
}
