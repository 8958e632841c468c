/* Secrets stay hidden: values of env, envFile and headers, and of expanded variables, are planted in a config and looked
 * for in everything that the library itself writes. */

#include "test.h"

#define SECRET "S3CRET-"

static char log_text[1 << 18];
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void on_log(uintptr_t user, int32_t level, const char *target, const char *message) {
    (void)user;
    pthread_mutex_lock(&log_lock);
    size_t length = strlen(log_text);
    snprintf(log_text + length, sizeof log_text - length, "%d %s: %s\n", level, target, message);
    pthread_mutex_unlock(&log_lock);
}

static void add(config *servers, const char *name, const char *rest) {
    add_text(servers, "%s\"%s\":{%s}", servers->length ? "," : "{", name, rest);
}

static void hides(tn_result *result) {
    CHECK_LACKS(tn_result_json(result, NULL), SECRET);
    CHECK_LACKS(tn_result_output(result, NULL), SECRET);
}

int main(void) {
    config servers = {0};
    char entry[1024], file[64];
    const char *folder = servers_folder();
    begin();
    CHECK_INT(tn_log_to_callback(5, on_log, 0, NULL), TN_OK);
    setenv("TN_TEST_VARIABLE", SECRET "from-the-host", 1);
    setenv("TN_TEST_COMMAND", SECRET "command", 1);
    setenv("TN_TEST_FOLDER", "/" SECRET "folder", 1);
    snprintf(file, sizeof file, "/tmp/toolnexus-secrets-%ld", (long)getpid());
    FILE *dotenv = fopen(file, "w");
    CHECK(dotenv != NULL && fprintf(dotenv, "API_TOKEN=" SECRET "in-a-file\n") > 0 && fclose(dotenv) == 0);

    /* Written to its standard error by each of three servers, which then end. */
    const char *env[] = {"\"env\":{\"API_TOKEN\":\"" SECRET "literal\"}", "\"env\":{\"API_TOKEN\":\"${TN_TEST_VARIABLE}\"}",
                         NULL};
    char from_file[128];
    snprintf(from_file, sizeof from_file, "\"envFile\":\"%s\"", file);
    env[2] = from_file;
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "stderr%d", i);
        snprintf(entry, sizeof entry, "\"command\":[\"%s/hostile-server\",\"environment-in-stderr\"],%s", folder, env[i]);
        add(&servers, name, entry);
    }
    /* In what cannot be started, and is named in the reason. */
    add(&servers, "command", "\"command\":[\"/nowhere/${TN_TEST_COMMAND}\"]");
    snprintf(entry, sizeof entry, "\"command\":[\"%s/tiny-server\"],\"cwd\":\"${TN_TEST_FOLDER}\"", folder);
    add(&servers, "folder", entry);
    /* In an argument that the server does not like. */
    snprintf(entry, sizeof entry, "\"command\":[\"%s/hostile-server\",\"${TN_TEST_VARIABLE}\"]", folder);
    add(&servers, "argument", entry);
    add(&servers, "remote", "\"url\":\"https://user:" SECRET "userinfo@127.0.0.1:9/mcp\","
                            "\"headers\":{\"Authorization\":\"Bearer " SECRET "header\"}");
    /* A server that is well, whose environment holds one. */
    snprintf(entry, sizeof entry, "\"command\":[\"%s/hostile-server\",\"crash-mid-call\"],%s", folder, env[0]);
    add(&servers, "well", entry);
    const char *text = config_text(&servers);

    tn_result *result = tn_config_parse(text, "{\"secrets\":true}");
    CHECK_STATUS(result, TN_OK);
    /* They are there to be found. */
    CHECK_HAS(tn_result_json(result, NULL), SECRET "literal");
    CHECK_HAS(tn_result_json(result, NULL), SECRET "from-the-host");
    CHECK_HAS(tn_result_json(result, NULL), SECRET "header");
    tn_free(result);
    result = tn_config_parse(text, NULL);
    CHECK_STATUS(result, TN_OK);
    hides(result);
    CHECK_HAS(tn_result_json(result, NULL), "***");
    tn_free(result);
    result = tn_mcp_inventory(text, NULL, NULL);
    CHECK_STATUS(result, TN_OK);
    hides(result);
    tn_free(result);

    result = tn_mcp_load(text, NULL, NULL, NULL);
    CHECK_STATUS(result, TN_OK);
    hides(result);
    /* The reasons are there all the same. */
    const char *said = tn_result_json(result, NULL);
    for (int i = 0; i < 3; i++) {
        said = strstr(said, "\"stderr\":\"cannot sign in with API_TOKEN=***\"");
        CHECK(said++ != NULL);
    }
    CHECK_HAS(tn_result_json(result, NULL), "/nowhere/***");
    tn_mcp *mcp = tn_result_take_mcp(result);
    tn_free(result);
    result = tn_mcp_status(mcp);
    hides(result);
    tn_free(result);

    /* What a server sends is never altered. */
    result = call_tool(mcp, "well_process", NULL, NULL);
    CHECK_HAS(tn_result_output(result, NULL), SECRET "literal");
    tn_free(result);
    const char *tools[] = {"stderr0", "command", "argument", "remote"};
    for (int i = 0; i < 4; i++) {
        result = tn_mcp_request(mcp, tools[i], "ping", NULL, NULL);
        CHECK_STATUS(result, TN_E_TRANSPORT);
        hides(result);
        tn_free(result);
    }
    result = tn_mcp_restart(mcp, "stderr1", NULL);
    CHECK(tn_result_is_error(result));
    hides(result);
    tn_free(result);
    tn_tools *list = tn_mcp_tools(mcp);
    CHECK_LACKS(tn_tools_json(list, NULL), SECRET);
    tn_free(list);
    tn_free(mcp);
    tn_free(tn_shutdown(PATIENCE_MS));
    CHECK_HAS(log_text, "cannot sign in with API_TOKEN=***");
    CHECK_LACKS(log_text, SECRET);
    CHECK_INT(tn_log_to_callback(2, NULL, 0, NULL), TN_OK);
    unlink(file);
    config_free(&servers);
    finish();
    return 0;
}
