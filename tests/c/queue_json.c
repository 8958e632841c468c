/* Taking as one JSON array: what an event looks like, objects in results, and how much one array holds. */

#include "queue.h"

enum { BIG = 400000 };

static char *big_text(size_t size) {
    char *text = malloc(size + 32);
    CHECK(text != NULL);
    size_t start = (size_t)sprintf(text, "{\"text\":\"");
    memset(text + start, 'x', size);
    strcpy(text + start + size, "\"}");
    return text;
}

static int count_of(const char *text, const char *part) {
    int count = 0;
    for (; (text = strstr(text, part)); text++)
        count++;
    return count;
}

static tn_result *take(tn_queue *queue) {
    tn_result *result = tn_queue_take_json(queue, PATIENCE_MS);
    CHECK_STATUS(result, TN_OK);
    CHECK(!tn_result_is_error(result));
    return result;
}

static void what_events_look_like(tn_queue *queue, const tn_tool *echo) {
    submit(echo, "[]", NULL, queue, UINT64_MAX);
    tn_result *result = take(queue);
    CHECK_HAS(tn_result_json(result, NULL), "[{\"kind\":1,\"id\":18446744073709551615,\"status\":\"TN_E_JSON\",\"isError\":true,\"json\":{");
    CHECK_LACKS(tn_result_json(result, NULL), "\"result\":");
    CHECK_TEXT(tn_result_output(result, NULL), "");
    tn_free(result);
    submit(echo, "{\"text\":\"x\"}", NULL, queue, 7);
    result = take(queue);
    CHECK_HAS(tn_result_json(result, NULL), "[{\"kind\":1,\"id\":7,\"status\":\"TN_OK\",\"isError\":false,\"json\":{\"output\":\"x\",");
    tn_free(result);
}

static void an_object_comes_as_a_decimal(tn_queue *queue) {
    config servers = {0};
    add_tiny(&servers, "b");
    CHECK_INT(tn_mcp_load_submit(config_text(&servers), NULL, NULL, NULL, queue, 8), TN_OK);
    config_free(&servers);
    tn_result *result = take(queue);
    const char *at = strstr(tn_result_json(result, NULL), ",\"result\":\"");
    CHECK(at != NULL);
    tn_result *made = (tn_result *)(uintptr_t)strtoull(at + strlen(",\"result\":\""), NULL, 10);
    tn_free(result);
    CHECK_STATUS(made, TN_OK);
    tn_mcp *mcp = tn_result_take_mcp(made);
    tn_free(made);
    check_echo(mcp, "b");
    tn_free(mcp);
}

/* About 1 MiB a time, and never nothing for being too large. */
static void how_much_an_array_holds(tn_queue *queue, const tn_tool *echo) {
    char *text = big_text(BIG), *large = big_text(3 << 20);
    int events = 0;
    /* The text stands twice in its document. */
    for (uint64_t id = 0; id < 6; id++)
        submit(echo, text, NULL, queue, id);
    while (events < 6) {
        size_t length;
        tn_result *result = take(queue);
        const char *json = tn_result_json(result, &length);
        CHECK_INT(count_of(json, "\"kind\":1"), 1);
        CHECK(length > 2 * BIG && length < (1 << 20) + 1024);
        events += 1;
        tn_free(result);
    }
    submit(NULL, NULL, NULL, queue, 1);
    submit(echo, large, NULL, queue, 2);
    tn_result *result = take(queue);
    CHECK_INT(count_of(tn_result_json(result, NULL), "\"kind\":1"), 1);
    tn_free(result);
    result = take(queue);
    CHECK_HAS(tn_result_json(result, NULL), "\"id\":2,");
    CHECK_INT(strlen(tn_result_output(result, NULL)), 0);
    tn_free(result);
    /* Many small ones come together. */
    for (uint64_t id = 0; id < 100; id++)
        submit(NULL, NULL, NULL, queue, id);
    result = take(queue);
    CHECK_INT(count_of(tn_result_json(result, NULL), "\"kind\":1"), 100);
    tn_free(result);
    free(text);
    free(large);
}

static void the_end(tn_queue *queue) {
    submit(NULL, NULL, NULL, queue, 1);
    CHECK_INT(tn_queue_close(queue), TN_OK);
    tn_result *result = take(queue);
    CHECK_INT(count_of(tn_result_json(result, NULL), "\"kind\":1"), 1);
    tn_free(result);
    EXPECT(tn_queue_take_json(queue, -1), TN_E_CLOSED);
    EXPECT(tn_queue_take_json(queue, 0), TN_E_CLOSED);
}

int main(void) {
    begin();
    config servers = {0};
    add_tiny(&servers, "a");
    tn_mcp *mcp = load_all(&servers);
    tn_tool *echo = find_tool(mcp, "a_echo");
    tn_queue *queue = tn_queue_new();
    what_events_look_like(queue, echo);
    an_object_comes_as_a_decimal(queue);
    how_much_an_array_holds(queue, echo);
    the_end(queue);
    tn_free(queue);
    tn_free(echo);
    tn_free(mcp);
    finish();
    return 0;
}
