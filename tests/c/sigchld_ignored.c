/* A host that ignores SIGCHLD, so that nobody learns how a child ended: servers are ended and noticed all the same. */

#include "sigchld.h"

int main(void) {
    struct sigaction action;
    begin();
    signal(SIGCHLD, SIG_IGN);
    servers_end_and_are_noticed();
    sigaction(SIGCHLD, NULL, &action);
    CHECK(action.sa_handler == SIG_IGN);
    finish();
    return 0;
}
