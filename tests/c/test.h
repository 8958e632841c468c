/* What the C tests share. Each test is one program: it ends with finish(), or at the first check that fails.
 *
 * Waiting is always for an event, with a bound that only what never comes will meet, however busy the machine. A time that
 * the library promises is checked with CHECK_WITHIN. */

#ifndef TN_TEST_H
#define TN_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The child that becomes a server leaves its stack without returning from a frame. The sanitizer keeps those frames'
 * poison, and would find it in whatever is mapped there next. */
#ifdef __SANITIZE_ADDRESS__
void __asan_unpoison_memory_region(void const volatile *address, size_t size);
int __real_munmap(void *address, size_t length);
int __wrap_munmap(void *address, size_t length);
int __wrap_munmap(void *address, size_t length) {
    __asan_unpoison_memory_region(address, length);
    return __real_munmap(address, length);
}
#endif

/* -- checks -------------------------------------------------------------------------------------------------------- */

/* _exit, so that the library's own exit handler hides nothing from the one who looks at what is left. */
#define FAIL(...) \
    do { \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
        fprintf(stderr, __VA_ARGS__); \
        fputc('\n', stderr); \
        _exit(1); \
    } while (0)

#define CHECK(condition) \
    do { \
        if (!(condition)) \
            FAIL("failed: %s", #condition); \
    } while (0)

#define CHECK_INT(got, wanted) \
    do { \
        long long got_ = (long long)(got), wanted_ = (long long)(wanted); \
        if (got_ != wanted_) \
            FAIL("%s is %lld, expected %lld", #got, got_, wanted_); \
    } while (0)

#define CHECK_TEXT(got, wanted) \
    do { \
        const char *got_ = (got), *wanted_ = (wanted); \
        if (got_ == NULL || strcmp(got_, wanted_) != 0) \
            FAIL("%s is\n  %s\nexpected\n  %s", #got, got_ ? got_ : "NULL", wanted_); \
    } while (0)

#define CHECK_HAS(text, part) \
    do { \
        const char *text_ = (text), *part_ = (part); \
        if (text_ == NULL || strstr(text_, part_) == NULL) \
            FAIL("%s lacks \"%s\":\n  %s", #text, part_, text_ ? text_ : "NULL"); \
    } while (0)

#define CHECK_LACKS(text, part) \
    do { \
        const char *text_ = (text), *part_ = (part); \
        if (text_ == NULL || strstr(text_, part_) != NULL) \
            FAIL("%s has \"%s\":\n  %s", #text, part_, text_ ? text_ : "NULL"); \
    } while (0)

/* -- time ---------------------------------------------------------------------------------------------------------- */

static inline int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Long enough for anything that comes at all. */
enum { PATIENCE_MS = 60000 };

/* How many times slower than usual everything is: 1, or more under a tool that slows the program down. */
static inline int slowness(void) {
    const char *text = getenv("TN_TEST_SLOW");
    return text ? atoi(text) : 1;
}

static inline void nap(void) {
    struct timespec ms = {0, 1000000};
    nanosleep(&ms, NULL);
}

/* Waits until the condition holds. */
#define WAIT_FOR(condition) \
    do { \
        int64_t until_ = now_ms() + PATIENCE_MS; \
        while (!(condition)) { \
            if (now_ms() > until_) \
                FAIL("waited %d ms in vain for: %s", PATIENCE_MS, #condition); \
            nap(); \
        } \
    } while (0)

/* `took` does something, and tells how many ms that took: less than `ms` once in ten times at least. A busy machine makes some
 * of them longer; what waits for something it should not wait for makes all of them longer. */
#define CHECK_WITHIN(ms, took) \
    do { \
        int64_t best_ = INT64_MAX; \
        for (int i_ = 0; i_ < 10 && best_ >= (int64_t)(ms) * slowness(); i_++) { \
            int64_t took_ = (took); \
            best_ = took_ < best_ ? took_ : best_; \
        } \
        if (best_ >= (int64_t)(ms) * slowness()) \
            FAIL("%s took %lld ms at best, expected less than %lld", #took, (long long)best_, (long long)(ms) * slowness()); \
    } while (0)

/* -- the process and its system ------------------------------------------------------------------------------------ */

static inline int count_entries(const char *folder) {
    DIR *entries = opendir(folder);
    int count = 0;
    if (entries == NULL)
        FAIL("%s: %s", folder, strerror(errno));
    for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries))
        count += entry->d_name[0] != '.';
    closedir(entries);
    return count;
}

static inline int count_fds(void) {
    /* Less the one that looks. */
    return count_entries("/proc/self/fd") - 1;
}

/* Those that can hide an end-of-file from another process. */
static inline int count_pipes(void) {
    DIR *entries = opendir("/proc/self/fd");
    char link[64];
    int count = 0;
    CHECK(entries != NULL);
    for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries)) {
        ssize_t length = readlinkat(dirfd(entries), entry->d_name, link, sizeof link - 1);
        link[length < 0 ? 0 : length] = 0;
        count += strncmp(link, "pipe:", 5) == 0 || strncmp(link, "socket:", 7) == 0;
    }
    closedir(entries);
    return count;
}

/* A thread that was joined stands here for a moment longer: WAIT_FOR() a count. */
static inline int count_threads(void) {
    return count_entries("/proc/self/task");
}

/* Reads a file of /proc, whose size nobody knows. Returns its length, NULs inside; -1 if it is gone. */
static inline ssize_t read_file(const char *path, char *buffer, size_t size) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t count = -1;
    if (file < 0)
        return -1;
    while (length < size - 1 && (count = read(file, buffer + length, size - 1 - length)) > 0)
        length += (size_t)count;
    close(file);
    buffer[length] = 0;
    return count < 0 ? -1 : (ssize_t)length;
}

/* The value that marks every server of this test, and whatever those start: it stands in their environment. */
static inline const char *mark(void) {
    static char text[64];
    if (text[0] == 0) {
        const char *inherited = getenv("TN_TEST_MARK");
        if (inherited)
            snprintf(text, sizeof text, "%s", inherited);
        else
            snprintf(text, sizeof text, "%ld-%lld", (long)getpid(), (long long)now_ms());
    }
    return text;
}

/* Visits the servers of this test, and the guardian of `host` (0: none), as they are now. Returns how many there are. The
 * guardian starts beside the servers, and ends after them: WAIT_FOR() a count that has it in. */
static inline int each_process(pid_t host, void (*visit)(pid_t pid)) {
    static char text[1 << 17];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    char wanted[96], path[64], guardian[64];
    int count = 0;
    DIR *processes = opendir("/proc");
    if (processes == NULL)
        FAIL("/proc: %s", strerror(errno));
    snprintf(wanted, sizeof wanted, "TN_TEST_MARK=%s", mark());
    snprintf(guardian, sizeof guardian, "%ld", (long)host);
    pthread_mutex_lock(&lock);
    for (struct dirent *entry = readdir(processes); entry; entry = readdir(processes)) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        ssize_t length;
        bool ours = false;
        if (pid <= 0 || pid == getpid())
            continue;
        snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
        length = read_file(path, text, sizeof text);
        for (ssize_t at = 0; at < length; at += (ssize_t)strlen(text + at) + 1)
            ours = ours || strcmp(text + at, wanted) == 0;
        if (host != 0 && !ours) {
            const char *last[2] = {"", ""};
            snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)pid);
            length = read_file(path, text, sizeof text);
            for (ssize_t at = 0; at < length; at += (ssize_t)strlen(text + at) + 1) {
                last[0] = last[1];
                last[1] = text + at;
            }
            ours = strcmp(last[0], "toolnexus-guardian") == 0 && strcmp(last[1], guardian) == 0;
        }
        if (ours) {
            count++;
            if (visit)
                visit(pid);
        }
    }
    pthread_mutex_unlock(&lock);
    closedir(processes);
    return count;
}

