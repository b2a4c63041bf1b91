/* SPDX-License-Identifier: Apache-2.0 */
#include "api/environment.h"

#include "base/log.h"
#include "base/option.h"
#include "base/version.h"
#include "select/name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "CHORUS_"
enum { PREFIX_CHARS = sizeof(PREFIX) - 1 };

/* Without the prefix: with it, names that have nothing in common would be similar. */
static const char *const known[CH_VARIABLE_COUNT] = {
#define X(NAME, ...) #NAME,
    CH_VARIABLE_LIST(X, X)
#undef X
};

static void check(const char *name)
{
    const char *near;

    for (size_t i = 0; i < CH_VARIABLE_COUNT; i++)
        if (strcmp(known[i], name + PREFIX_CHARS) == 0) return;
    near = ch_name_nearest(known, CH_VARIABLE_COUNT, name + PREFIX_CHARS);
    if (near != NULL && secure_getenv(name) != NULL)
        CH_LOG(WARN, "%s is not a variable of Chorus; did you mean " PREFIX "%s?", name, near);
}

void ch_environment_tell(uint32_t n_pes, uint32_t n_nodes, const char *where, uint64_t digest)
{
    char set[512] = "";
    size_t used = 0;

    for (size_t i = 0; i < CH_VARIABLE_COUNT; i++) {
        const char *const name = ch_variables[i].name, *const value = secure_getenv(name);

        if (ch_variables[i].setter == CH_SETTER_USER && value != NULL && used < sizeof(set))
            used += (size_t)snprintf(set + used, sizeof(set) - used, " %s=%s", name,
                                     ch_variable_shown(name, value));
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
