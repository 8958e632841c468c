/* The log: to standard error what is a warning or worse, or to a function, on a thread of its own, in order. Inside it
 * every blocking function is refused; a slow one delays nobody; `drop` ends it, once. */

#include "test.h"

#include <semaphore.h>

static pthread_t thread_of_log;
static bool in_callback, after_drop;
static int records, dropped, wrong_thread, level_seen;
static char messages[1 << 16];
static tn_mcp *mcp;
static tn_tool *tool;
static sem_t entered, go_on;

static void note_thread(void) {
    if (thread_of_log == 0)
        thread_of_log = pthread_self();
    wrong_thread += !pthread_equal(thread_of_log, pthread_self());
}

static void on_log(uintptr_t user, int32_t level, const char *target, const char *message) {
    note_thread();
    CHECK_INT(user, 42);
    CHECK(!in_callback && !after_drop);
    in_callback = true;
    CHECK(target[0] != 0);
    level_seen = level > level_seen ? level : level_seen;
    size_t length = strlen(messages);
    snprintf(messages + length, sizeof messages - length, "%d %s: %s\n", level, target, message);
    in_callback = false;
    __atomic_add_fetch(&records, 1, __ATOMIC_SEQ_CST);
}

static void on_drop(uintptr_t user) {
    note_thread();
    CHECK_INT(user, 42);
    after_drop = true;
    __atomic_add_fetch(&dropped, 1, __ATOMIC_SEQ_CST);
}

static void warn(void *value) {
    /* Freeing what is not the library's is a warning. */
    tn_free(value);
}

static void to_a_function(void) {
    config servers = {0};
    CHECK_INT(tn_log_to_callback(3, on_log, 42, on_drop), TN_OK);
    add_hostile(&servers, "bad", "exit-1-stderr");
    add_tiny(&servers, "good");
    EXPECT(tn_mcp_inventory(config_text(&servers), NULL, NULL), TN_OK);
    config_free(&servers);
    WAIT_FOR(strstr(messages, "db.connect") && strstr(messages, "server \"bad\" failed"));
    CHECK_INT(level_seen, 3);
    /* In the order in which they were caused. */
    const char *before_these = messages + strlen(messages);
    warn((void *)1);
    tn_context *context = tn_context_new();
    tn_free(context);
    warn(context);
    WAIT_FOR(strstr(messages, "was freed before (tn_context)"));
    const char *first = strstr(before_these, "is no reference of this library");
    CHECK(first != NULL && first < strstr(before_these, "was freed before (tn_context)"));

    /* Refused: nothing changes, and the user value stays the host's. */
    CHECK_INT(tn_log_to_callback(6, on_log, 43, on_drop), TN_E_ARGUMENT);
    CHECK_INT(tn_log_to_callback(-1, on_log, 43, on_drop), TN_E_ARGUMENT);
    /* Off: nothing more comes. */
    CHECK_INT(tn_log_to_callback(0, on_log, 42, on_drop), TN_OK);
    WAIT_FOR(dropped == 1);
    after_drop = false;
    int before = records;
    warn((void *)1);
    CHECK_INT(tn_log_to_callback(1, on_log, 42, on_drop), TN_OK);
    WAIT_FOR(dropped == 2);
    after_drop = false;
    warn((void *)1);
    CHECK_INT(tn_log_to_callback(2, NULL, 42, on_drop), TN_OK);
    /* The old one's, and that of the value which came with no function. */
    WAIT_FOR(dropped == 4);
    CHECK_INT(records, before);
    CHECK_INT(wrong_thread, 0);
    CHECK(!pthread_equal(thread_of_log, pthread_self()));
}

static void refused(tn_result *result) {
    CHECK_STATUS(result, TN_E_REENTRANT);
    CHECK(tn_result_is_error(result));
    CHECK_HAS(tn_result_output(result, NULL), "callback");
    tn_free(result);
}

static void call_back_in(uintptr_t user, int32_t level, const char *target, const char *message) {
    (void)user, (void)level, (void)target, (void)message;
    refused(tn_tool_execute(tool, "{\"text\":\"x\"}", NULL));
    refused(tn_mcp_load("{}", NULL, NULL, NULL));
    refused(tn_mcp_inventory("{}", NULL, NULL));
    refused(tn_mcp_request(mcp, "good", "ping", NULL, NULL));
    refused(tn_mcp_restart(mcp, NULL, NULL));
    refused(tn_mcp_close(mcp, NULL));
    refused(tn_shutdown(1000));
    /* What does not block works. */
    EXPECT(tn_config_parse("{}", NULL), TN_OK);
    EXPECT(tn_mcp_status(mcp), TN_OK);
    CHECK_INT(tn_check(mcp), TN_OK);
    tn_context *context = tn_context_new();
    CHECK_INT(tn_context_cancel(context), TN_OK);
    tn_free(context);
    tn_tools *tools = tn_mcp_tools(mcp);
    CHECK_INT(tn_tools_len(tools), 3);
    tn_free(tools);
    sem_post(&entered);
}

static void wait_there(uintptr_t user, int32_t level, const char *target, const char *message) {
    (void)user, (void)level, (void)target, (void)message;
    sem_post(&entered);
    sem_wait(&go_on);
}

