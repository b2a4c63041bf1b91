/* SPDX-License-Identifier: Apache-2.0 */
/* own.h: what belongs to the user of this process: a folder for sockets, and their peers. */
#ifndef CH_OWN_H
#define CH_OWN_H

#include "base/error.h"

#include <stdbool.h>

enum { CH_OWN_PATH_BYTES = 64 };

/*
 * A folder to which only this user has access: `chorus` in $XDG_RUNTIME_DIR or in
 * /run/user/<uid>, /tmp/chorus-<uid>, or .chorus in $HOME, the first that can be had. It is
 * created with mode 0700, or must have it; other users can neither replace it nor make it a
 * link. Returns its path, and a descriptor of it, close-on-exec. ERR_UNSUPPORTED: there is
 * none; the message names the reason of each.
 */
CH_MUST_CHECK chorus_status ch_own_folder(char path_out[CH_OWN_PATH_BYTES], int *fd_out);

/* Is the process that connected this UNIX socket, or that listens at it, of this user? */
bool ch_own_peer(int sock);

#endif /* CH_OWN_H */
