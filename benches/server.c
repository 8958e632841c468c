/* A server that costs next to nothing, so that what is measured is the client: answers prepared texts.
 *
 *     server [TOOLS]
 *
 * It speaks MCP 2026-07-28 on stdio, and answers `initialize` for clients that know only older revisions. It offers TOOLS
 * tools (default 1), and answers every call with a text of as many bytes as the argument `size` says. */

#define _GNU_SOURCE
#include <unistd.h>

#include "answers.h"

#define SMALL 65536

static char *input, *answers;
static size_t input_room = 1 << 20, answers_length;

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
static void answer(struct text id, struct text result) {
    if (answers_length + result.length + 128 > SMALL) flush();
    answers_length += (size_t)sprintf(answers + answers_length, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":", (int)id.length, id.at);
    if (result.length > SMALL / 2) {
        flush();
        put(result.at, result.length);
    } else {
        memcpy(answers + answers_length, result.at, result.length);
        answers_length += result.length;
    }
    answers[answers_length++] = '}';
    answers[answers_length++] = '\n';
}

int main(int argc, char **argv) {
    size_t have = 0;
    struct text tools = tools_page(argc > 1 ? number(argc, argv, 1) : 1), id;
    input = room_for(input_room);
    answers = room_for(SMALL + 128);
    for (;;) {
        if (have == input_room && !(input = realloc(input, input_room *= 2))) return 1;
        ssize_t got = read(0, input + have, input_room - have);
        if (got <= 0) return 0;
        char *line = input, *end, *limit = input + have + got;
        while ((end = memchr(line, '\n', (size_t)(limit - line)))) {
            struct text result = result_for(line, (size_t)(end - line), tools, &id);
            if (id.length) answer(id, result);
            line = end + 1;
        }
        flush();
        have = (size_t)(limit - line);
        memmove(input, line, have);
    }
}