static inline void show_process(pid_t pid) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)pid);
    ssize_t length = read_file(path, text, sizeof text);
    for (ssize_t at = 0; at + 1 < length; at++)
        text[at] = text[at] ? text[at] : ' ';
    fprintf(stderr, "  %ld %s\n", (long)pid, length > 0 ? text : "(gone)");
}

static inline int count_processes(pid_t host) {
    return each_process(host, NULL);
}

/* No server is left, now; and the guardian ends. */
static inline void expect_nothing_left(void) {
    if (count_processes(0) != 0) {
        each_process(0, show_process);
        FAIL("servers are left");
    }
    WAIT_FOR(count_processes(getpid()) == 0);
}

/* True if a child of ours is there, zombies included. */
static inline bool has_children(void) {
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Starts this program again as the role `role`, with a pipe from its stdout, in a process group of the test's. */
static inline pid_t start_role(const char *role, int *out) {
    int ends[2];
    pid_t pid;
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    setenv("TN_TEST_MARK", mark(), 1);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], 1);
        execl("/proc/self/exe", program_invocation_name, role, (char *)NULL);
        _exit(126);
    }
    unsetenv("TN_TEST_MARK");
    close(ends[1]);
    *out = ends[0];
    return pid;
}

/* Reads one line from another role, which must come. */
static inline void expect_line(int from, const char *wanted) {
    char line[256];
    size_t length = 0;
    while (length < sizeof line - 1) {
        ssize_t count = read(from, line + length, 1);
        if (count <= 0 || line[length] == '\n')
            break;
        length++;
    }
    line[length] = 0;
    CHECK_TEXT(line, wanted);
}

