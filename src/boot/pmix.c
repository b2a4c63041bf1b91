/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pmix.c: a PE that mpirun, srun --mpi=pmix or another launcher with PMIx started. PE 0 is the
 * root of the tree and publishes its addresses and a secret.
 *
 * libpmix is opened when it is needed, so that programs under other launchers neither load nor
 * need it. Values that it returns are freed here without its macros, because these call it by
 * name.
 */
#include "boot/tree_boot.h"
#include "boot/ways.h"

#include <dlfcn.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Under this name PE 0 publishes "SECRET ADDRESSES". */
#define ROOT_KEY "chorus.root"

/* clang-format off */
#define PMIX_FUNCTIONS(X) X(Init) X(Finalize) X(Abort) X(Put) X(Commit) X(Fence) X(Get) X(Error_string)
/* clang-format on */

struct pmix {
    struct ch_boot base; /* as the tree's agent, it has but close and abort_job */
    void *library;
    pmix_proc_t own;
#define X(name) __typeof__(&PMIx_##name) name;
    PMIX_FUNCTIONS(X)
#undef X
};

static chorus_status load(struct pmix *p)
{
    p->library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
    if (p->library == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM,
                       "PMIX_RANK is set, as mpirun and srun do, but PMIx cannot be used: %s",
                       dlerror());
#define X(name)                                            \
    *(void **)&p->name = dlsym(p->library, "PMIx_" #name); \
    if (p->name == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "libpmix.so.2 has no PMIx_" #name);
    PMIX_FUNCTIONS(X)
#undef X
    return CHORUS_OK;
}

static chorus_status check(const struct pmix *p, const char *what, pmix_status_t rc)
{
    if (rc == PMIX_SUCCESS) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_SYSTEM, "PMIx cannot %s: %s", what, p->Error_string(rc));
}

static pmix_proc_t proc_of(const struct pmix *p, pmix_rank_t rank)
{
    pmix_proc_t proc = p->own;

    proc.rank = rank;
    return proc;
}

static chorus_status get_size(const struct pmix *p, uint32_t *n_out)
{
    const pmix_proc_t all = proc_of(p, PMIX_RANK_WILDCARD);
    pmix_value_t *value = NULL;
    chorus_status status =
        check(p, "tell the number of processes", p->Get(&all, PMIX_JOB_SIZE, NULL, 0, &value));

    if (status == CHORUS_OK && value->type != PMIX_UINT32)
        status = CH_FAIL(CHORUS_ERR_SYSTEM, "PMIx tells no number of processes");
    if (status == CHORUS_OK) *n_out = value->data.uint32;
    free(value);
    return status;
}

static chorus_status publish(const struct pmix *p, const unsigned char *secret,
                             const struct ch_tree_door *door)
{
    char text[CH_TREE_TEXT_BYTES + 2 * CH_BOOT_SECRET_BYTES + 2];
    pmix_value_t value = {.type = PMIX_STRING, .data.string = text};

    ch_tree_secret_print(secret, text);
    text[2 * CH_BOOT_SECRET_BYTES] = ' ';
    ch_tree_addresses(door, text + 2 * CH_BOOT_SECRET_BYTES + 1);
    CH_TRY(check(p, "publish", p->Put(PMIX_GLOBAL, ROOT_KEY, &value)));
    return check(p, "publish", p->Commit());
}

static chorus_status meet(const struct pmix *p)
{
    const pmix_proc_t all = proc_of(p, PMIX_RANK_WILDCARD);
    pmix_info_t collect = {.key = PMIX_COLLECT_DATA};

    collect.value.type = PMIX_BOOL;
    collect.value.data.flag = true;
    return check(p, "have all processes meet", p->Fence(&all, 1, &collect, 1));
}

static chorus_status look_up(const struct pmix *p, unsigned char *secret_out,
                             char root_out[CH_TREE_TEXT_BYTES])
{
    const pmix_proc_t first = proc_of(p, 0);
    pmix_value_t *value = NULL;
    chorus_status status =
        check(p, "tell where PE 0 listens", p->Get(&first, ROOT_KEY, NULL, 0, &value));
    char *text;

    if (status != CHORUS_OK) return status;
    text = value->type == PMIX_STRING ? value->data.string : NULL;
    if (text != NULL && strlen(text) > 2 * CH_BOOT_SECRET_BYTES) {
        text[2 * CH_BOOT_SECRET_BYTES] = '\0';
        if (ch_tree_secret_parse(text, secret_out))
            (void)snprintf(root_out, CH_TREE_TEXT_BYTES, "%s",
                           text + 2 * CH_BOOT_SECRET_BYTES + 1);
    }
    free(text);
    free(value);
    return CHORUS_OK;
}

/* Whoever aborts waits for nobody: the launcher ends this process too. */
static void pmix_abort_job(struct ch_boot *base, int status)
{
    struct pmix *p = (struct pmix *)base;

    (void)p->Abort(status, "chorus: a PE ended the job", NULL, 0);
}

static void pmix_close(struct ch_boot *base)
{
    struct pmix *p = (struct pmix *)base;

    (void)p->Finalize(NULL, 0);
    free(p); /* the library stays: its threads may outlive what is asked of it */
}

static const struct ch_boot_ops pmix_ops = {
    .name = "pmix",
    .close = pmix_close,
    .abort_job = pmix_abort_job,
};

/* Tell the others where PE 0 listens, or be told. */
static chorus_status agree(struct pmix *p, struct ch_tree_start *start,
                           struct ch_tree_door *door, char root[CH_TREE_TEXT_BYTES])
{
    root[0] = '\0';
    if (start->me == 0) {
        ch_tree_secret_make(start->secret);
        CH_TRY(ch_tree_listen(0, door));
        CH_TRY(publish(p, start->secret, door));
        start->door = door;
    }
    CH_TRY(meet(p));
    if (start->me == 0) return CHORUS_OK;
    CH_TRY(look_up(p, start->secret, root));
    start->root = root;
    if (root[0] != '\0') return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_SYSTEM, "PMIx tells not where PE 0 listens");
}

static chorus_status pmix_open(uint64_t timeout_ns, struct ch_boot **boot_out)
{
    struct pmix *p = calloc(1, sizeof(*p));
    struct ch_tree_start start = {.agent = &p->base, .timeout_ns = timeout_ns};
    struct ch_tree_door door = {.fd = -1};
    char root[CH_TREE_TEXT_BYTES];
    chorus_status status;

    if (p == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a boot");
    p->base.ops = &pmix_ops;
    CH_TRY_GOTO(status, load(p), out_free);
    CH_TRY_GOTO(status, check(p, "start", p->Init(&p->own, NULL, 0)), out_free);
    start.me = p->own.rank;
    CH_TRY_GOTO(status, get_size(p, &start.n), out_close);
    CH_TRY_GOTO(status, agree(p, &start, &door, root), out_close);
    return ch_boot_tree(&start, boot_out);

out_close:
    ch_tree_door_close(&door);
    pmix_close(&p->base);
    return status;
out_free:
    free(p);
    return status;
}

static bool pmix_applies(char why_out[CH_WAY_WHY_BYTES])
{
    return ch_way_variable("PMIX_RANK", why_out) != NULL;
}

const struct ch_way ch_way_pmix = {"PMIx (mpirun, srun)", pmix_applies, pmix_open, false};
