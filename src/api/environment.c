/* SPDX-License-Identifier: Apache-2.0 */
#include "api/environment.h"

#include "base/log.h"
#include "base/option.h"
#include "base/version.h"
#include "boot/wire.h"
#include "select/name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "CHORUS_"
enum { PREFIX_CHARS = sizeof(PREFIX) - 1 };

/* Variables of the library, of chorusrun and of torchrun.c, without the prefix: with the
 * prefix, names that have nothing in common would be similar. */
static const char *const known[] = {
#define X(NAME, field, KIND, initial, text) #NAME,
    CH_OPTION_LIST(X)
#undef X
        & CH_WIRE_ENV_PE[PREFIX_CHARS],
    &CH_WIRE_ENV_N_PES[PREFIX_CHARS],
    &CH_WIRE_ENV_N_CORES[PREFIX_CHARS],
    &CH_WIRE_ENV_FD[PREFIX_CHARS],
    &CH_WIRE_ENV_SPARE[PREFIX_CHARS],
    &CH_WIRE_ENV_ROOT[PREFIX_CHARS],
    &CH_WIRE_ENV_SECRET_FD[PREFIX_CHARS],
    "PORT",
    "SECRET",
};
enum { KNOWN = sizeof(known) / sizeof(known[0]) };

/* The first entries of the list are variables of the library. */
enum {
#define X(NAME, field, KIND, initial, text) +1
    SETTINGS = 0 CH_OPTION_LIST(X)
#undef X
};

static void check(const char *name)
{
    const char *near;

    for (size_t i = 0; i < KNOWN; i++)
        if (strcmp(known[i], name + PREFIX_CHARS) == 0) return;
    near = ch_name_nearest(known, KNOWN, name + PREFIX_CHARS);
    if (near != NULL && secure_getenv(name) != NULL)
        CH_LOG(WARN, "%s is not a variable of Chorus; did you mean " PREFIX "%s?", name, near);
}

void ch_environment_tell(uint32_t n_pes, uint32_t n_nodes, const char *where, uint64_t digest)
{
    char set[512] = "";
    size_t used = 0;

    for (size_t i = 0; i < SETTINGS; i++) {
        char name[64];
        const char *value;

        (void)snprintf(name, sizeof(name), PREFIX "%s", known[i]);
        value = secure_getenv(name);
        if (value != NULL && used < sizeof(set))
            used += (size_t)snprintf(set + used, sizeof(set) - used, " %s=%s", name, value);
    }
    CH_LOG(INFO,
           "Chorus " CH_VERSION
           ": PEs: %u, hosts: %u, objects in %s, rule tables %016llx; set:%s",
           n_pes, n_nodes, where, (unsigned long long)digest, used == 0 ? " no variable" : set);
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
