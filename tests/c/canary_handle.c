/* canary: handle
 * Keeps a reference on purpose: finish() must find it, in the count of tn_shutdown. */

#include "test.h"

int main(void) {
    begin();
    CHECK(tn_context_new() != NULL);
    finish();
    return 0;
}
