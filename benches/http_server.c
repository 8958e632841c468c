/* The same server over streamable HTTP: answers prepared texts, as JSON, on connections that are kept.
 *
 *     http_server one|two PROGRAM ARGUMENT...
 *
 * It listens on a free port of the loopback address, runs PROGRAM with its address in place of the argument URL, and ends with it,
 * with its status. `one`: header and body of a reply leave in one write. `two`: in one write each and with Nagle's algorithm on, as
 * from servers that care for neither: the body then waits for the client's acknowledgement of the header. */

#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answers.h"

#define ROOM 65536

struct connection {
    int fd;
    size_t have;
    char input[ROOM + 1];
};

extern char **environ;
static int two;
static struct text tools;

/* Sends all of it; false if the client has gone. */
static int put(int fd, struct iovec *parts, int count) {
    while (count) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
        ssize_t wrote = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (wrote < 0) return 0;
        while (count && (size_t)wrote >= parts->iov_len) {
            wrote -= (ssize_t)parts->iov_len;
            parts++;
            count--;
        }
        if (count) *parts = (struct iovec){(char *)parts->iov_base + wrote, parts->iov_len - (size_t)wrote};
    }
    return 1;
}

static int answer(int fd, const char *request, size_t length) {
    char head[256], open[128];
    struct text id, result = result_for(request, length, tools, &id);
    if (!id.length) {
        static const char accepted[] = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
        return put(fd, &(struct iovec){(char *)accepted, sizeof accepted - 1}, 1);
    }
    /* The line break at the end is for floor.c, which knows the end of a reply by it. */
    size_t opened = (size_t)sprintf(open, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":", (int)id.length, id.at);
    size_t headed = (size_t)sprintf(head, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                                    opened + result.length + 2);
    struct iovec parts[] = {{head, headed}, {open, opened}, {(char *)result.at, result.length}, {"}\n", 2}};
    return two ? put(fd, parts, 1) && put(fd, parts + 1, 3) : put(fd, parts, 4);
}

/* The value of a header in lower case; NULL if there is none. */
static const char *header(const char *head, const char *name) {
    const char *found = strcasestr(head, name);
    return found ? found + strlen(name) : NULL;
}

/* Reads, and answers the requests that are complete; false at the end of the connection. */
static int serve(struct connection *connection) {
    ssize_t got = read(connection->fd, connection->input + connection->have, ROOM - connection->have);
    if (got <= 0) return 0;
    connection->have += (size_t)got;
    for (;;) {
        connection->input[connection->have] = 0;
        char *body = strstr(connection->input, "\r\n\r\n");
        if (!body) break;
        body += 4;
        const char *said = header(connection->input, "\r\ncontent-length:");
        size_t length = said && said < body ? strtoul(said, NULL, 10) : 0;
        size_t whole = (size_t)(body - connection->input) + length;
        if (connection->have < whole) break;
        if (strncmp(connection->input, "POST ", 5)) {
            static const char refused[] = "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n";
            if (!put(connection->fd, &(struct iovec){(char *)refused, sizeof refused - 1}, 1)) return 0;
        } else if (!answer(connection->fd, body, length)) {
            return 0;
        }
        connection->have -= whole;
        memmove(connection->input, connection->input + whole, connection->have);
    }
    return connection->have < ROOM;
}

static void watch(int epoll, int fd, void *what) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) fail("epoll", "cannot be used");
}

static void meet(int epoll, int listener) {
    struct connection *connection = room_for(sizeof *connection);
    connection->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    connection->have = 0;
    if (connection->fd < 0) fail("accept", "failed");
    if (!two) setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    watch(epoll, connection->fd, connection);
}

int main(int argc, char **argv) {
    if (argc < 3) fail("usage", "http_server one|two PROGRAM ARGUMENT...");
    two = !strcmp(argv[1], "two");
    tools = tools_page(1);

    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* Not one that paces what it sends, as some systems have by default: its clock would be measured too. Connections inherit it. */
    setsockopt(listener, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1024) ||
        getsockname(listener, (struct sockaddr *)&address, &size))
        fail("listen", "there is no free port");
    char url[64];
    sprintf(url, "http://127.0.0.1:%u/mcp", ntohs(address.sin_port));
    for (int i = 2; i < argc; i++)
        if (!strcmp(argv[i], "URL")) argv[i] = url;
    pid_t program;
    if (posix_spawn(&program, argv[2], NULL, NULL, argv + 2, environ)) fail(argv[2], "cannot be started");
    int ended = (int)syscall(SYS_pidfd_open, program, 0), epoll = epoll_create1(EPOLL_CLOEXEC);
    if (ended < 0) fail("pidfd_open", "is missing");
    watch(epoll, ended, &ended);
    watch(epoll, listener, &listener);

    struct epoll_event events[64];
    for (;;) {
        int count = epoll_wait(epoll, events, 64, -1);
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            if (events[i].data.ptr == &ended) {
                int status;
                waitpid(program, &status, 0);
                return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
            }
            if (events[i].data.ptr == &listener) {
                meet(epoll, listener);
            } else if (!serve(connection)) {
                close(connection->fd);
                free(connection);
            }
        }
    }
}
