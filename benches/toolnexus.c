/* The same rows as floor.c, through the library's C ABI. */

#include <unistd.h>

#include "common.h"
#include "toolnexus.h"

static const char *program;

static tn_mcp *load(unsigned long count, const char *tools) {
    char *config = room_for(count * (strlen(program) + 64) + 64);
    size_t at = (size_t)sprintf(config, "{\"mcpServers\":{");
    for (unsigned long i = 0; i < count; i++) {
        at += (size_t)sprintf(config + at, "%s\"s%lu\":", i ? "," : "", i);
        at += (size_t)(strncmp(program, "http", 4) ? sprintf(config + at, "{\"command\":\"%s\",\"args\":[\"%s\"]}", program, tools)
                                                   : sprintf(config + at, "{\"url\":\"%s\"}", program));
    }
    sprintf(config + at, "}}");
    tn_result *result = tn_mcp_load(config, NULL, NULL, NULL);
    const char *document = tn_result_json(result, NULL);
    if (tn_result_is_error(result) || strstr(document, "\"failed\"")) fail("load", document);
    tn_mcp *mcp = tn_result_take_mcp(result);
    tn_free(result);
    free(config);
    return mcp;
}

static void stop(tn_mcp *mcp) {
    tn_free(tn_mcp_close(mcp, NULL));
    tn_free(mcp);
}

static tn_tool *first_tool(tn_mcp *mcp) {
    tn_tools *tools = tn_mcp_tools(mcp);
    tn_tool *tool = tn_tools_get(tools, 0);
    if (!tool) fail("load", "there are no tools");
    tn_free(tools);
    return tool;
}

/* Calls, and reads the output. */
static void call(tn_tool *tool, const char *arguments, size_t size) {
    size_t length;
    tn_result *result = tn_tool_execute(tool, arguments, NULL);
    const char *output = tn_result_output(result, &length);
    if (tn_result_is_error(result) || length != size) fail("call", output);
    tn_free(result);
}

/* `width` calls in flight: as one is answered, one is asked. Calls a second, and CPU for 10,000 calls. */
static void flight(tn_tool *tool, tn_queue *queue, uint64_t count, uint64_t width) {
    static tn_event events[256];
    uint64_t asked = 0, answered = 0;
    size_t taken, length;
    uint64_t began = now_ns(), cpu = cpu_ns();
    while (asked < width) tn_tool_execute_submit(tool, "{\"size\":100}", NULL, queue, asked++);
    while (answered < count) {
        if (tn_queue_take(queue, events, 256, -1, &taken)) fail("take", "the queue is closed");
        for (size_t i = 0; i < taken; i++) {
            const char *output = tn_result_output(events[i].result, &length);
            if (events[i].status || length != 100) fail("call", output);
            tn_free(events[i].result);
            answered++;
            if (asked < count) tn_tool_execute_submit(tool, "{\"size\":100}", NULL, queue, asked++);
        }
    }
    uint64_t took = now_ns() - began;
    print(count * 1000000000u / took);
    print((cpu_ns() - cpu) * 10000 / count);
}

int main(int argc, char **argv) {
    if (argc < 3) fail("usage", "toolnexus ROW SERVER [NUMBER...]");
    const char *row = argv[1];
    program = argv[2];
    unsigned long first = number(argc, argv, 3), second = number(argc, argv, 4);
    char arguments[64];
    sprintf(arguments, "{\"size\":%lu}", first);
    if (!strcmp(row, "call")) {
        uint64_t *took = room_for(second * sizeof *took);
        tn_mcp *mcp = load(1, "1");
        tn_tool *tool = first_tool(mcp);
        for (unsigned long i = 0; i < second; i++) {
            uint64_t began = now_ns();
            call(tool, arguments, first);
            took[i] = now_ns() - began;
        }
        print(median(took, second));
        tn_free(tool);
        stop(mcp);
    } else if (!strcmp(row, "peak")) {
        tn_mcp *mcp = load(1, "1");
        tn_tool *tool = first_tool(mcp);
        call(tool, "{\"size\":100}", 100);
        uint64_t before = memory("VmRSS");
        call(tool, arguments, first);
        print(memory("VmHWM") - before);
        tn_free(tool);
        stop(mcp);
    } else if (!strcmp(row, "flight")) {
        tn_mcp *mcp = load(1, "1");
        tn_tool *tool = first_tool(mcp);
        tn_queue *queue = tn_queue_new();
        flight(tool, queue, first, second);
        tn_free(queue);
        tn_free(tool);
        stop(mcp);
    } else if (!strcmp(row, "load")) {
        unsigned long times = number(argc, argv, 5);
        uint64_t *took = room_for(times * sizeof *took);
        for (unsigned long i = 0; i < times; i++) {
            uint64_t began = now_ns();
            tn_mcp *mcp = load(first, argv[4]);
            tn_tools *tools = tn_mcp_tools(mcp);
            took[i] = now_ns() - began;
            if (tn_tools_len(tools) != first * number(argc, argv, 4)) fail("load", "tools are missing");
            tn_free(tools);
            stop(mcp);
        }
        print(median(took, times));
    } else if (!strcmp(row, "first")) {
        tn_mcp *mcp = load(1, "1");
        tn_tool *tool = first_tool(mcp);
        call(tool, "{\"size\":100}", 100);
        if (write(1, "\n", 1) != 1) return 1;
        tn_free(tool);
        stop(mcp);
    } else if (!strcmp(row, "idle")) {
        tn_mcp *mcp = load(first, "1");
        print(memory("VmRSS"));
        stop(mcp);
    } else {
        return 2;
    }
    tn_free(tn_shutdown(5000));
    return 0;
}