static inline int wait_exit(pid_t pid) {
    int status;
    while (waitpid(pid, &status, 0) < 0)
        CHECK_INT(errno, EINTR);
    return status;
}

/* -- threads ------------------------------------------------------------------------------------------------------- */

/* False if the system has no thread to give. */
static inline bool try_start_thread(void *(*body)(void *), void *argument, pthread_t *thread) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 512 * 1024);
    int error = pthread_create(thread, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    CHECK(error == 0 || error == EAGAIN);
    return error == 0;
}

static inline pthread_t start_thread(void *(*body)(void *), void *argument) {
    pthread_t thread;
    CHECK(try_start_thread(body, argument, &thread));
    return thread;
}

static inline void *join_thread(pthread_t thread) {
    void *value;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    if (pthread_timedjoin_np(thread, &value, &until) != 0)
        FAIL("a thread hangs");
    return value;
}

/* -- configs ------------------------------------------------------------------------------------------------------- */

static inline const char *servers_folder(void) {
    const char *folder = getenv("TN_TEST_SERVERS");
    return folder ? folder : "target/debug/examples";
}

/* An mcp.json in the making. */
typedef struct {
    char *text;
    size_t length, size;
} config;

static inline void add_text(config *made, const char *format, ...) {
    va_list values;
    int length;
    if (made->size - made->length < 16384) {
        made->size = made->size * 2 + 65536;
        made->text = realloc(made->text, made->size);
        CHECK(made->text != NULL);
    }
    va_start(values, format);
    length = vsnprintf(made->text + made->length, made->size - made->length, format, values);
    va_end(values);
    CHECK(length >= 0 && (size_t)length < made->size - made->length);
    made->length += (size_t)length;
}

/* Adds the server `program` with one argument (or none) and further members of the entry, such as ",\"timeout\":2000".
 * Further arguments stand in the same string, separated by blanks. */
static inline void add_server(config *made, const char *name, const char *program, const char *arguments,
                              const char *members) {
    add_text(made, "%s\"%s\":{\"command\":[\"%s/%s\"", made->length ? "," : "{", name, servers_folder(), program);
    while (*arguments) {
        size_t length = strcspn(arguments, " ");
        add_text(made, ",\"%.*s\"", (int)length, arguments);
        arguments += length + (arguments[length] == ' ');
    }
    add_text(made, "]%s", members);
    /* An entry that has an environment of its own marks itself. */
    if (strstr(members, "\"env\"") == NULL)
        add_text(made, ",\"env\":{\"TN_TEST_MARK\":\"%s\"}", mark());
    add_text(made, "}");
}

