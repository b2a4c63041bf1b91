/* SPDX-License-Identifier: Apache-2.0 */
#include "api/environment.h"

#include "base/log.h"
#include "base/option.h"
#include "boot/wire.h"
#include "select/name.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "CHORUS_"

/* Settings, and what chorusrun sets. */
static const char *const known[] = {
#define X(NAME, field, KIND, initial, text) PREFIX #NAME,
    CH_OPTION_LIST(X)
#undef X
        CH_WIRE_ENV_PE,
    CH_WIRE_ENV_N_PES,
    CH_WIRE_ENV_N_CORES,
    CH_WIRE_ENV_FD,
};
enum { KNOWN = sizeof(known) / sizeof(known[0]) };

static void check(const char *name)
{
    const char *near;

    for (size_t i = 0; i < KNOWN; i++)
        if (strcmp(known[i], name) == 0) return;
    near = ch_name_nearest(known, KNOWN, name);
    if (near != NULL && secure_getenv(name) != NULL)
        CH_LOG(WARN, "%s is no setting; did you mean %s?", name, near);
}

void ch_environment_warn(void)
{
    char name[64];

    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        const size_t bytes = strcspn(*entry, "=");

        if (strncmp(*entry, PREFIX, strlen(PREFIX)) != 0 || bytes >= sizeof(name)) continue;
        memcpy(name, *entry, bytes);
        name[bytes] = '\0';
        check(name);
    }
}
