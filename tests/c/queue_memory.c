/* Many calls through one queue leave memory as it was: TN_TEST_CALLS of them (20,000 if not said; 1,000,000 take about a minute),
 * of every kind of end.
 * valgrind: no, its own memory is what would be measured */

#include "queue.h"

enum { WIDTH = 64 };

static long resident_kib(void) {
    char text[4096];
    CHECK(read_file("/proc/self/status", text, sizeof text) > 0);
    const char *at = strstr(text, "VmRSS:");
    CHECK(at != NULL);
    return atol(at + strlen("VmRSS:"));
}

static void calls(const tn_tool *echo, const tn_tool *fail, tn_queue *queue, long total) {
    static tn_event events[WIDTH];
    long submitted = 0, done = 0;
    tn_context *context = NULL;
    while (done < total) {
        while (submitted < total && submitted - done < WIDTH) {
            uint64_t id = (uint64_t)submitted;
            /* One in ten is cancelled, fails, or is refused. */
            if (submitted % 30 == 10) {
                context = tn_context_new();
                submit(echo, "{\"text\":\"x\"}", context, queue, id);
                CHECK_INT(tn_context_cancel(context), TN_OK);
                tn_free(context);
            } else if (submitted % 30 == 20) {
                submit(fail, NULL, NULL, queue, id);
            } else if (submitted % 30 == 0) {
                submit(echo, "[", NULL, queue, id);
            } else {
                submit(echo, "{\"text\":\"hello\"}", NULL, queue, id);
            }
            submitted++;
        }
        size_t count;
        CHECK_INT(tn_queue_take(queue, events, WIDTH, PATIENCE_MS, &count), TN_OK);
        CHECK(count > 0);
        for (size_t i = 0; i < count; i++) {
            if (events[i].id % 30 && events[i].id % 10 == 0)
                CHECK(tn_result_is_error(events[i].result) || events[i].status == TN_OK);
            else if (events[i].id % 30)
                CHECK_TEXT(tn_result_output(events[i].result, NULL), "hello");
            tn_result_json(events[i].result, NULL);
            tn_free(events[i].result);
        }
        done += (long)count;
    }
}

int main(void) {
    const char *said = getenv("TN_TEST_CALLS");
    long total = said ? atol(said) : 20000;
    begin();
    config servers = {0};
    add_tiny(&servers, "a");
    tn_mcp *mcp = load_all(&servers);
    tn_tool *echo = find_tool(mcp, "a_echo"), *fail = find_tool(mcp, "a_fail");
    tn_queue *queue = tn_queue_new();
    calls(echo, fail, queue, 10000);
    /* A leak grows with every round; pages that the allocator or the kernel deals out otherwise do not. */
    bool grew = true;
    for (int round = 0; round < 5 && grew; round++) {
        long before = resident_kib();
        int64_t began = now_ms();
        calls(echo, fail, queue, total);
        long after = resident_kib();
        printf("%ld calls in %lld ms: %ld KiB before, %ld KiB after\n", total, (long long)(now_ms() - began), before, after);
        grew = after > before + 1024;
    }
    CHECK(!grew);
    tn_free(queue);
    tn_free(echo);
    tn_free(fail);
    tn_free(mcp);
    finish();
    return 0;
}
