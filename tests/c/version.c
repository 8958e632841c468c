/* The header, the library and the package agree on their versions, and every status has its name. */

#include "test.h"

#define CHECK_NAME(status) CHECK_TEXT(tn_status_name(status), #status)

int main(void) {
    const char *version = getenv("TN_TEST_VERSION");
    CHECK_INT(tn_abi_version(), TN_ABI_VERSION);
    if (version)
        CHECK_TEXT(tn_version(), version);
    CHECK(tn_version() == tn_version());
    CHECK_NAME(TN_OK);
    CHECK_NAME(TN_E_ARGUMENT);
    CHECK_NAME(TN_E_UTF8);
    CHECK_NAME(TN_E_JSON);
    CHECK_NAME(TN_E_HANDLE);
    CHECK_NAME(TN_E_REENTRANT);
    CHECK_NAME(TN_E_FORKED);
    CHECK_NAME(TN_E_CONFIG);
    CHECK_NAME(TN_E_NOT_FOUND);
    CHECK_NAME(TN_E_CANCELLED);
    CHECK_NAME(TN_E_TIMEOUT);
    CHECK_NAME(TN_E_CLOSED);
    CHECK_NAME(TN_E_LIMIT);
    CHECK_NAME(TN_E_SPAWN);
    CHECK_NAME(TN_E_TRANSPORT);
    CHECK_NAME(TN_E_PROTOCOL);
    CHECK_NAME(TN_E_SERVER);
    CHECK_NAME(TN_E_AUTH);
    CHECK_NAME(TN_E_INTERNAL);
    for (tn_status status = -3; status < 200; status++)
        CHECK_HAS(tn_status_name(status), "TN_");
    CHECK_TEXT(tn_status_name(9), "TN_E_INTERNAL");
    CHECK_TEXT(tn_status_name(INT32_MIN), "TN_E_INTERNAL");
    /* Asking costs no thread. */
    WAIT_FOR(count_threads() == 1);
    finish();
    return 0;
}