static void inside_and_slow(void) {
    config servers = {0};
    add_tiny(&servers, "good");
    mcp = load_all(&servers);
    tool = find_tool(mcp, "good_echo");
    CHECK_INT(tn_log_to_callback(2, call_back_in, 0, NULL), TN_OK);
    warn((void *)1);
    sem_wait(&entered);
    /* The host's own threads are none the wiser. */
    check_echo(mcp, "good");

    CHECK_INT(tn_log_to_callback(2, wait_there, 0, NULL), TN_OK);
    warn((void *)1);
    sem_wait(&entered);
    for (int i = 0; i < 3000; i++)
        warn((void *)1);
    check_echo(mcp, "good");
    EXPECT(tn_mcp_restart(mcp, NULL, NULL), TN_OK);
    CHECK_INT(tn_log_to_callback(0, NULL, 0, NULL), TN_OK);
    for (int i = 0; i < 4000; i++)
        sem_post(&go_on);
    tn_free(tool);
    tn_free(mcp);
}

/* Nothing is ever written to stdout; standard error gets warnings while no function is set. */
static void to_standard_error(void) {
    static char text[1 << 16];
    int out[2], err[2], before[2] = {dup(1), dup(2)};
    CHECK(pipe2(out, O_NONBLOCK | O_CLOEXEC) == 0 && pipe2(err, O_NONBLOCK | O_CLOEXEC) == 0);
    dup2(out[1], 1);
    dup2(err[1], 2);
    CHECK_INT(tn_log_to_callback(5, NULL, 0, NULL), TN_OK);
    config servers = {0};
    add_hostile(&servers, "bad", "exit-1-stderr");
    add_tiny(&servers, "good");
    EXPECT(tn_mcp_inventory(config_text(&servers), NULL, NULL), TN_OK);
    config_free(&servers);
    tn_free(tn_shutdown(PATIENCE_MS));
    dup2(before[0], 1);
    dup2(before[1], 2);
    ssize_t length = read(err[0], text, sizeof text - 1);
    CHECK(length > 0);
    text[length] = 0;
    CHECK_HAS(text, "toolnexus: mcp: server \"bad\" failed");
    /* A single line: what is less than a warning stays out, however it was asked for. */
    CHECK(strchr(text, '\n') == text + length - 1);
    CHECK_INT(read(out[0], text, sizeof text), -1);
    for (int i = 0; i < 2; i++) {
        close(out[i]);
        close(err[i]);
        close(before[i]);
    }
}

static int inside, at_once, entries;

static void hold(uintptr_t user, int32_t level, const char *target, const char *message) {
    (void)user, (void)level, (void)target, (void)message;
    int now = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
    at_once = now > at_once ? now : at_once;
    sem_post(&entered);
    sem_wait(&go_on);
    __atomic_add_fetch(&entries, 1, __ATOMIC_SEQ_CST);
    __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
}

static void *shut_down(void *unused) {
    (void)unused;
    EXPECT(tn_shutdown(PATIENCE_MS), TN_OK);
    return NULL;
}

/* A function that does not return: told as a time-out, and waited for by the next shutdown. What is written meanwhile waits
 * for it, too: a second thread would call the function while the first one does. */
static void busy_at_the_end(void) {
    struct timespec until;
    while (sem_trywait(&entered) == 0 || sem_trywait(&go_on) == 0) {
    }
    CHECK_INT(tn_log_to_callback(2, hold, 0, NULL), TN_OK);
    warn((void *)1);
    sem_wait(&entered);
    EXPECT(tn_shutdown(50), TN_E_TIMEOUT);
    warn((void *)1);
    EXPECT(tn_shutdown(50), TN_E_TIMEOUT);
    pthread_t ending = start_thread(shut_down, NULL);
    warn((void *)1);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    CHECK(sem_timedwait(&entered, &until) != 0);
    CHECK_INT(entries, 0);
    for (int i = 0; i < 3; i++)
        sem_post(&go_on);
    join_thread(ending);
    CHECK_INT(entries, 3);
    CHECK_INT(at_once, 1);
    WAIT_FOR(count_threads() == 1);
    /* And anew. */
    sem_post(&go_on);
    warn((void *)1);
    WAIT_FOR(__atomic_load_n(&entries, __ATOMIC_SEQ_CST) == 4);
    CHECK_INT(tn_log_to_callback(0, NULL, 0, NULL), TN_OK);
}

static volatile bool stop;
static int written, delivered;

static void count(uintptr_t user, int32_t level, const char *target, const char *message) {
    (void)user, (void)level, (void)target, (void)message;
    int now = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
    at_once = now > at_once ? now : at_once;
    __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&delivered, 1, __ATOMIC_SEQ_CST);
}

static void *write_and_write(void *unused) {
    (void)unused;
    for (; !stop; nap()) {
        warn((void *)1);
        __atomic_add_fetch(&written, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

/* Records that are written while the log ends come all the same, and keep no shutdown waiting. */
static void written_during_shutdowns(void) {
    pthread_t threads[3];
    CHECK_INT(tn_log_to_callback(2, count, 0, NULL), TN_OK);
    for (int i = 0; i < 3; i++)
        threads[i] = start_thread(write_and_write, NULL);
    for (int i = 0; i < 300; i++) {
        int before = __atomic_load_n(&written, __ATOMIC_SEQ_CST);
        EXPECT(tn_shutdown(PATIENCE_MS), TN_OK);
        WAIT_FOR(__atomic_load_n(&written, __ATOMIC_SEQ_CST) != before);
    }
    stop = true;
    for (int i = 0; i < 3; i++)
        join_thread(threads[i]);
    WAIT_FOR(__atomic_load_n(&delivered, __ATOMIC_SEQ_CST) == written);
    CHECK_INT(at_once, 1);
    CHECK_INT(tn_log_to_callback(0, NULL, 0, NULL), TN_OK);
}

int main(void) {
    begin();
    sem_init(&entered, 0, 0);
    sem_init(&go_on, 0, 0);
    to_standard_error();
    to_a_function();
    inside_and_slow();
    finish();
    busy_at_the_end();
    finish();
    written_during_shutdowns();
    finish();
    return 0;
}
