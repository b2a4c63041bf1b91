/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team.c: the team calls of the standard: handles, and lists of PEs computed from triplets and
 * grids.
 */
#include "chorus/chorusx.h"

#include "api/context.h"
#include "coll/cuda/gpu.h"

#include <stdlib.h>

/* Find the context of this thread, and the team of a handle. */
static chorus_status find_team(const char *function, chorus_team_t handle,
                               struct ch_context **context_out, struct ch_team **team_out)
{
    CH_TRY(ch_context_require(function, context_out));
    return ch_error_prefix_if_failed(function,
                                     ch_team_get((*context_out)->teams, handle, team_out));
}

/* ch_team_create with an entry in the record and checks; the PEs compare the number of PEs of
 * the new team. */
static chorus_status create_team(struct ch_context *context, const char *function,
                                 chorus_team_t parent, const uint32_t pes[], uint32_t n,
                                 int num_contexts, chorus_team_t *new_team)
{
    struct ch_team *from;
    chorus_status status;
    uint64_t index;

    CH_TRY(ch_error_prefix_if_failed(function, ch_team_get(context->teams, parent, &from)));
    CH_TRY(ch_doing_begin(context, function, CH_DOING_team_create, from, n, &index));
    status = ch_team_create(context->teams, parent, pes, n, num_contexts, new_team);
    return ch_error_prefix_if_failed(function, ch_doing_end(context, index, status));
}

static chorus_status destroy_team(const char *function, chorus_team_t team)
{
    struct ch_context *context;
    struct ch_team *found;
    chorus_status status;
    uint64_t index;
    uint32_t slot;

    if (team == CHORUS_TEAM_INVALID) return CHORUS_OK;
    CH_TRY(find_team(function, team, &context, &found));
    CH_TRY(ch_doing_begin(context, function, CH_DOING_team_destroy, found, 0, &index));
    slot = found->slot;
    status = ch_team_destroy(context->teams, team);
    if (status == CHORUS_OK && context->gpu != NULL) ch_gpu_team_ended(context->gpu, slot);
    return ch_error_prefix_if_failed(function, ch_doing_end(context, index, status));
}

int chorus_team_my_pe(chorus_team_t team)
{
    struct ch_context *context;
    struct ch_team *found;

    return find_team(__func__, team, &context, &found) == CHORUS_OK ? (int)found->me : -1;
}

int chorus_team_n_pes(chorus_team_t team)
{
    struct ch_context *context;
    struct ch_team *found;

    return find_team(__func__, team, &context, &found) == CHORUS_OK ? (int)found->n : -1;
}

/* Fails for an unknown bit, and if a bit selects a field though config is null. */
static chorus_status check_mask(const char *function, long mask, const void *config)
{
    if ((mask & ~CHORUS_TEAM_NUM_CONTEXTS) != 0)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: config_mask is 0x%lx; expected 0 or CHORUS_TEAM_NUM_CONTEXTS",
                       function, (unsigned long)mask);
    if (mask != 0 && config == NULL)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: config is null, but config_mask is 0x%lx", function,
                       (unsigned long)mask);
    return CHORUS_OK;
}

/* Set *num_contexts_out to the field of config that the mask selects, or to its default, 0. */
static chorus_status read_config(const char *function, const chorus_team_config_t *config,
                                 long mask, int *num_contexts_out)
{
    CH_TRY(check_mask(function, mask, config));
    *num_contexts_out = mask == 0 ? 0 : config->num_contexts;
    if (*num_contexts_out >= 0) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG, "%s: num_contexts is %d; expected 0 or more", function,
                   *num_contexts_out);
}

static chorus_status get_config(const char *function, chorus_team_t team, long config_mask,
                                chorus_team_config_t *config)
{
    struct ch_context *context;
    struct ch_team *found;

    CH_TRY(find_team(function, team, &context, &found));
    CH_TRY(check_mask(function, config_mask, config));
    if (config_mask != 0) config->num_contexts = found->num_contexts;
    return CHORUS_OK;
}

int chorus_team_get_config(chorus_team_t team, long config_mask, chorus_team_config_t *config)
{
    return ch_handle_status(__func__, get_config(__func__, team, config_mask, config));
}

int chorus_team_translate_pe(chorus_team_t src_team, int src_pe, chorus_team_t dest_team)
{
    struct ch_context *context;
    struct ch_team *from = NULL, *to = NULL;

    if (find_team(__func__, src_team, &context, &from) != CHORUS_OK ||
        find_team(__func__, dest_team, &context, &to) != CHORUS_OK)
        return -1;
    if (src_pe < 0 || (uint32_t)src_pe >= from->n) return -1;
    return ch_team_find(to, from->members[src_pe].world);
}

/* Allocate a list of n PEs; the function that calls this one frees the list. */
static chorus_status list_alloc(const char *function, uint32_t n, uint32_t **pes_out)
{
    *pes_out = malloc(n * sizeof(**pes_out));
    if (*pes_out != NULL) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_SYSTEM, "%s: no memory for a list of %u PEs", function, n);
}

