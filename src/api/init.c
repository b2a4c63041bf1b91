/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init.c: init and finalize, unique ids, the variables of the environment, and the numbers of
 * PEs.
 */
#include "api/context.h"

#include "api/check.h"
#include "api/modules.h"
#include "base/error.h"
#include "base/option.h"
#include "base/text.h"
#include "base/version.h"
#include "boot/boot.h"
#include "boot/tree/tree.h"
#include "chorus/chorusx.h"
#include "coll/cuda/gpu.h"
#include "team/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- variables ---------------------------------------------------------------------------- */

chorus_status ch_log_start(const struct ch_options *options)
{
    const int level = ch_log_level_of(options->log);

    if (level < 0)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "CHORUS_LOG is \"%s\"; expected none, error, warn, info, debug or trace",
                       options->log);
    ch_log_configure((enum ch_log_level)level, NULL);
    return CHORUS_OK;
}

#define PREFIX "CHORUS_"
enum { PREFIX_CHARS = sizeof(PREFIX) - 1 };

/* Without the prefix: with it, names that have nothing in common would be similar. */
static const char *const known[CH_VARIABLE_COUNT] = {
#define X(NAME, ...) #NAME,
    CH_VARIABLE_LIST(X, X)
#undef X
};

static void warn_if_unknown(const char *name)
{
    const char *near;

    for (size_t i = 0; i < CH_VARIABLE_COUNT; i++)
        if (strcmp(known[i], name + PREFIX_CHARS) == 0) return;
    near = ch_name_nearest(known, CH_VARIABLE_COUNT, name + PREFIX_CHARS);
    if (near != NULL && secure_getenv(name) != NULL)
        CH_LOG(WARN, "%s is not a variable of Chorus; did you mean " PREFIX "%s?", name, near);
}

/* Log a line at level info: version, PEs, kind of heap, digest of the tables, variables that
 * the user has set, without the values of secrets. */
static void log_environment(uint32_t n_pes, uint32_t n_nodes, const char *where,
                            uint64_t digest)
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

void ch_warn_of_unknown_variables(void)
{
    char name[64];

    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        const size_t bytes = strcspn(*entry, "=");

        if (strncmp(*entry, PREFIX, strlen(PREFIX)) != 0 || bytes >= sizeof(name)) continue;
        memcpy(name, *entry, bytes);
        name[bytes] = '\0';
        warn_if_unknown(name);
    }
}

/* --- unique ids --------------------------------------------------------------------------- */

/* ERR_ARG, in the name of `function`, for numbers that no job can have, and for bytes that are
 * no unique id. */
static chorus_status check_uniqueid_args(const char *function, int rank, int n_ranks,
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

static chorus_status make_uniqueid(const char *function, chorusx_uniqueid_t *id)
{
    if (id == NULL)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: id is null; expected the address of an id",
                       function);
    return ch_uniqueid_make(id->bytes, sizeof(id->bytes));
}

int chorusx_get_uniqueid(chorusx_uniqueid_t *id)
{
    return ch_handle_status(__func__, make_uniqueid(__func__, id));
}

static chorus_status set_attr(const char *function, int rank, int n_ranks,
                              const chorusx_uniqueid_t *id, chorusx_init_attr_t *attr)
{
    if (id == NULL || attr == NULL)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: %s is null; expected an address", function,
                       id == NULL ? "id" : "attr");
    CH_TRY(check_uniqueid_args(function, rank, n_ranks, id));
    attr->rank = rank;
    attr->n_ranks = n_ranks;
    attr->id = *id;
    return CHORUS_OK;
}

int chorusx_set_attr_uniqueid_args(int rank, int n_ranks, const chorusx_uniqueid_t *id,
                                   chorusx_init_attr_t *attr)
{
    return ch_handle_status(__func__, set_attr(__func__, rank, n_ranks, id, attr));
}

/* --- init --------------------------------------------------------------------------------- */

/* ERR_STATE if the caller cannot join a job: it is a PE already, was a PE that is a thread, or
 * is a child that a PE forked. */
static chorus_status check_can_join(const char *function)
{
    switch (ch_context_phase()) {
    case CH_PHASE_RUNNING:
        return CH_FAIL(CHORUS_ERR_STATE,
                       "%s called twice: this PE has joined its job already; call it once",
                       function);
    case CH_PHASE_AFTER:
        if (!ch_context_is_of_thread()) break; /* whether the process may join again */
        return CH_FAIL(CHORUS_ERR_STATE,
                       "%s called after chorus_finalize by a PE that is a thread; a thread can "
                       "join its job only once",
                       function);
    case CH_PHASE_FORKED:
        return CH_FAIL(CHORUS_ERR_STATE,
                       "%s called in a child that a PE forked, which cannot become a PE; let "
                       "the child start another program with exec",
                       function);
    case CH_PHASE_BEFORE:
        break;
    }
    return CHORUS_OK;
}

