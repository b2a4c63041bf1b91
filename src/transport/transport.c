/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/transport.h"

static chorus_status check_entry(const struct ch_transport_ops *ops, const char *entry,
                                 int is_there, uint32_t cap)
{
    const int is_claimed = (ops->caps & cap) != 0;

    if (is_there == is_claimed) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_STATE, "transport %s %s %s but by its capabilities it %s",
                   ops->name, is_there ? "has" : "lacks", entry, is_claimed ? "can" : "cannot");
}

chorus_status ch_transport_check(const struct ch_transport_ops *ops)
{
    if (ops->name == NULL || ops->open == NULL || ops->close == NULL)
        return CH_FAIL(CHORUS_ERR_STATE, "transport %s lacks its name, open or close",
                       ops->name != NULL ? ops->name : "without a name");
    CH_TRY(check_entry(ops, "map", ops->map != NULL, CH_CAP_MAP));
    CH_TRY(check_entry(ops, "put", ops->put != NULL, CH_CAP_PUT));
    CH_TRY(check_entry(ops, "get", ops->get != NULL, CH_CAP_PUT));
    CH_TRY(check_entry(ops, "fence", ops->fence != NULL, CH_CAP_PUT));
    CH_TRY(check_entry(ops, "quiet", ops->quiet != NULL, CH_CAP_PUT));
    return check_entry(ops, "amo", ops->amo != NULL, CH_CAP_AMO);
}
