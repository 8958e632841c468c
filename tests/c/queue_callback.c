/* Queues that call: in order, on a thread of their own, and told of their end once, however it comes; what the callback may do
 * and what it may not; and that one which blocks keeps nobody waiting but its own queue. */

#include "queue.h"

#include <sys/syscall.h>

/* What a callback has to work with. */
typedef struct {
    tn_queue *queue;
    pthread_mutex_t lock;
    pid_t thread;
    uint64_t next;
    int events, drops;
    bool free_in_callback;
} record;

static tn_mcp *mcp;
static tn_tool *echo, *odd;

static int get(int *value) {
    return __atomic_load_n(value, __ATOMIC_SEQ_CST);
}

static void on_event(uintptr_t user, const tn_event *event) {
    record *self = (record *)user;
    pid_t thread = (pid_t)syscall(SYS_gettid);
    CHECK(thread != getpid());
    CHECK(self->thread == 0 || self->thread == thread);
    self->thread = thread;
    CHECK_INT(self->drops, 0);
    CHECK_INT(event->kind, TN_EVENT_DONE);
    CHECK_INT(event->id, self->next++);
    pthread_mutex_lock(&self->lock);
    pthread_mutex_unlock(&self->lock);
    tn_free(event->result);
    if (self->free_in_callback)
        tn_free(self->queue);
    __atomic_add_fetch(&self->events, 1, __ATOMIC_SEQ_CST);
}

static void on_drop(uintptr_t user) {
    record *self = (record *)user;
    CHECK(self->thread == 0 || self->thread == (pid_t)syscall(SYS_gettid));
    __atomic_add_fetch(&self->drops, 1, __ATOMIC_SEQ_CST);
}

static void make(record *self) {
    memset(self, 0, sizeof *self);
    pthread_mutex_init(&self->lock, NULL);
    self->queue = tn_queue_with_callback(on_event, (uintptr_t)self, on_drop);
    CHECK(self->queue != NULL);
}

static void in_order_and_dropped_once(void) {
    record self;
    make(&self);
    /* What a callback gets is not to be taken. */
    tn_event event;
    size_t count;
    CHECK_INT(tn_queue_take(self.queue, &event, 1, 0, &count), TN_E_ARGUMENT);
    EXPECT(tn_queue_take_json(self.queue, 0), TN_E_ARGUMENT);
    CHECK_INT(tn_queue_fd(self.queue), -1);
    for (uint64_t id = 0; id < 500; id++)
        submit(NULL, NULL, NULL, self.queue, id);
    WAIT_FOR(get(&self.events) == 500);
    CHECK_INT(get(&self.drops), 0);
    tn_free(self.queue);
    WAIT_FOR(get(&self.drops) == 1);
    CHECK_INT(self.events, 500);
    /* Without a function to call; without one to drop. */
    CHECK(tn_queue_with_callback(NULL, 0, on_drop) == NULL);
    self.queue = tn_queue_with_callback(on_event, (uintptr_t)&self, NULL);
    tn_free(self.queue);
}

static void closed_and_drained(void) {
    record self;
    make(&self);
    pthread_mutex_lock(&self.lock);
    submit(NULL, NULL, NULL, self.queue, 0);
    submit(odd, NULL, NULL, self.queue, 1);
    CHECK_INT(tn_queue_close(self.queue), TN_OK);
    CHECK_INT(get(&self.drops), 0);
    pthread_mutex_unlock(&self.lock);
    WAIT_FOR(get(&self.drops) == 1);
    CHECK_INT(self.events, 2);
    tn_free(self.queue);
    CHECK_INT(get(&self.drops), 1);
}

/* The running call ends, none starts after it. */
static void freed_while_it_runs(void) {
    record self;
    make(&self);
    pthread_mutex_lock(&self.lock);
    for (uint64_t id = 0; id < 10; id++)
        submit(NULL, NULL, NULL, self.queue, id);
    WAIT_FOR(__atomic_load_n(&self.next, __ATOMIC_SEQ_CST) == 1);
    tn_free(self.queue);
    CHECK_INT(get(&self.drops), 0);
    pthread_mutex_unlock(&self.lock);
    WAIT_FOR(get(&self.drops) == 1);
    CHECK_INT(self.events, 1);
}

