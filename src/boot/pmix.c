/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pmix.c: a PE that mpirun, srun --mpi=pmix or another launcher with PMIx started. PE 0 is the
 * root of the tree and publishes its addresses and a secret, which the other PEs query. They do
 * not use a fence of PMIx, since it has no deadline of its own; the tree waits for missing PEs,
 * and names them.
 *
 * libpmix is opened when it is needed, so that programs under other launchers neither load nor
 * need it. Values that it returns are freed here without its macros, because these call it by
 * name.
 */
#include "base/clock.h"
#include "boot/tree/tree.h"
#include "boot/ways.h"

#include <dlfcn.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Under this name PE 0 publishes "SECRET ADDRESSES". */
#define ROOT_KEY "chorus.root"

/* clang-format off */
#define PMIX_FUNCTIONS(X) X(Init) X(Finalize) X(Abort) X(Put) X(Commit) X(Get) X(Get_nb) X(Error_string)
/* clang-format on */

enum { TEXT_BYTES = CH_TREE_TEXT_BYTES + 2 * CH_BOOT_SECRET_BYTES + 1 };

enum { AWAITED, HERE, ABANDONED };

/*
 * The data that PE 0 published. A thread of PMIx writes it, possibly after the PE has stopped
 * waiting: of the two, the one that changes `state` last frees it.
 */
struct answer {
    int state; /* AWAITED, HERE or ABANDONED; atomic */
    pmix_status_t rc;
    char text[TEXT_BYTES];
};

struct pmix {
    struct ch_boot base; /* as an agent of the tree; it has only close and abort_job */
    void *library;
    pmix_proc_t own;
#define X(name) __typeof__(&PMIx_##name) name;
    PMIX_FUNCTIONS(X)
#undef X
};

/* Open libpmix and find the functions that p needs. */
static chorus_status load_library(struct pmix *p)
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

/* Fail if rc is not PMIX_SUCCESS: PMIx cannot `what`. */
static chorus_status check_pmix(const struct pmix *p, const char *what, pmix_status_t rc)
{
    if (rc == PMIX_SUCCESS) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_SYSTEM, "PMIx cannot %s: %s", what, p->Error_string(rc));
}

/* Returns PMIx's name of the process of this job that has this rank. */
static pmix_proc_t proc_of(const struct pmix *p, pmix_rank_t rank)
{
    pmix_proc_t proc = p->own;

    proc.rank = rank;
    return proc;
}

/* Get the number of processes of the job. */
static chorus_status get_size(const struct pmix *p, uint32_t *n_out)
{
    const pmix_proc_t all = proc_of(p, PMIX_RANK_WILDCARD);
    pmix_value_t *value = NULL;
    chorus_status status = check_pmix(p, "report the number of processes",
                                      p->Get(&all, PMIX_JOB_SIZE, NULL, 0, &value));

    if (status == CHORUS_OK && value->type != PMIX_UINT32)
        status = CH_FAIL(CHORUS_ERR_SYSTEM, "PMIx does not report the number of processes");
    if (status == CHORUS_OK) *n_out = value->data.uint32;
    free(value);
    return status;
}

/* Publish the secret, and the addresses at which this root listens. */
static chorus_status publish(const struct pmix *p, const unsigned char *secret,
                             const struct ch_tree_listener *listener)
{
    char text[TEXT_BYTES];
    pmix_value_t value = {.type = PMIX_STRING, .data.string = text};

    ch_tree_secret_print(secret, text);
    text[2 * CH_BOOT_SECRET_BYTES] = ' ';
    ch_tree_own_addresses_print(listener, text + 2 * CH_BOOT_SECRET_BYTES + 1);
    CH_TRY(check_pmix(p, "publish", p->Put(PMIX_GLOBAL, ROOT_KEY, &value)));
    return check_pmix(p, "publish", p->Commit());
}

/* A thread of PMIx calls this with the data that PE 0 published, or with its failure to get
 * it. */
static void on_answer(pmix_status_t rc, pmix_value_t *value, void *self)
{
    struct answer *const answer = self;

    answer->rc = rc;
    if (rc == PMIX_SUCCESS && value->type == PMIX_STRING)
        (void)snprintf(answer->text, sizeof(answer->text), "%s", value->data.string);
    if (__atomic_exchange_n(&answer->state, HERE, __ATOMIC_ACQ_REL) == ABANDONED) free(answer);
}

static void pause_briefly(void)
{
    const struct timespec pause = {.tv_nsec = 200000};

    (void)nanosleep(&pause, NULL);
}

/* Has the answer arrived before this time (0: without limit)? If not, on_answer frees it. */
static bool await_answer(struct answer *answer, uint64_t deadline_ns)
{
    while (__atomic_load_n(&answer->state, __ATOMIC_ACQUIRE) == AWAITED) {
        if (deadline_ns != 0 && ch_clock_ns() > deadline_ns)
            return __atomic_exchange_n(&answer->state, ABANDONED, __ATOMIC_ACQ_REL) == HERE;
        pause_briefly();
    }
    return true;
}

