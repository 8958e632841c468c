/* The floor: what the same bytes cost a plain C program that writes them to the same server and reads the reply without
 * looking at it. See README.md for the rows. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define META                                                                                                             \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":{\"name\":"        \
    "\"toolnexus\",\"version\":\"0.1.0\"},\"io.modelcontextprotocol/clientCapabilities\":{}"
#define READ 65536

struct server {
    pid_t pid;
    int in, out;
    unsigned long requests;
    size_t have;
    char *reply;
    size_t room;
};

extern char **environ;
static const char *program;

static void start(struct server *server, const char *tools) {
    int in[2], out[2];
    posix_spawn_file_actions_t actions;
    char *argv[] = {(char *)program, (char *)tools, NULL};
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) fail(program, "no pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    if (posix_spawn(&server->pid, program, &actions, NULL, argv, environ)) fail(program, "cannot be started");
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    *server = (struct server){.pid = server->pid, .in = in[1], .out = out[0], .room = 4 * READ};
    server->reply = room_for(server->room);
}

static void stop(struct server *server) {
    close(server->in);
    close(server->out);
    waitpid(server->pid, NULL, 0);
    free(server->reply);
}

static void put(struct server *server, const char *bytes, size_t length) {
    if (write(server->in, bytes, length) != (ssize_t)length) fail(program, "took no request");
}

static void ask(struct server *server, const char *method) {
    char request[512];
    int length = sprintf(request, "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"method\":\"%s\",\"params\":{\"_meta\":{" META "}}}\n",
                         ++server->requests, method);
    put(server, request, (size_t)length);
}

static size_t write_call(struct server *server, char *request, size_t size) {
    unsigned long id = ++server->requests;
    return (size_t)sprintf(request,
                           "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"method\":\"tools/call\",\"params\":{\"name\":\"tool_0\",\"arguments\":"
                           "{\"size\":%zu},\"_meta\":{\"progressToken\":%lu," META "}}}\n",
                           id, size, id);
}

static void call(struct server *server, size_t size) {
    char request[512];
    put(server, request, write_call(server, request, size));
}

/* Reads once; true if the reply is complete. */
static int read_some(struct server *server) {
    if (server->room - server->have < READ && !(server->reply = realloc(server->reply, server->room *= 2)))
        fail("memory", "there is none left");
    ssize_t got = read(server->out, server->reply + server->have, READ);
    if (got <= 0) fail(program, "ended");
    server->have += (size_t)got;
    if (server->reply[server->have - 1] != '\n') return 0;
    server->have = 0;
    return 1;
}

static void reply(struct server *server) {
    while (!read_some(server)) continue;
}

/* Starts the servers, and asks each what it is and for its tools, all at once. */
static void load(struct server *servers, size_t count, const char *tools) {
    struct pollfd *polled = room_for(count * sizeof *polled);
    size_t open = count;
    for (size_t i = 0; i < count; i++) {
        start(&servers[i], tools);
        ask(&servers[i], "server/discover");
        polled[i] = (struct pollfd){.fd = servers[i].out, .events = POLLIN};
    }
    while (open) {
        if (poll(polled, count, -1) < 0) fail("poll", "failed");
        for (size_t i = 0; i < count; i++) {
            if (!polled[i].revents || !read_some(&servers[i])) continue;
            if (servers[i].requests == 1) {
                ask(&servers[i], "tools/list");
            } else {
                polled[i].fd = -1;
                open--;
            }
        }
    }
    free(polled);
}

/* `width` calls in flight: as one is answered, one is asked. Calls a second, and CPU for 10,000 calls. */
static void flight(struct server *server, size_t count, size_t width, size_t size) {
    char *requests = room_for(512 * width);
    size_t asked = 0, answered = 0, length = 0;
    uint64_t began = now_ns(), cpu = cpu_ns();
    while (asked < width) {
        length += write_call(server, requests + length, size);
        asked++;
    }
    put(server, requests, length);
    while (answered < count) {
        ssize_t got = read(server->out, server->reply, READ);
        if (got <= 0) fail(program, "ended");
        length = 0;
        for (char *at = server->reply, *end = at + got; (at = memchr(at, '\n', (size_t)(end - at))); at++) {
            answered++;
            if (asked < count) {
                length += write_call(server, requests + length, size);
                asked++;
            }
        }
        if (length) put(server, requests, length);
    }
    uint64_t took = now_ns() - began;
    print((uint64_t)count * 1000000000u / took);
    print((cpu_ns() - cpu) * 10000 / count);
    free(requests);
}

int main(int argc, char **argv) {
    if (argc < 3) fail("usage", "floor ROW SERVER [NUMBER...]");
    const char *row = argv[1];
    program = argv[2];
    unsigned long first = number(argc, argv, 3), second = number(argc, argv, 4);
    struct server server;
    if (!strcmp(row, "call")) {
        /* call SERVER BYTES CALLS */
        uint64_t *took = room_for(second * sizeof *took);
        load(&server, 1, "1");
        for (unsigned long i = 0; i < second; i++) {
            uint64_t began = now_ns();
            call(&server, first);
            reply(&server);
            took[i] = now_ns() - began;
        }
        print(median(took, second));
        stop(&server);
    } else if (!strcmp(row, "peak")) {
        /* peak SERVER BYTES */
        load(&server, 1, "1");
        call(&server, 100);
        reply(&server);
        uint64_t before = memory("VmRSS");
        call(&server, first);
        reply(&server);
        print(memory("VmHWM") - before);
        stop(&server);
    } else if (!strcmp(row, "flight")) {
        /* flight SERVER CALLS WIDTH */
        load(&server, 1, "1");
        flight(&server, first, second, 100);
        stop(&server);
    } else if (!strcmp(row, "load")) {
        /* load SERVER SERVERS TOOLS TIMES */
        unsigned long times = number(argc, argv, 5);
        struct server *servers = room_for(first * sizeof *servers);
        uint64_t *took = room_for(times * sizeof *took);
        for (unsigned long i = 0; i < times; i++) {
            uint64_t began = now_ns();
            load(servers, first, argv[4]);
            took[i] = now_ns() - began;
            for (unsigned long j = 0; j < first; j++) stop(&servers[j]);
        }
        print(median(took, times));
    } else if (!strcmp(row, "first")) {
        load(&server, 1, "1");
        call(&server, 100);
        reply(&server);
        if (write(1, "\n", 1) != 1) return 1;
        stop(&server);
    } else if (!strcmp(row, "idle")) {
        /* idle SERVER SERVERS */
        struct server *servers = room_for(first * sizeof *servers);
        load(servers, first, "1");
        print(memory("VmRSS"));
        for (unsigned long j = 0; j < first; j++) stop(&servers[j]);
    } else {
        return 2;
    }
    return 0;
}
