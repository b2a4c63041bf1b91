/* SPDX-License-Identifier: Apache-2.0 */
#include "api/uniqueid.h"

#include "api/context.h"
#include "boot/tree.h"
#include "boot/uniqueid.h"

chorus_status ch_uniqueid_args_check(const char *function, int rank, int n_ranks,
                                     const chorusx_uniqueid_t *id)
{
    if (n_ranks < 1 || n_ranks > CH_TREE_PES_MAX)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: n_ranks is %d; expected 1 to %d", function, n_ranks,
                       CH_TREE_PES_MAX);
    if (rank < 0 || rank >= n_ranks)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: rank is %d; expected 0 to %d", function, rank,
                       n_ranks - 1);
    if (ch_uniqueid_check(id->bytes, sizeof(id->bytes))) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "%s: id was not made by chorusx_get_uniqueid of this version; pass to every "
                   "process the id that one process got from it",
                   function);
}

static chorus_status make(const char *function, chorusx_uniqueid_t *id)
{
    if (id == NULL)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: id is null; expected the address of an id",
                       function);
    return ch_uniqueid_make(id->bytes, sizeof(id->bytes));
}

int chorusx_get_uniqueid(chorusx_uniqueid_t *id)
{
    return ch_give(__func__, make(__func__, id));
}

static chorus_status set_attr(const char *function, int rank, int n_ranks,
                              const chorusx_uniqueid_t *id, chorusx_init_attr_t *attr)
{
    if (id == NULL || attr == NULL)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: %s is null; expected an address", function,
                       id == NULL ? "id" : "attr");
    CH_TRY(ch_uniqueid_args_check(function, rank, n_ranks, id));
    attr->rank = rank;
    attr->n_ranks = n_ranks;
    attr->id = *id;
    return CHORUS_OK;
}

int chorusx_set_attr_uniqueid_args(int rank, int n_ranks, const chorusx_uniqueid_t *id,
                                   chorusx_init_attr_t *attr)
{
    return ch_give(__func__, set_attr(__func__, rank, n_ranks, id, attr));
}
