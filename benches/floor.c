/* The floor: what the same bytes cost a plain C program that writes them to the same server and reads the reply without
 * looking at it. See README.md for the rows. SERVER is a program, or the address of http_server.c. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define META                                                                                                             \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":{\"name\":"        \
    "\"toolnexus\",\"version\":\"0.1.0\"},\"io.modelcontextprotocol/clientCapabilities\":{}"
#define READ 65536
#define ROOM 1024

/* `pid` is 0 and `in` is `out` for a server with an address. */
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

static int over_http(void) {
    return !strncmp(program, "http://", 7);
}

static void connect_to(struct server *server) {
    char host[64];
    unsigned port;
    struct sockaddr_in address = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (sscanf(program, "http://%63[0-9.]:%u/", host, &port) != 2 || !inet_aton(host, &address.sin_addr)) fail(program, "is no address");
    address.sin_port = htons((uint16_t)port);
    if (connect(fd, (struct sockaddr *)&address, sizeof address)) fail(program, "cannot be reached");
    *server = (struct server){.in = fd, .out = fd, .room = 4 * READ};
    server->reply = room_for(server->room);
}

static void start(struct server *server, const char *tools) {
    if (over_http()) {
        connect_to(server);
        return;
    }
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
    if (server->pid) {
        close(server->out);
        waitpid(server->pid, NULL, 0);
    }
    free(server->reply);
}

static void put(struct server *server, const char *bytes, size_t length) {
    if (write(server->in, bytes, length) != (ssize_t)length) fail(program, "took no request");
}

/* What is sent for a message: a line, or a POST with its headers. */
static size_t frame(char *request, const char *method, const char *name, const char *message, int length) {
    if (!over_http()) return (size_t)sprintf(request, "%s\n", message);
    return (size_t)sprintf(request,
                           "POST /mcp HTTP/1.1\r\nhost: %.*s\r\naccept: application/json, text/event-stream\r\naccept-encoding: gzip\r\n"
                           "content-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: %s\r\n%s"
                           "content-length: %d\r\n\r\n%s",
                           (int)strcspn(program + 7, "/"), program + 7, method, name, length, message);
}

static void ask(struct server *server, const char *method) {
    char message[ROOM / 2], request[ROOM];
    int length = sprintf(message, "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"method\":\"%s\",\"params\":{\"_meta\":{" META "}}}",
                         ++server->requests, method);
    put(server, request, frame(request, method, "", message, length));
}

static size_t write_call(struct server *server, char *request, size_t size) {
    char message[ROOM / 2];
    unsigned long id = ++server->requests;
    int length = sprintf(message,
                         "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"method\":\"tools/call\",\"params\":{\"name\":\"tool_0\",\"arguments\":"
                         "{\"size\":%zu},\"_meta\":{\"progressToken\":%lu," META "}}}",
                         id, size, id);
    return frame(request, "tools/call", "mcp-name: tool_0\r\n", message, length);
}

static void call(struct server *server, size_t size) {
    char request[ROOM];
    put(server, request, write_call(server, request, size));
}

/* Reads once; true if the reply is complete. Headers end in a line break too. */
static int read_some(struct server *server) {
    if (server->room - server->have < READ && !(server->reply = realloc(server->reply, server->room *= 2)))
        fail("memory", "there is none left");
    ssize_t got = read(server->out, server->reply + server->have, READ);
    if (got <= 0) fail(program, "ended");
    server->have += (size_t)got;
    if (server->have < 2 || memcmp(server->reply + server->have - 2, "}\n", 2)) return 0;
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

static void print_flight(size_t count, uint64_t began, uint64_t cpu) {
    print((uint64_t)count * 1000000000u / (now_ns() - began));
    print((cpu_ns() - cpu) * 10000 / count);
}

/* `width` calls in flight: as one is answered, one is asked. Calls a second, and CPU for 10,000 calls. */
static void flight(struct server *server, size_t count, size_t width, size_t size) {
    char *requests = room_for(ROOM * width);
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
    print_flight(count, began, cpu);
    free(requests);
}

/* The same over HTTP, with a connection for each call in flight. */
static void flight_on(struct server *servers, size_t count, size_t width, size_t size) {
    struct pollfd *polled = room_for(width * sizeof *polled);
    size_t asked = 0, answered = 0;
    uint64_t began = now_ns(), cpu = cpu_ns();
    for (; asked < width; asked++) {
        polled[asked] = (struct pollfd){.fd = servers[asked].out, .events = POLLIN};
        call(&servers[asked], size);
    }
    while (answered < count) {
        if (poll(polled, width, -1) < 0) fail("poll", "failed");
        for (size_t i = 0; i < width; i++) {
            if (!polled[i].revents || !read_some(&servers[i])) continue;
            answered++;
            if (asked++ < count) call(&servers[i], size);
        }
    }
    print_flight(count, began, cpu);
    free(polled);
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
        struct server *servers = room_for(second * sizeof *servers);
        load(servers, over_http() ? second : 1, "1");
        if (over_http()) flight_on(servers, first, second, 100);
        else flight(servers, first, second, 100);
        for (unsigned long i = 0; i < (over_http() ? second : 1); i++) stop(&servers[i]);
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
