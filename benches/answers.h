/* What the servers answer: prepared texts, which cost next to nothing. */

#ifndef BENCH_ANSWERS_H
#define BENCH_ANSWERS_H

#include "common.h"

struct text {
    const char *at;
    size_t length;
};

/* The result of a call: a text of so many bytes with a line break in each eighty. The last one is kept. */
static inline struct text call_result(size_t size) {
    static char *result;
    static size_t result_size = (size_t)-1, length;
    if (size == result_size) return (struct text){result, length};
    free(result);
    result = room_for(size + size / 80 + 128);
    char *at = result + sprintf(result, "{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"");
    for (size_t i = 1; i <= size; i++) {
        if (i % 80 == 0) *at++ = '\\';
        *at++ = i % 80 == 0 ? 'n' : (char)('a' + i % 26);
    }
    at += sprintf(at, "\"}]}");
    result_size = size;
    length = (size_t)(at - result);
    return (struct text){result, length};
}

static inline struct text tools_page(unsigned long tools) {
    char *page = room_for(tools * 640 + 128), *at = page;
    at += sprintf(at, "{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"tools\":[");
    for (unsigned long i = 0; i < tools; i++)
        at += sprintf(at,
            "%s{\"name\":\"tool_%lu\",\"title\":\"Tool %lu\",\"description\":\"Returns text. It is the tool of number %lu, and says so"
            " at a length that descriptions have.\\nIt takes a size.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"size\":"
            "{\"type\":\"integer\",\"minimum\":0,\"description\":\"How many bytes\"},\"path\":{\"type\":\"string\",\"description\":"
            "\"Where to look\"}},\"required\":[\"size\"],\"additionalProperties\":false},\"annotations\":{\"readOnlyHint\":true}}",
            i ? "," : "", i, i, i);
    at += sprintf(at, "]}");
    return (struct text){page, (size_t)(at - page)};
}

/* The result for a request; its id is put into `id`, which is empty for what is no request. */
static inline struct text result_for(const char *request, size_t length, struct text tools, struct text *id) {
    static const char discovered[] =
        "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},"
        "\"serverInfo\":{\"name\":\"bench\",\"version\":\"1\"},\"ttlMs\":0,\"cacheScope\":\"private\"}";
    static const char initialized[] =
        "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"bench\",\"version\":\"1\"}}";
    const char *method = memmem(request, length, "\"method\":\"", 10);
    id->at = memmem(request, length, "\"id\":", 5);
    id->length = 0;
    if (!id->at || !method) return (struct text){NULL, 0};
    id->at += 5;
    id->length = strcspn(id->at, ",}");
    method += 10;
    if (!strncmp(method, "tools/call", 10)) {
        const char *size = memmem(request, length, "\"size\":", 7);
        return call_result(size ? strtoul(size + 7, NULL, 10) : 0);
    }
    if (!strncmp(method, "tools/list", 10)) return tools;
    if (!strncmp(method, "initialize\"", 11)) return (struct text){initialized, sizeof initialized - 1};
    return (struct text){discovered, sizeof discovered - 1};
}

#endif