static chorus_status check_level(const char *function, const char *name, int level)
{
    if (level >= CHORUS_THREAD_SINGLE && level <= CHORUS_THREAD_MULTIPLE) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG, "%s: %s is %d; expected a CHORUS_THREAD_ constant, %d to %d",
                   function, name, level, CHORUS_THREAD_SINGLE, CHORUS_THREAD_MULTIPLE);
}

static chorus_status check_attr(const char *function, unsigned flags,
                                const chorusx_init_attr_t *attr)
{
    const unsigned unknown = flags & ~(CHORUSX_INIT_HEAP | CHORUSX_INIT_DEVICE |
                                       CHORUSX_INIT_UNIQUEID | CHORUSX_INIT_THREADS);

    if (unknown != 0)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: flags has the unknown bit %#x; expected CHORUSX_INIT_ constants",
                       function, unknown);
    if (flags != 0 && attr == NULL)
        return CH_FAIL(
            CHORUS_ERR_ARG,
            "%s: attr is null though flags is %#x; expected the address of attributes",
            function, flags);
    if ((flags & CHORUSX_INIT_HEAP) != 0 && (unsigned)attr->heap >= CHORUS_HEAP_COUNT)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: heap is %d; expected a CHORUS_HEAP_ constant",
                       function, (int)attr->heap);
    if ((flags & CHORUSX_INIT_THREADS) != 0)
        CH_TRY(check_level(function, "attr->threads", attr->threads));
    if ((flags & CHORUSX_INIT_UNIQUEID) != 0)
        CH_TRY(check_uniqueid_args(function, attr->rank, attr->n_ranks, &attr->id));
    if ((flags & CHORUSX_INIT_DEVICE) == 0) return CHORUS_OK;
    if (attr->device < 0)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: device is %d; expected 0 or more", function,
                       attr->device);
    if ((flags & CHORUSX_INIT_HEAP) != 0 && attr->heap == CHORUS_HEAP_host)
        return CH_FAIL(
            CHORUS_ERR_ARG,
            "%s: device is %d, but heap selects host memory; leave out one of the two",
            function, attr->device);
    return CHORUS_OK;
}

/* Attributes of the program override the environment. */
static void apply_attr(struct ch_options *options, unsigned flags,
                       const chorusx_init_attr_t *attr)
{
    if ((flags & CHORUSX_INIT_DEVICE) != 0) {
        options->device = attr->device;
        options->heap = CHORUS_HEAP_cuda;
    }
    if ((flags & CHORUSX_INIT_HEAP) != 0) options->heap = attr->heap;
}

/* Join the job of the program's unique id, or the one that the environment describes. */
static chorus_status open_boot(unsigned flags, const chorusx_init_attr_t *attr,
                               uint64_t timeout_ns, struct ch_boot **boot_out)
{
    if ((flags & CHORUSX_INIT_UNIQUEID) == 0)
        return ch_boot_open(timeout_ns, ch_context_phase() == CH_PHASE_AFTER, boot_out);
    return ch_uniqueid_open(attr->id.bytes, (uint32_t)attr->rank, (uint32_t)attr->n_ranks,
                            timeout_ns, boot_out);
}

static chorus_status init_library(const char *function, int level, unsigned flags,
                                  const chorusx_init_attr_t *attr)
{
    struct ch_options options;
    struct ch_context *context;
    struct ch_boot *boot;

    CH_TRY(check_can_join(function));
    CH_TRY(check_attr(function, flags, attr));
    CH_TRY(ch_options_read(&options));
    apply_attr(&options, flags, attr);
    CH_TRY(ch_log_start(&options));
    CH_TRY(
        ch_error_prefix_if_failed(function, open_boot(flags, attr, options.timeout_ns, &boot)));
    ch_log_name_pe((int)boot->me);
    if (boot->me == 0) ch_warn_of_unknown_variables();
    CH_TRY(
        ch_error_prefix_if_failed(function, ch_context_open(&options, boot, level, &context)));
    ch_context_set_process(context);
    ch_modules_give(context);
    if (boot->me == 0)
        log_environment(boot->n, boot->n_nodes,
                        context->gpu != NULL ? "GPU memory" : "host memory",
                        ch_select_digest(context->select));
    return CHORUS_OK;
}