/* Fails unless all PEs of the triplet are in the parent, which has n, and differ. */
static chorus_status check_triplet(const char *function, int start, int stride, int count,
                                   uint32_t n)
{
    const long long last = start + (long long)stride * ((long long)count - 1);

    if (count < 1 || (uint32_t)count > n)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: the count of PEs is %d; expected 1 to %u, the parent's", function,
                       count, n);
    if (start < 0 || (uint32_t)start >= n)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: start is %d; expected 0 to %u, the parent's PEs",
                       function, start, n - 1);
    if (stride == 0 && count > 1)
        return CH_FAIL(
            CHORUS_ERR_ARG,
            "%s: stride is 0 for %d PEs; expected another value, so that no PE is listed twice",
            function, count);
    if (last < 0 || last >= (long long)n)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: start %d, stride %d and count %d end at PE %lld; expected 0 to %u, "
                       "the parent's PEs",
                       function, start, stride, count, last, n - 1);
    return CHORUS_OK;
}

/* Create a team of the PEs of a triplet: start, stride and count. */
static chorus_status split_strided(struct ch_context *context, const char *function,
                                   chorus_team_t parent, const int triplet[3], int num_contexts,
                                   chorus_team_t *new_team)
{
    const int start = triplet[0], stride = triplet[1], count = triplet[2];
    uint32_t *pes;
    struct ch_team *from;
    chorus_status status;

    CH_TRY(ch_error_prefix_if_failed(function, ch_team_get(context->teams, parent, &from)));
    CH_TRY(check_triplet(function, start, stride, count, from->n));
    CH_TRY(list_alloc(function, (uint32_t)count, &pes));
    for (int i = 0; i < count; i++)
        pes[i] = (uint32_t)(start + stride * i);
    status =
        create_team(context, function, parent, pes, (uint32_t)count, num_contexts, new_team);
    free(pes);
    return status;
}

static chorus_status split_with_config(const char *function, chorus_team_t parent, int start,
                                       int stride, int count,
                                       const chorus_team_config_t *config, long config_mask,
                                       chorus_team_t *new_team)
{
    const int triplet[3] = {start, stride, count};
    struct ch_context *context;
    int num_contexts;

    *new_team = CHORUS_TEAM_INVALID;
    CH_TRY(ch_context_require(function, &context));
    CH_TRY(read_config(function, config, config_mask, &num_contexts));
    return split_strided(context, function, parent, triplet, num_contexts, new_team);
}

int chorus_team_split_strided(chorus_team_t parent, int start, int stride, int count,
                              const chorus_team_config_t *config, long config_mask,
                              chorus_team_t *new_team)
{
    return ch_handle_status(__func__, split_with_config(__func__, parent, start, stride, count,
                                                        config, config_mask, new_team));
}

/* One axis of a grid: PE number of point i of line k is k * line_step + i * point_step. */
struct axis {
    uint32_t n_lines, n_points; /* points that are past the parent's last PE do not exist */
    uint32_t line_step, point_step;
};

/* Create the team of one line of the grid, whose PEs are listed in `pes`, memory of the caller.
 * n: PEs of the parent. *new_team remains CHORUS_TEAM_INVALID on PEs outside the line. */
static chorus_status create_line(struct ch_context *context, const char *function,
                                 chorus_team_t parent, const struct axis *axis, uint32_t line,
                                 uint32_t n, int num_contexts, uint32_t *pes,
                                 chorus_team_t *new_team)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < axis->n_points; i++) {
        const uint32_t pe = line * axis->line_step + i * axis->point_step;
        if (pe < n) pes[count++] = pe;
    }
    return create_team(context, function, parent, pes, count, num_contexts, new_team);
}

/* Create a team for each line; this PE is in one of them. If the team of a line cannot be
 * created, the members of earlier lines destroy theirs. */
static chorus_status split_axis(struct ch_context *context, const char *function,
                                chorus_team_t parent, const struct axis *axis, uint32_t n,
                                int num_contexts, chorus_team_t *new_team)
{
    chorus_status status = CHORUS_OK;
    uint32_t *pes;

    CH_TRY(list_alloc(function, axis->n_points, &pes));
    for (uint32_t line = 0; line < axis->n_lines && status == CHORUS_OK; line++) {
        chorus_team_t made = CHORUS_TEAM_INVALID;

        status =
            create_line(context, function, parent, axis, line, n, num_contexts, pes, &made);
        if (made != CHORUS_TEAM_INVALID) *new_team = made;
    }
    free(pes);
    if (status == CHORUS_OK || *new_team == CHORUS_TEAM_INVALID) return status;
    CH_TRY(ch_team_destroy(context->teams, *new_team));
    *new_team = CHORUS_TEAM_INVALID;
    return status;
}

