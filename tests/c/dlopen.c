/* A plug-in host: it opens the library, uses it, closes it, and then its threads end. Nothing crashes, since the
 * library stays where it is; opened again, it works again.
 * link: dlopen
 * asan: no, that build is static */

#define TEST_WITHOUT_LIBRARY
#include "test.h"
#include "toolnexus.h"

#include <dlfcn.h>

/* ISO C has no cast from an object pointer to a function pointer, POSIX has its bytes. */
#define SYMBOL(library, function) \
    do { \
        void *address_ = dlsym(library, "tn_" #function); \
        if (address_ == NULL) \
            FAIL("tn_%s: %s", #function, dlerror()); \
        memcpy(&function, &address_, sizeof function); \
    } while (0)

static tn_result *(*mcp_load)(const char *, const char *, tn_queue *, tn_context *);
static tn_mcp *(*result_take_mcp)(tn_result *);
static tn_tools *(*mcp_tools)(const tn_mcp *);
static tn_tool *(*tools_find)(const tn_tools *, const char *);
static tn_result *(*tool_execute)(const tn_tool *, const char *, tn_context *);
static const char *(*result_output)(const tn_result *, size_t *);
static const char *(*result_json)(const tn_result *, size_t *);
static tn_result *(*shutdown_all)(uint32_t);
static void (*give_back)(void *);

static void *open_library(void) {
    const char *path = getenv("TN_TEST_LIBRARY");
    void *library = dlopen(path ? path : "target/c/libtoolnexus.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        FAIL("%s", dlerror());
    SYMBOL(library, mcp_load);
    SYMBOL(library, result_take_mcp);
    SYMBOL(library, mcp_tools);
    SYMBOL(library, tools_find);
    SYMBOL(library, tool_execute);
    SYMBOL(library, result_output);
    SYMBOL(library, result_json);
    void *address = dlsym(library, "tn_shutdown");
    memcpy(&shutdown_all, &address, sizeof address);
    address = dlsym(library, "tn_free");
    memcpy(&give_back, &address, sizeof address);
    return library;
}

/* Opens, uses and closes the library. `orderly`: with a shutdown first; else its threads still run at the dlclose. */
static void *use(void *orderly) {
    void *library = open_library();
    config servers = {0};
    add_tiny(&servers, "a");
    tn_result *result = mcp_load(config_text(&servers), NULL, NULL, NULL);
    tn_mcp *mcp = result_take_mcp(result);
    CHECK(mcp != NULL);
    tn_tools *tools = mcp_tools(mcp);
    tn_tool *tool = tools_find(tools, "a_echo");
    tn_result *answer = tool_execute(tool, "{\"text\":\"hello\"}", NULL);
    CHECK_TEXT(result_output(answer, NULL), "hello");
    give_back(answer);
    give_back(tool);
    give_back(tools);
    give_back(mcp);
    give_back(result);
    config_free(&servers);
    if (orderly) {
        result = shutdown_all(PATIENCE_MS);
        CHECK_TEXT(result_json(result, NULL), "{\"live\":{}}");
        give_back(result);
    }
    CHECK_INT(dlclose(library), 0);
    return NULL;
}

int main(void) {
    static char maps[1 << 18];
    read_file("/proc/self/maps", maps, sizeof maps);
    CHECK_LACKS(maps, "libtoolnexus");
    join_thread(start_thread(use, NULL));
    join_thread(start_thread(use, &maps));
    WAIT_FOR(count_threads() == 1);
    /* By now no thread is left whose destructors would hold the library. */
    CHECK_INT(dlclose(open_library()), 0);
    read_file("/proc/self/maps", maps, sizeof maps);
    CHECK_HAS(maps, "libtoolnexus");
    join_thread(start_thread(use, &maps));
    expect_nothing_left();
    WAIT_FOR(count_threads() == 1);
    return 0;
}