int chorus_init(void)
{
    return ch_handle_status(__func__, init_library(__func__, CHORUS_THREAD_SINGLE, 0, NULL));
}

int chorusx_init_attr(unsigned flags, const chorusx_init_attr_t *attr)
{
    const bool has_level = (flags & CHORUSX_INIT_THREADS) != 0 && attr != NULL;

    return ch_handle_status(
        __func__,
        init_library(__func__, has_level ? attr->threads : CHORUS_THREAD_SINGLE, flags, attr));
}

static chorus_status start_at_level(const char *function, int requested, int *provided)
{
    CH_TRY(check_level(function, "requested", requested));
    CH_TRY(init_library(function, requested, 0, NULL));
    *provided = requested;
    return CHORUS_OK;
}

int chorus_init_thread(int requested, int *provided)
{
    return ch_handle_or_raise(__func__, start_at_level(__func__, requested, provided));
}

void chorus_query_thread(int *provided)
{
    struct ch_context *context;

    if (ch_context_require(__func__, &context) == CHORUS_OK) *provided = context->thread_level;
}

/* --- finalize ----------------------------------------------------------------------------- */

/* Complete this PE's work, then wait for the other PEs: by the barrier of boot, not that of the
 * team, so that after it no PE still accesses this PE's doorbell. */
static chorus_status drain_and_leave(struct ch_context *context)
{
    struct ch_boot *boot = context->boot;

    if (context->gpu != NULL) CH_TRY(ch_gpu_drain(context->gpu));
    ch_streams_close(context);
    if (ch_heap_has_pool(context->heap)) { /* the last posts of kernels */
        CH_TRY(ch_links_drain_posts(context->links));
        CH_TRY(ch_links_quiet(context->links, CH_CTX_ALGORITHMS, CH_LINK_ALL));
    }
    CH_TRY(ch_links_quiet(context->links, CH_CTX_DEFAULT, CH_LINK_ALL));
    CH_TRY(boot->ops->exchange(boot, NULL, 0, -1, NULL, NULL));
    ch_buffers_close(context);
    return CHORUS_OK;
}

chorus_status ch_finish(const char *function)
{
    struct ch_context *context;
    uint64_t index;

    CH_TRY(ch_context_require(function, &context));
    CH_TRY(ch_doing_begin_all(context, function, CH_DOING_finalize, 0, &index));
    CH_TRY(ch_error_prefix_if_failed(function,
                                     ch_doing_end(context, index, drain_and_leave(context))));
    ch_guard_check_all(context, function); /* no peer writes to the objects any more */
    ch_modules_take(context);
    ch_context_mark_finalized();
    ch_context_close(context);
    ch_log_name_pe(-1);
    return CHORUS_OK;
}

void chorus_finalize(void)
{
    ch_report(ch_finish(__func__));
}

/* --- numbers ------------------------------------------------------------------------------ */

int chorus_my_pe(void)
{
    struct ch_context *context;

    return ch_context_require(__func__, &context) == CHORUS_OK ? (int)context->boot->me : -1;
}

int chorus_n_pes(void)
{
    struct ch_context *context;

    return ch_context_require(__func__, &context) == CHORUS_OK ? (int)context->boot->n : -1;
}

int chorus_pe_accessible(int pe)
{
    const struct ch_context *context = ch_context_get();

    return context != NULL && pe >= 0 && (uint32_t)pe < context->boot->n;
}

int chorus_addr_accessible(const void *addr, int pe)
{
    const struct ch_context *context = ch_context_get();
    const struct ch_team *owner;

    if (!chorus_pe_accessible(pe)) return 0;
    if (ch_heap_contains(context->heap, addr, 1)) return 1;
    owner = ch_teams_owner(context->teams, addr, 1);
    return owner != NULL && ch_team_find(owner, (uint32_t)pe) >= 0;
}

void chorus_info_get_version(int *major, int *minor)
{
    *major = CHORUS_MAJOR_VERSION;
    *minor = CHORUS_MINOR_VERSION;
}

void chorus_info_get_name(char *name)
{
    _Static_assert(sizeof(CHORUS_VENDOR_STRING) <= CHORUS_MAX_NAME_LEN, "the name must fit");
    memcpy(name, CHORUS_VENDOR_STRING, sizeof(CHORUS_VENDOR_STRING));
}