/* Arrange the parent's PEs in rows of xrange, and create a team of each row and of each column:
 * those that this PE is in are *xaxis_team and *yaxis_team. */
static chorus_status split_2d(const char *function, chorus_team_t parent, int xrange,
                              const chorus_team_config_t *xaxis_config, long xaxis_mask,
                              chorus_team_t *xaxis_team,
                              const chorus_team_config_t *yaxis_config, long yaxis_mask,
                              chorus_team_t *yaxis_team)
{
    struct ch_context *context;
    struct ch_team *from;
    int x_contexts, y_contexts;
    uint32_t width, height;

    *xaxis_team = *yaxis_team = CHORUS_TEAM_INVALID;
    CH_TRY(find_team(function, parent, &context, &from));
    if (xrange < 1)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: xrange is %d; expected 1 or more", function,
                       xrange);
    CH_TRY(read_config(function, xaxis_config, xaxis_mask, &x_contexts));
    CH_TRY(read_config(function, yaxis_config, yaxis_mask, &y_contexts));

    width = (uint32_t)xrange < from->n ? (uint32_t)xrange : from->n;
    height = (from->n + width - 1) / width;
    CH_TRY(split_axis(context, function, parent, &(struct axis){height, width, width, 1},
                      from->n, x_contexts, xaxis_team));
    return split_axis(context, function, parent, &(struct axis){width, height, 1, width},
                      from->n, y_contexts, yaxis_team);
}

int chorus_team_split_2d(chorus_team_t parent, int xrange,
                         const chorus_team_config_t *xaxis_config, long xaxis_mask,
                         chorus_team_t *xaxis_team, const chorus_team_config_t *yaxis_config,
                         long yaxis_mask, chorus_team_t *yaxis_team)
{
    return ch_handle_status(__func__,
                            split_2d(__func__, parent, xrange, xaxis_config, xaxis_mask,
                                     xaxis_team, yaxis_config, yaxis_mask, yaxis_team));
}

void chorus_team_destroy(chorus_team_t team)
{
    ch_report(destroy_team(__func__, team));
}

/* Check `parent` and n, and copy `pes` as unsigned numbers to *list_out, which the caller
 * frees: negative numbers become larger than any PE of the parent. */
static chorus_status copy_pes(const char *function, chorus_team_t parent, const int pes[],
                              int n, struct ch_context **context_out, uint32_t **list_out)
{
    struct ch_team *from;

    CH_TRY(find_team(function, parent, context_out, &from));
    if (n < 1 || (uint32_t)n > from->n)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: n is %d; expected 1 to %u, the parent's PEs",
                       function, n, from->n);
    CH_TRY(list_alloc(function, (uint32_t)n, list_out));
    for (int i = 0; i < n; i++)
        (*list_out)[i] = (uint32_t)pes[i];
    return CHORUS_OK;
}

static chorus_status create_listed(const char *function, chorus_team_t parent, const int pes[],
                                   int n, chorus_team_t *new_team)
{
    struct ch_context *context;
    uint32_t *list;
    chorus_status status;

    *new_team = CHORUS_TEAM_INVALID;
    CH_TRY(copy_pes(function, parent, pes, n, &context, &list));
    status = create_team(context, function, parent, list, (uint32_t)n, 0, new_team);
    free(list);
    return status;
}

int chorusx_team_create(chorus_team_t parent, const int pes[], int n, chorus_team_t *new_team)
{
    return ch_handle_status(__func__, create_listed(__func__, parent, pes, n, new_team));
}

/* Create a team by a call that only the PEs in `pes` make. */
static chorus_status create_group(const char *function, chorus_team_t parent, const int pes[],
                                  int n, int tag, chorus_team_t *new_team)
{
    struct ch_context *context;
    uint32_t *list;
    chorus_status status;

    *new_team = CHORUS_TEAM_INVALID;
    CH_TRY(copy_pes(function, parent, pes, n, &context, &list));
    status = ch_team_create_group(context->teams, parent, list, (uint32_t)n, tag, new_team);
    free(list);
    return ch_error_prefix_if_failed(function, status);
}

int chorusx_team_create_group(chorus_team_t parent, const int pes[], int n, int tag,
                              chorus_team_t *new_team)
{
    return ch_handle_or_raise(__func__, create_group(__func__, parent, pes, n, tag, new_team));
}

static chorus_status split_color(const char *function, chorus_team_t parent, int color, int key,
                                 chorus_team_t *new_team)
{
    struct ch_context *context;
    struct ch_team *from;

    *new_team = CHORUS_TEAM_INVALID;
    CH_TRY(find_team(function, parent, &context, &from));
    return ch_error_prefix_if_failed(
        function, ch_team_split_color(context->teams, parent, color, key, new_team));
}

int chorusx_team_split_color(chorus_team_t parent, int color, int key, chorus_team_t *new_team)
{
    return ch_handle_or_raise(__func__, split_color(__func__, parent, color, key, new_team));
}
