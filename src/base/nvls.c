/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nvls.h"

#include "base/number.h"

#include <stddef.h>

/* Other variables that disable it. A value that is not a number counts as a disabling one. */
static const struct {
    const char *name;
    bool permits; /* false: 0 disables; true: every other number disables */
} sites[] = {
    {"NCCL_NVLS_ENABLE", true},
    {"NVSHMEM_DISABLE_NVLS", false},
    {"TORCH_SYMM_MEM_DISABLE_MULTICAST", false},
};

static bool says_no(const char *text, bool permits)
{
    uint64_t value;

    return !ch_number_whole(text, 0, UINT64_MAX, &value) || (value != 0) != permits;
}

const char *ch_nvls_forbidden(bool is_asked, ch_environment *get)
{
    if (!is_asked) return "CHORUS_NVLS";
    for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
        const char *text = get(sites[i].name);

        if (text != NULL && *text != '\0' && says_no(text, sites[i].permits))
            return sites[i].name;
    }
    return NULL;
}
