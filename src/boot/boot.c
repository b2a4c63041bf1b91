/* SPDX-License-Identifier: Apache-2.0 */
#include "boot/ways.h"
#include "boot/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

chorus_status ch_boot_open(uint64_t timeout_ns, struct ch_boot **boot_out)
{
    if (secure_getenv(CH_WIRE_ENV_FD) == NULL) return ch_boot_alone(timeout_ns, boot_out);
    return ch_boot_launcher(timeout_ns, boot_out);
}

chorus_status ch_fd_dup(int fd, int *fd_out)
{
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

    if (copy < 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "cannot duplicate descriptor %d: %s%s", fd,
                       strerror(errno),
                       errno == EMFILE ? "; raise the limit with ulimit -n" : "");
    *fd_out = copy;
    return CHORUS_OK;
}

void ch_fd_close_all(const int *fds, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (fds[i] >= 0) (void)close(fds[i]);
}
