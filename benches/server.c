/* A server that costs next to nothing, so that what is measured is the client: answers prepared texts.
 *
 *     server [TOOLS]
 *
 * It speaks MCP 2026-07-28 on stdio, and answers `initialize` for clients that know only older revisions. It offers TOOLS
 * tools (default 1), and answers every call with a text of as many bytes as the argument `size` says, a line break in each
 * eighty. */

#define _GNU_SOURCE
#include <unistd.h>

#include "common.h"

#define SMALL 65536

static char *input, *answers, *body;
static size_t input_room = 1 << 20, body_size = (size_t)-1, body_length, answers_length;

static void put(const char *bytes, size_t length) {
    while (length) {
        ssize_t wrote = write(1, bytes, length);
        if (wrote < 0) exit(0);
        bytes += wrote;
        length -= (size_t)wrote;
    }
}

static void flush(void) {
    put(answers, answers_length);
    answers_length = 0;
}

/* Small answers to requests that came together leave together. */
static void answer(const char *id, size_t id_length, const char *result, size_t length) {
    if (answers_length + length + 128 > SMALL) flush();
    answers_length += (size_t)sprintf(answers + answers_length, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":", (int)id_length, id);
    if (length > SMALL / 2) {
        flush();
        put(result, length);
    } else {
        memcpy(answers + answers_length, result, length);
        answers_length += length;
    }
    answers[answers_length++] = '}';
    answers[answers_length++] = '\n';
}

static const char *body_of(size_t size) {
    if (size == body_size) return body;
    free(body);
    body = room_for(size + size / 80 + 128);
    char *at = body + sprintf(body, "{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"");
    for (size_t i = 1; i <= size; i++) {
        if (i % 80 == 0) *at++ = '\\';
        *at++ = i % 80 == 0 ? 'n' : (char)('a' + i % 26);
    }
    at += sprintf(at, "\"}]}");
    body_size = size;
    body_length = (size_t)(at - body);
    return body;
}

static char *tools_page(unsigned long tools, size_t *length) {
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
    *length = (size_t)(at - page);
    return page;
}

int main(int argc, char **argv) {
    static const char discovered[] =
        "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},"
        "\"serverInfo\":{\"name\":\"bench\",\"version\":\"1\"},\"ttlMs\":0,\"cacheScope\":\"private\"}";
    static const char initialized[] =
        "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"bench\",\"version\":\"1\"}}";
    size_t page_length, have = 0;
    char *page = tools_page(argc > 1 ? number(argc, argv, 1) : 1, &page_length);
    input = room_for(input_room);
    answers = room_for(SMALL + 128);
    for (;;) {
        if (have == input_room && !(input = realloc(input, input_room *= 2))) return 1;
        ssize_t got = read(0, input + have, input_room - have);
        if (got <= 0) return 0;
        char *line = input, *end, *limit = input + have + got;
        while ((end = memchr(line, '\n', (size_t)(limit - line)))) {
            size_t length = (size_t)(end - line);
            char *id = memmem(line, length, "\"id\":", 5), *method = memmem(line, length, "\"method\":\"", 10);
            if (id && method) {
                id += 5;
                method += 10;
                size_t id_length = strcspn(id, ",}");
                if (!strncmp(method, "tools/call", 10)) {
                    char *size = memmem(line, length, "\"size\":", 7);
                    const char *text = body_of(size ? strtoul(size + 7, NULL, 10) : 0);
                    answer(id, id_length, text, body_length);
                } else if (!strncmp(method, "tools/list", 10)) {
                    answer(id, id_length, page, page_length);
                } else if (!strncmp(method, "initialize\"", 11)) {
                    answer(id, id_length, initialized, sizeof initialized - 1);
                } else {
                    answer(id, id_length, discovered, sizeof discovered - 1);
                }
            }
            line = end + 1;
        }
        flush();
        have = (size_t)(limit - line);
        memmove(input, line, have);
    }
}
