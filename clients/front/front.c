/* The start: what a caller may have done to descriptors, signals and arguments, and the choice of the command. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "front.h"

static void interrupted(int number) {
    (void)number;
    _exit(130); /* as the command in Python */
}

int main(int count, char **arguments) {
    struct strings rest = {arguments + (count > 0), (size_t)(count > 0 ? count - 1 : 0)};
    struct sigaction earlier;
    hand_over_prepare(count, arguments);
    for (int descriptor = 0; descriptor < 3; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0)
            hand_over();
    for (size_t at = 0; at < rest.count; at++)
        if (!is_ascii(rest.items[at], strlen(rest.items[at])))
            hand_over();
    if (!sigaction(SIGINT, NULL, &earlier) && earlier.sa_handler == SIG_DFL)
        signal(SIGINT, interrupted);
    if (!strcmp(command_name(), "qsub"))
        qsub(rest);
    if (!strcmp(command_name(), "qdel"))
        qdel(rest);
    if (!strcmp(command_name(), "qstat"))
        qstat(rest);
    if (!strcmp(command_name(), "qacct"))
        qacct(rest);
    hand_over();
}
