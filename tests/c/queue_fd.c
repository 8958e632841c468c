/* The socket of a queue: what kind it is, when it gets a byte, when it ends, and that it works in a loop. */

#include "queue.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static bool readable(int fd, int ms) {
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    return poll(&polled, 1, ms) == 1;
}

/* Reads what is there: so many bytes; -1 at the end. */
static int bytes_in(int fd) {
    char bytes[4096];
    int sum = 0;
    ssize_t count;
    while ((count = read(fd, bytes, sizeof bytes)) > 0)
        sum += (int)count;
    if (count == 0)
        return -1;
    CHECK_INT(errno, EAGAIN);
    return sum;
}

static void what_it_is(tn_queue *queue) {
    int type = 0, fd = tn_queue_fd(queue);
    socklen_t length = sizeof type;
    CHECK(fd > 2);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
    CHECK_INT(getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length), 0);
    CHECK_INT(type, SOCK_STREAM);
    CHECK_INT(bytes_in(fd), 0);
    close(fd);
}

/* One byte when something comes, none for what comes on top of it. */
static void bytes(tn_queue *queue) {
    int fd = tn_queue_fd(queue);
    for (int round = 0; round < 3; round++) {
        for (uint64_t id = 0; id < 10; id++)
            submit(NULL, NULL, NULL, queue, id);
        CHECK(readable(fd, PATIENCE_MS));
        CHECK_INT(bytes_in(fd), 1);
        for (uint64_t id = 0; id < 9; id++)
            expect_done(queue, id, TN_E_ARGUMENT);
        submit(NULL, NULL, NULL, queue, 10);
        CHECK_INT(bytes_in(fd), 0);
        expect_done(queue, 9, TN_E_ARGUMENT);
        expect_done(queue, 10, TN_E_ARGUMENT);
    }
    CHECK(!readable(fd, 0));
    /* A host that never reads: the queue works, and no signal comes of it. */
    for (int i = 0; i < 2000; i++) {
        submit(NULL, NULL, NULL, queue, 1);
        expect_done(queue, 1, TN_E_ARGUMENT);
    }
    CHECK(bytes_in(fd) > 0);
    close(fd);
    submit(NULL, NULL, NULL, queue, 1);
    expect_done(queue, 1, TN_E_ARGUMENT);
}

static void a_second_one_replaces_the_first(tn_queue *queue) {
    int first = tn_queue_fd(queue), second = tn_queue_fd(queue);
    CHECK_INT(bytes_in(first), -1);
    submit(NULL, NULL, NULL, queue, 1);
    CHECK_INT(bytes_in(second), 1);
    /* What is there already is told to a new one. */
    int third = tn_queue_fd(queue);
    CHECK_INT(bytes_in(second), -1);
    CHECK_INT(bytes_in(third), 1);
    expect_done(queue, 1, TN_E_ARGUMENT);
    close(first);
    close(second);
    close(third);
}

static void the_end(const tn_tool *odd) {
    tn_queue *queue = tn_queue_new();
    int fd = tn_queue_fd(queue);
    submit(NULL, NULL, NULL, queue, 1);
    tn_free(queue);
    WAIT_FOR(bytes_in(fd) == -1);
    close(fd);

    /* Closed: when what was pending has come and is taken. */
    queue = tn_queue_new();
    fd = tn_queue_fd(queue);
    submit(odd, NULL, NULL, queue, 1);
    CHECK_INT(tn_queue_close(queue), TN_OK);
    CHECK(readable(fd, PATIENCE_MS));
    CHECK_INT(bytes_in(fd), 1);
    expect_done(queue, 1, TN_E_CANCELLED);
    WAIT_FOR(bytes_in(fd) == -1);
    CHECK_INT(tn_queue_fd(queue), -1);
    expect_over(queue);
    close(fd);
    tn_free(queue);

    queue = tn_queue_new();
    fd = tn_queue_fd(queue);
    CHECK_INT(tn_queue_close(queue), TN_OK);
    CHECK_INT(bytes_in(fd), -1);
    close(fd);
    tn_free(queue);
}

/* Edge-triggered, which needs a new byte after each time that it was emptied, beside a second queue. */
static void in_epoll(const tn_tool *echo) {
    enum { CALLS = 500 };
    tn_queue *queues[2] = {tn_queue_new(), tn_queue_new()};
    int loop = epoll_create1(EPOLL_CLOEXEC), fds[2];
    uint64_t done[2] = {0}, submitted[2] = {0};
    for (uint32_t i = 0; i < 2; i++) {
        struct epoll_event watch = {.events = EPOLLIN | EPOLLET, .data = {.u32 = i}};
        fds[i] = tn_queue_fd(queues[i]);
        CHECK_INT(epoll_ctl(loop, EPOLL_CTL_ADD, fds[i], &watch), 0);
        for (; submitted[i] < 16; submitted[i]++)
            submit(echo, "{\"text\":\"x\"}", NULL, queues[i], submitted[i]);
    }
    while (done[0] + done[1] < 2 * CALLS) {
        struct epoll_event ready[2];
        int count = epoll_wait(loop, ready, 2, PATIENCE_MS);
        CHECK(count > 0);
        for (int i = 0; i < count; i++) {
            uint32_t which = ready[i].data.u32;
            tn_event events[4];
            size_t taken;
            CHECK(bytes_in(fds[which]) >= 0);
            do {
                CHECK_INT(tn_queue_take(queues[which], events, 4, 0, &taken), TN_OK);
                for (size_t j = 0; j < taken; j++) {
                    CHECK_STATUS(events[j].result, TN_OK);
                    tn_free(events[j].result);
                    done[which]++;
                    if (submitted[which] < CALLS)
                        submit(echo, "{\"text\":\"x\"}", NULL, queues[which], submitted[which]++);
                }
            } while (taken == 4);
        }
    }
    CHECK_INT(done[0], CALLS);
    for (int i = 0; i < 2; i++) {
        tn_free(queues[i]);
        close(fds[i]);
    }
    close(loop);
}

int main(void) {
    begin();
    config servers = {0};
    add_tiny(&servers, "a");
    add_hostile(&servers, "mute", "never-answers");
    tn_mcp *mcp = load_all(&servers);
    tn_tool *echo = find_tool(mcp, "a_echo"), *odd = find_tool(mcp, "mute_odd");
    tn_queue *queue = tn_queue_new();
    what_it_is(queue);
    bytes(queue);
    a_second_one_replaces_the_first(queue);
    tn_free(queue);
    the_end(odd);
    in_epoll(echo);
    tn_free(echo);
    tn_free(odd);
    tn_free(mcp);
    finish();
    return 0;
}
