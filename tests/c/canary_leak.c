/* canary: memory
 * Leaks on purpose: valgrind and the address sanitizer must find it, or they find nothing. It also shows that a native
 * run of it is green, so that it is the leak that they find. */

#include "test.h"

int main(void) {
    begin();
    char *volatile lost = malloc(4321);
    tn_context *context = tn_context_new();
    CHECK(lost != NULL);
    lost = NULL;
    tn_free(context);
    finish();
    return 0;
}