/* Get the data that PE 0 published, or PMIx's reason why there is none yet. */
static pmix_status_t get_root_data(const struct pmix *p, uint64_t deadline_ns,
                                   char text_out[TEXT_BYTES])
{
    const pmix_proc_t first = proc_of(p, 0);
    struct answer *const answer = calloc(1, sizeof(*answer));
    pmix_status_t rc;

    if (answer == NULL) return PMIX_ERR_NOMEM;
    rc = p->Get_nb(&first, ROOT_KEY, NULL, 0, on_answer, answer);
    if (rc == PMIX_SUCCESS) {
        if (!await_answer(answer, deadline_ns)) return PMIX_ERR_TIMEOUT;
        rc = answer->rc;
        memcpy(text_out, answer->text, TEXT_BYTES);
    }
    free(answer);
    return rc;
}

/* Wait until PE 0 has published its data, and get it. The question is repeated: some launchers
 * give up after a few seconds, and some answer at once if it crosses PE 0's publication. */
static chorus_status wait_for_root(const struct pmix *p, uint64_t timeout_ns,
                                   char text_out[TEXT_BYTES])
{
    const uint64_t deadline_ns = timeout_ns == 0 ? 0 : ch_clock_ns() + timeout_ns;
    pmix_status_t rc;

    while ((rc = get_root_data(p, deadline_ns, text_out)) == PMIX_ERR_TIMEOUT ||
           rc == PMIX_ERR_NOT_FOUND) {
        if (deadline_ns != 0 && ch_clock_ns() > deadline_ns)
            return CH_FAIL(CHORUS_ERR_TIMEOUT,
                           "exchange among all PEs: PE 0 did not come within %.3g s",
                           (double)timeout_ns / (double)CH_NS_PER_S);
        pause_briefly();
    }
    return check_pmix(p, "report the address of PE 0", rc);
}

/* Set secret and root of `start` from the data of PE 0; root_out is the memory for the
 * addresses. */
static chorus_status read_root_data(const struct pmix *p, struct ch_tree_start *start,
                                    char root_out[CH_TREE_TEXT_BYTES])
{
    char text[TEXT_BYTES];

    CH_TRY(wait_for_root(p, start->timeout_ns, text));
    start->root = root_out;
    if (strlen(text) > 2 * CH_BOOT_SECRET_BYTES) {
        text[2 * CH_BOOT_SECRET_BYTES] = '\0';
        (void)snprintf(root_out, CH_TREE_TEXT_BYTES, "%s", text + 2 * CH_BOOT_SECRET_BYTES + 1);
        if (ch_tree_secret_parse(text, start->secret)) return CHORUS_OK;
    }
    return CH_FAIL(CHORUS_ERR_SYSTEM, "PMIx does not tell where PE 0 listens");
}

/* A PE that aborts the job does not wait: the launcher ends this process, too. */
static void pmix_abort_job(struct ch_boot *base, int status)
{
    struct pmix *p = (struct pmix *)base;

    (void)p->Abort(status, "chorus: a PE ended the job", NULL, 0);
}

static void pmix_close(struct ch_boot *base)
{
    struct pmix *p = (struct pmix *)base;

    (void)p->Finalize(NULL, 0);
    free(p); /* libpmix remains loaded: its threads may outlive the calls */
}

static const struct ch_boot_ops pmix_ops = {
    .name = "pmix",
    .close = pmix_close,
    .abort_job = pmix_abort_job,
};

/* Make this process the root of the tree: create a secret, listen, and publish both. */
static chorus_status become_root(const struct pmix *p, struct ch_tree_start *start,
                                 struct ch_tree_listener *listener)
{
    ch_tree_secret_make(start->secret);
    CH_TRY(ch_tree_listen(0, listener));
    start->door = listener;
    return publish(p, start->secret, listener);
}

static chorus_status pmix_open(uint64_t timeout_ns, struct ch_boot **boot_out)
{
    struct pmix *p = calloc(1, sizeof(*p));
    struct ch_tree_start start = {.agent = &p->base, .timeout_ns = timeout_ns};
    struct ch_tree_listener listener = {.fd = -1};
    char root[CH_TREE_TEXT_BYTES];
    chorus_status status;

    if (p == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a boot");
    p->base.ops = &pmix_ops;
    CH_TRY_GOTO(status, load_library(p), out_free);
    CH_TRY_GOTO(status, check_pmix(p, "start", p->Init(&p->own, NULL, 0)), out_free);
    start.me = p->own.rank;
    CH_TRY_GOTO(status, get_size(p, &start.n), out_close);
    status =
        start.me == 0 ? become_root(p, &start, &listener) : read_root_data(p, &start, root);
    if (status != CHORUS_OK) goto out_close;
    return ch_boot_open_tree(&start, boot_out);

out_close:
    ch_tree_listener_close(&listener);
    pmix_close(&p->base);
    return status;
out_free:
    free(p);
    return status;
}

static bool pmix_applies(char why_out[CH_WAY_WHY_BYTES])
{
    return ch_way_read_variable("PMIX_RANK", why_out) != NULL;
}

const struct ch_way ch_way_pmix = {"PMIx (mpirun, srun)", pmix_applies, pmix_open, false};
