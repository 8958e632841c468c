/* What Bench.java does, in C: the floor for the binding.
 *
 *   flight SERVER CALLS WIDTH    prints microseconds a call, one after the other and WIDTH at once */

#include "common.h"
#include "toolnexus.h"

static const char arguments[] = "{\"size\":100}";

static void check(bool failed, const char *why) {
    if (failed) fail("call", why);
}

/* As one call is answered, one is asked. */
static double at_once(tn_tool *tool, unsigned long calls, unsigned long width) {
    tn_queue *queue = tn_queue_new();
    tn_event events[64];
    unsigned long asked = 0, answered = 0;
    uint64_t began = now_ns();
    for (; asked < width; asked++) tn_tool_execute_submit(tool, arguments, NULL, queue, asked);
    while (answered < calls) {
        size_t count = 0;
        if (tn_queue_take(queue, events, 64, -1, &count) != TN_OK) fail("take", "the queue is closed");
        for (size_t i = 0; i < count; i++, answered++) {
            size_t length;
            const char *output = tn_result_output(events[i].result, &length);
            check(length != 100, output);
            tn_free(events[i].result);
            if (asked < calls) tn_tool_execute_submit(tool, arguments, NULL, queue, asked++);
        }
    }
    double took = (double)(now_ns() - began) / 1000.0 / (double)calls;
    tn_free(queue);
    return took;
}

static double one_by_one(tn_tool *tool, unsigned long calls) {
    uint64_t *took = room_for(calls * sizeof *took);
    for (unsigned long i = 0; i < calls; i++) {
        uint64_t began = now_ns();
        tn_result *result = tn_tool_execute(tool, arguments, NULL);
        check(tn_result_is_error(result), tn_result_output(result, NULL));
        took[i] = now_ns() - began;
        tn_free(result);
    }
    double middle = (double)median(took, calls) / 1000.0;
    free(took);
    return middle;
}

int main(int argc, char **argv) {
    if (argc < 4) fail("usage", "flight SERVER CALLS WIDTH");
    char config[4096];
    snprintf(config, sizeof config, "{\"mcpServers\":{\"s\":{\"command\":\"%s\"}}}", argv[1]);
    tn_result *loaded = tn_mcp_load(config, NULL, NULL, NULL);
    tn_mcp *mcp = tn_result_take_mcp(loaded);
    tn_tools *tools = tn_mcp_tools(mcp);
    tn_tool *tool = tn_tools_get(tools, 0);
    if (!tool) fail("load", tn_result_json(loaded, NULL));
    unsigned long calls = number(argc, argv, 2), width = number(argc, argv, 3);
    at_once(tool, calls / 4, width);
    double single = one_by_one(tool, calls / 10);
    printf("%.2f %.2f\n", single, at_once(tool, calls, width));
    tn_free(tool), tn_free(tools), tn_free(loaded);
    tn_free(tn_mcp_close(mcp, NULL));
    tn_free(mcp);
    return 0;
}