static inline void add_tiny(config *made, const char *name) {
    add_server(made, name, "tiny-server", "", "");
}

static inline void add_hostile(config *made, const char *name, const char *behaviour) {
    add_server(made, name, "hostile-server", behaviour, "");
}

static inline const char *config_text(config *made) {
    add_text(made, "}");
    made->length--;
    return made->text;
}

static inline void config_free(config *made) {
    free(made->text);
    memset(made, 0, sizeof *made);
}

/* -- the library --------------------------------------------------------------------------------------------------- */

#ifndef TEST_WITHOUT_LIBRARY

#include "toolnexus.h"

#define CHECK_STATUS(result, wanted) \
    do { \
        const tn_result *result_ = (result); \
        tn_status status_ = tn_result_status(result_), wanted_ = (wanted); \
        if (status_ != wanted_) \
            FAIL("%s is %s, expected %s: %s", #result, tn_status_name(status_), tn_status_name(wanted_), \
                 tn_result_output(result_, NULL)); \
    } while (0)

/* Gives the result back after a look at its status. */
#define EXPECT(call, wanted) \
    do { \
        tn_result *expected_ = (call); \
        CHECK_STATUS(expected_, wanted); \
        CHECK_INT(tn_result_is_error(expected_), (wanted) != TN_OK); \
        tn_free(expected_); \
    } while (0)

/* Loads the config, in which every server must connect. */
static inline tn_mcp *load_all(config *made) {
    tn_result *result = tn_mcp_load(config_text(made), NULL, NULL, NULL);
    tn_mcp *mcp;
    CHECK_STATUS(result, TN_OK);
    CHECK_LACKS(tn_result_json(result, NULL), "\"status\":\"failed\"");
    mcp = tn_result_take_mcp(result);
    CHECK(mcp != NULL);
    tn_free(result);
    config_free(made);
    return mcp;
}

static inline tn_tool *find_tool(const tn_mcp *mcp, const char *name) {
    tn_tools *tools = tn_mcp_tools(mcp);
    tn_tool *tool = tn_tools_find(tools, name);
    if (tool == NULL)
        FAIL("there is no tool %s", name);
    tn_free(tools);
    return tool;
}

/* Calls a tool by its name. */
static inline tn_result *call_tool(const tn_mcp *mcp, const char *name, const char *arguments, tn_context *context) {
    tn_tool *tool = find_tool(mcp, name);
    tn_result *result = tn_tool_execute(tool, arguments, context);
    tn_free(tool);
    return result;
}

/* Calls the tool echo of a server that must be well. */
static inline void check_echo(const tn_mcp *mcp, const char *server) {
    char name[96];
    snprintf(name, sizeof name, "%s_echo", server);
    tn_result *result = call_tool(mcp, name, "{\"text\":\"hello\"}", NULL);
    CHECK_STATUS(result, TN_OK);
    CHECK_TEXT(tn_result_output(result, NULL), "hello");
    tn_free(result);
}

static inline int *fds_at_start(void) {
    static int count;
    return &count;
}

/* The first line of a test: what finish() compares with. */
static inline void begin(void) {
    *fds_at_start() = count_fds();
}

/* Ends the library, which must have nothing left: no reference, process, thread or descriptor. */
static inline void finish(void) {
    tn_result *result = tn_shutdown(PATIENCE_MS);
    CHECK_STATUS(result, TN_OK);
    CHECK_TEXT(tn_result_json(result, NULL), "{\"live\":{}}");
    tn_free(result);
    expect_nothing_left();
    CHECK(!has_children());
    WAIT_FOR(count_threads() == 1);
    if (*fds_at_start() != 0)
        CHECK_INT(count_fds(), *fds_at_start());
}

#endif
#endif