static void freed_inside_its_own_callback(void) {
    record self;
    make(&self);
    pthread_mutex_lock(&self.lock);
    self.free_in_callback = true;
    for (uint64_t id = 0; id < 10; id++)
        submit(NULL, NULL, NULL, self.queue, id);
    submit(odd, NULL, NULL, self.queue, 10);
    pthread_mutex_unlock(&self.lock);
    WAIT_FOR(get(&self.drops) == 1);
    CHECK_INT(self.events, 1);
    CHECK_INT(tn_check(self.queue), TN_E_HANDLE);
}

static void one_that_blocks(void) {
    record slow, quick;
    make(&slow);
    make(&quick);
    pthread_mutex_lock(&slow.lock);
    submit(echo, "{\"text\":\"x\"}", NULL, slow.queue, 0);
    WAIT_FOR(__atomic_load_n(&slow.next, __ATOMIC_SEQ_CST) == 1);
    for (uint64_t id = 0; id < 20; id++) {
        submit(echo, "{\"text\":\"x\"}", NULL, quick.queue, id);
        WAIT_FOR(get(&quick.events) == (int)id + 1);
        check_echo(mcp, "a");
    }
    submit(echo, "{\"text\":\"x\"}", NULL, slow.queue, 1);
    CHECK_INT(get(&slow.events), 0);
    pthread_mutex_unlock(&slow.lock);
    WAIT_FOR(get(&slow.events) == 2);
    tn_free(slow.queue);
    tn_free(quick.queue);
    WAIT_FOR(get(&slow.drops) == 1 && get(&quick.drops) == 1);
}

static tn_queue *other;
static int checked;

/* Everything that blocks refuses, everything else works. */
static void try_everything(uintptr_t user, const tn_event *event) {
    tn_event taken;
    size_t count;
    (void)user;
    tn_free(event->result);
    EXPECT(tn_tool_execute(echo, "{\"text\":\"x\"}", NULL), TN_E_REENTRANT);
    EXPECT(tn_tool_execute(NULL, NULL, NULL), TN_E_REENTRANT);
    EXPECT(tn_mcp_load("{}", NULL, NULL, NULL), TN_E_REENTRANT);
    EXPECT(tn_mcp_inventory("{}", NULL, NULL), TN_E_REENTRANT);
    EXPECT(tn_mcp_request(mcp, "a", "ping", NULL, NULL), TN_E_REENTRANT);
    EXPECT(tn_mcp_restart(mcp, NULL, NULL), TN_E_REENTRANT);
    EXPECT(tn_mcp_close(mcp, NULL), TN_E_REENTRANT);
    EXPECT(tn_toolkit_create(NULL, NULL, NULL), TN_E_REENTRANT);
    EXPECT(tn_toolkit_execute(NULL, "x", NULL, NULL), TN_E_REENTRANT);
    EXPECT(tn_toolkit_close(NULL, NULL), TN_E_REENTRANT);
    EXPECT(tn_shutdown(1000), TN_E_REENTRANT);
    CHECK_INT(tn_queue_take(other, &taken, 1, 0, &count), TN_E_REENTRANT);
    EXPECT(tn_queue_take_json(other, 0), TN_E_REENTRANT);
    EXPECT(tn_answer(1, "{}"), TN_E_NOT_FOUND);
    EXPECT(tn_mcp_status(mcp), TN_OK);
    EXPECT(tn_config_parse("{}", NULL), TN_OK);
    tn_context *context = tn_context_new();
    tn_tools *tools = tn_mcp_tools(mcp);
    tn_tool *tool = tn_tools_find(tools, "a_echo");
    submit(tool, "{\"text\":\"x\"}", context, other, 7);
    tn_free(tool);
    tn_free(tools);
    tn_free(context);
    __atomic_store_n(&checked, 1, __ATOMIC_SEQ_CST);
}

static void what_a_callback_may_do(void) {
    other = tn_queue_new();
    tn_queue *queue = tn_queue_with_callback(try_everything, 0, NULL);
    submit(NULL, NULL, NULL, queue, 1);
    WAIT_FOR(get(&checked));
    expect_done(other, 7, TN_OK);
    check_echo(mcp, "a");
    tn_free(queue);
    tn_free(other);
}

int main(void) {
    begin();
    config servers = {0};
    add_tiny(&servers, "a");
    add_hostile(&servers, "mute", "never-answers");
    mcp = load_all(&servers);
    echo = find_tool(mcp, "a_echo");
    odd = find_tool(mcp, "mute_odd");
    in_order_and_dropped_once();
    closed_and_drained();
    freed_while_it_runs();
    freed_inside_its_own_callback();
    one_that_blocks();
    what_a_callback_may_do();
    tn_free(echo);
    tn_free(odd);
    tn_free(mcp);
    finish();
    return 0;
}
