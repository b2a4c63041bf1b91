/* SPDX-License-Identifier: Apache-2.0 */
/* coordinator.c: the calls of the coordinator: what they check, and to which backend they go.
 */
#include "apps/coordinator.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MPI_LIBRARY "libchorus-apps-mpi.so.0"

enum { MESSAGE_BYTES = 400 };

/* --- environments ------------------------------------------------------------------------- */
/* From the folder of this library, else from where the system looks. It stays loaded, as MPI
 * cannot be started twice. */
static void *open_mpi_library(void)
{
    char path[PATH_MAX];
    Dl_info self;
    const char *slash = dladdr(&ch_backend_chorus, &self) != 0 && self.dli_fname != NULL
                            ? strrchr(self.dli_fname, '/')
                            : NULL;
    void *library = NULL;

    if (slash != NULL &&
        snprintf(path, sizeof(path), "%.*s/" MPI_LIBRARY, (int)(slash - self.dli_fname),
                 self.dli_fname) < (int)sizeof(path))
        library = dlopen(path, RTLD_NOW);
    return library != NULL ? library : dlopen(MPI_LIBRARY, RTLD_NOW);
}

static const struct ch_backend *load_mpi(const char *function)
{
    void *const library = open_mpi_library();
    const struct ch_backend *backend =
        library != NULL ? dlsym(library, "chorusx_backend_mpi") : NULL;
    char message[MESSAGE_BYTES];

    if (backend != NULL) return backend;
    (void)snprintf(message, sizeof(message),
                   "the backend mpi is in " MPI_LIBRARY ", which cannot be loaded (%s); build "
                   "Chorus where MPI is installed, or take the backend chorus",
                   dlerror());
    (void)chorusx_fail(CHORUS_ERR_UNSUPPORTED, function, message);
    return NULL;
}

/* Null, and the code of the failure, if there is none. */
static const struct ch_backend *find_backend(const char *function, const char *name,
                                             int *code_out)
{
    char message[MESSAGE_BYTES];

    if (name == NULL || strcmp(name, "chorus") == 0) return &ch_backend_chorus;
    *code_out = CHORUS_ERR_UNSUPPORTED;
    if (strcmp(name, "mpi") == 0) return load_mpi(function);
    (void)snprintf(message, sizeof(message),
                   "there is no backend '%.64s'; take 'chorus' or 'mpi'", name);
    *code_out = chorusx_fail(CHORUS_ERR_ARG, function, message);
    return NULL;
}

/* Null: there is no memory. */
static struct chorusx_environment *allocate_environment(const struct ch_backend *backend)
{
    struct chorusx_environment *const e = calloc(1, sizeof(*e));
    struct chorusx_communicator *const world = calloc(1, sizeof(*world));

    if (e == NULL || world == NULL) {
        free(world);
        free(e);
        return NULL;
    }
    *world = (struct chorusx_communicator){.environment = e, .backend = backend};
    *e = (struct chorusx_environment){.backend = backend, .world = world};
    return e;
}

int chorusx_environment_create(const char *backend, chorusx_environment_t *environment_out)
{
    const struct ch_backend *found;
    struct chorusx_environment *e;
    int code;

    if (environment_out == NULL)
        return chorusx_fail(CHORUS_ERR_ARG, __func__,
                            "the address for the environment is null");
    *environment_out = CHORUSX_ENVIRONMENT_INVALID;
    found = find_backend(__func__, backend, &code);
    if (found == NULL) return code;
    e = allocate_environment(found);
    if (e == NULL)
        return chorusx_fail(CHORUS_ERR_NOMEM, __func__, "no memory for the environment");
    code = found->start(__func__, e->world, &e->is_starter);
    if (code == CHORUS_OK) {
        *environment_out = e;
        return CHORUS_OK;
    }
    free(e->world);
    free(e);
    return code;
}

int chorusx_environment_destroy(chorusx_environment_t environment)
{
    int code;

    if (environment == NULL) return CHORUS_OK;
    if (environment->n_divided > 0)
        return chorusx_fail(CHORUS_ERR_STATE, __func__,
                            "a communicator is left; call chorusx_communicator_destroy before");
    code = environment->backend->end(__func__, environment->world, environment->is_starter);
    free(environment->world);
    free(environment);
    return code;
}

chorusx_communicator_t chorusx_environment_world(chorusx_environment_t environment)
{
    return environment != NULL ? environment->world : CHORUSX_COMMUNICATOR_INVALID;
}

/* --- communicators ------------------------------------------------------------------------ */
int chorusx_communicator_split(chorusx_communicator_t parent, int color,
                               chorusx_communicator_t *new_out)
{
    struct chorusx_communicator *split;
    int code;

    if (parent == NULL || new_out == NULL)
        return chorusx_fail(CHORUS_ERR_ARG, __func__,
                            parent == NULL ? "the communicator is null"
                                           : "the address for the communicator is null");
    *new_out = CHORUSX_COMMUNICATOR_INVALID;
    split = calloc(1, sizeof(*split));
    if (split == NULL)
        return chorusx_fail(CHORUS_ERR_NOMEM, __func__, "no memory for the communicator");
    split->environment = parent->environment;
    split->backend = parent->backend;
    code = parent->backend->split(__func__, parent, color, split);
    if (code != CHORUS_OK || split->n == 0) {
        free(split);
        return code;
    }
    split->environment->n_divided++;
    *new_out = split;
    return CHORUS_OK;
}

int chorusx_communicator_destroy(chorusx_communicator_t communicator)
{
    int code;

    if (communicator == NULL) return CHORUS_OK;
    if (communicator == communicator->environment->world)
        return chorusx_fail(CHORUS_ERR_ARG, __func__,
                            "the world ends by chorusx_environment_destroy");
    code = communicator->backend->leave(__func__, communicator);
    communicator->environment->n_divided--;
    free(communicator);
    return code;
}

int chorusx_communicator_my_pe(chorusx_communicator_t communicator)
{
    return communicator != NULL ? communicator->me : -1;
}

int chorusx_communicator_n_pes(chorusx_communicator_t communicator)
{
    return communicator != NULL ? communicator->n : -1;
}

void *chorusx_communicator_malloc(chorusx_communicator_t communicator, size_t bytes)
{
    if (communicator != NULL)
        return communicator->backend->allocate(__func__, communicator, bytes);
    (void)chorusx_fail(CHORUS_ERR_ARG, __func__, "the communicator is null");
    return NULL;
}

int chorusx_communicator_free(chorusx_communicator_t communicator, void *memory)
{
    if (communicator == NULL)
        return chorusx_fail(CHORUS_ERR_ARG, __func__, "the communicator is null");
    if (memory == NULL) return CHORUS_OK;
    return communicator->backend->release(__func__, communicator, memory);
}

/* --- coordinators ------------------------------------------------------------------------- */
static bool is_mode(chorusx_launch_mode_t mode)
{
    return (unsigned)mode < CHORUSX_LAUNCH_MODES;
}

int chorusx_coordinator_create(chorusx_communicator_t communicator, chorusx_launch_mode_t mode,
                               chorus_stream_t stream, chorusx_coordinator_t *coordinator_out)
{
    struct chorusx_coordinator *c;
    int code;

    if (communicator == NULL || coordinator_out == NULL || !is_mode(mode))
        return chorusx_fail(CHORUS_ERR_ARG, __func__,
                            communicator == NULL ? "the communicator is null"
                            : coordinator_out == NULL
                                ? "the address for the coordinator is null"
                                : "the launch mode does not exist");
    *coordinator_out = CHORUSX_COORDINATOR_INVALID;
    c = calloc(1, sizeof(*c));
    if (c == NULL)
        return chorusx_fail(CHORUS_ERR_NOMEM, __func__, "no memory for the coordinator");
    c->communicator = communicator;
    c->mode = mode;
    c->stream = stream;
    code = communicator->backend->check(__func__, c);
    if (code == CHORUS_OK)
        *coordinator_out = c;
    else
        free(c);
    return code;
}

int chorusx_coordinator_destroy(chorusx_coordinator_t coordinator)
{
    if (coordinator == NULL) return CHORUS_OK;
    if (coordinator->is_in_group)
        return chorusx_fail(CHORUS_ERR_STATE, __func__,
                            "a group is not ended; call chorusx_coordinator_end before");
    free(coordinator->expected);
    free(coordinator->requests);
    free(coordinator);
    return CHORUS_OK;
}

static int check(const char *function, const struct chorusx_coordinator *coordinator)
{
    if (coordinator != NULL) return CHORUS_OK;
    return chorusx_fail(CHORUS_ERR_ARG, function, "the coordinator is null");
}

int chorusx_coordinator_bind(chorusx_coordinator_t coordinator, chorusx_launch_mode_t mode,
                             chorusx_launch_t launch, void *arg)
{
    const int code = check(__func__, coordinator);

    if (code != CHORUS_OK) return code;
    if (launch == NULL || !is_mode(mode))
        return chorusx_fail(CHORUS_ERR_ARG, __func__,
                            launch == NULL ? "the function is null"
                                           : "the launch mode does not exist");
    if (mode != coordinator->mode) return CHORUS_OK;
    coordinator->work.launch = launch;
    coordinator->work.arg = arg;
    return CHORUS_OK;
}

int chorusx_coordinator_launch(chorusx_coordinator_t coordinator)
{
    const int code = check(__func__, coordinator);

    if (code != CHORUS_OK) return code;
    if (coordinator->work.launch == NULL)
        return chorusx_fail(CHORUS_ERR_STATE, __func__,
                            "nothing is bound to the coordinator's launch mode; call "
                            "chorusx_coordinator_bind before");
    coordinator->work.launch(coordinator->work.arg, coordinator->stream);
    return CHORUS_OK;
}

int chorusx_coordinator_device(chorusx_coordinator_t coordinator,
                               chorusx_coordinator_device_t *handle_out)
{
    const int code = check(__func__, coordinator);

    if (code != CHORUS_OK) return code;
    if (handle_out == NULL)
        return chorusx_fail(CHORUS_ERR_ARG, __func__, "the address for the handle is null");
    if (coordinator->mode == CHORUSX_LAUNCH_HOST)
        return chorusx_fail(CHORUS_ERR_STATE, __func__,
                            "kernels of a coordinator with CHORUSX_LAUNCH_HOST make no calls; "
                            "create one with CHORUSX_LAUNCH_PARTIAL or CHORUSX_LAUNCH_DEVICE");
    handle_out->team = coordinator->communicator->team;
    return CHORUS_OK;
}

int chorusx_coordinator_synchronize(chorusx_coordinator_t coordinator)
{
    const int code = check(__func__, coordinator);

    if (code != CHORUS_OK || coordinator->stream == NULL) return code;
    return chorusx_stream_synchronize(coordinator->stream);
}

/* --- messages ----------------------------------------------------------------------------- */
static int check_message(const char *function, const struct chorusx_coordinator *coordinator,
                         const struct ch_message *m)
{
    const int code = check(function, coordinator);
    char message[MESSAGE_BYTES];

    if (code != CHORUS_OK) return code;
    if (m->signal == NULL || (m->dest == NULL && m->bytes > 0))
        return chorusx_fail(CHORUS_ERR_ARG, function,
                            m->signal == NULL ? "the signal is null" : "dest is null");
    if (m->pe >= 0 && m->pe < coordinator->communicator->n) return CHORUS_OK;
    (void)snprintf(message, sizeof(message),
                   "there is no PE %d among the %d of the communicator", m->pe,
                   coordinator->communicator->n);
    return chorusx_fail(CHORUS_ERR_ARG, function, message);
}

/* After a call outside groups. */
static int complete_unless_in_group(const char *function,
                                    struct chorusx_coordinator *coordinator, int code)
{
    if (code != CHORUS_OK || coordinator->is_in_group) return code;
    return coordinator->communicator->backend->complete(function, coordinator);
}

int chorusx_coordinator_post(chorusx_coordinator_t coordinator, void *dest, const void *source,
                             size_t bytes, uint64_t *signal, uint64_t value, int pe)
{
    const struct ch_message m = {dest, source, bytes, signal, value, pe};
    int code = check_message(__func__, coordinator, &m);

    if (code != CHORUS_OK) return code;
    if (source == NULL && bytes > 0)
        return chorusx_fail(CHORUS_ERR_ARG, __func__, "source is null");
    code = coordinator->communicator->backend->post(__func__, coordinator, &m);
    return complete_unless_in_group(__func__, coordinator, code);
}

int chorusx_coordinator_acknowledge(chorusx_coordinator_t coordinator, void *dest, size_t bytes,
                                    uint64_t *signal, uint64_t value, int pe)
{
    const struct ch_message m = {dest, NULL, bytes, signal, value, pe};
    int code = check_message(__func__, coordinator, &m);

    if (code != CHORUS_OK) return code;
    code = coordinator->communicator->backend->acknowledge(__func__, coordinator, &m);
    return complete_unless_in_group(__func__, coordinator, code);
}

int chorusx_coordinator_begin(chorusx_coordinator_t coordinator)
{
    const int code = check(__func__, coordinator);

    if (code != CHORUS_OK) return code;
    if (coordinator->is_in_group)
        return chorusx_fail(CHORUS_ERR_STATE, __func__,
                            "a group has begun; call chorusx_coordinator_end before");
    coordinator->is_in_group = true;
    return CHORUS_OK;
}

int chorusx_coordinator_end(chorusx_coordinator_t coordinator)
{
    const int code = check(__func__, coordinator);

    if (code != CHORUS_OK) return code;
    if (!coordinator->is_in_group)
        return chorusx_fail(CHORUS_ERR_STATE, __func__,
                            "no group has begun; call chorusx_coordinator_begin before");
    coordinator->is_in_group = false;
    return coordinator->communicator->backend->complete(__func__, coordinator);
}

/* --- collective calls --------------------------------------------------------------------- */
static int make(const char *function, chorusx_coordinator_t coordinator,
                const struct ch_collective *call)
{
    const int code = check(function, coordinator);

    if (code != CHORUS_OK) return code;
    if (coordinator->is_in_group)
        return chorusx_fail(CHORUS_ERR_STATE, function,
                            "a group has begun; call chorusx_coordinator_end before");
    if (call->coll != CHORUS_COLL_barrier && call->n > 0 &&
        (call->dest == NULL || call->source == NULL))
        return chorusx_fail(CHORUS_ERR_ARG, function,
                            call->dest == NULL ? "dest is null" : "source is null");
    if (call->root < 0 || call->root >= coordinator->communicator->n)
        return chorusx_fail(CHORUS_ERR_ARG, function, "root is not in the communicator");
    return coordinator->communicator->backend->collect(function, coordinator, call);
}

static int move(const char *function, chorusx_coordinator_t coordinator, chorus_coll coll,
                void *dest, const void *source, size_t bytes, int root)
{
    const struct ch_collective call = {.coll = coll,
                                       .dest = dest,
                                       .source = source,
                                       .n = bytes,
                                       .type = CHORUS_TYPE_u8,
                                       .root = root};

    return make(function, coordinator, &call);
}

int chorusx_coordinator_barrier(chorusx_coordinator_t coordinator)
{
    return move(__func__, coordinator, CHORUS_COLL_barrier, NULL, NULL, 0, 0);
}

int chorusx_coordinator_broadcast(chorusx_coordinator_t coordinator, void *dest,
                                  const void *source, size_t bytes, int root)
{
    return move(__func__, coordinator, CHORUS_COLL_broadcast, dest, source, bytes, root);
}

int chorusx_coordinator_fcollect(chorusx_coordinator_t coordinator, void *dest,
                                 const void *source, size_t bytes)
{
    return move(__func__, coordinator, CHORUS_COLL_fcollect, dest, source, bytes, 0);
}

int chorusx_coordinator_alltoall(chorusx_coordinator_t coordinator, void *dest,
                                 const void *source, size_t bytes)
{
    return move(__func__, coordinator, CHORUS_COLL_alltoall, dest, source, bytes, 0);
}

static bool is_reduced(chorus_type type, chorus_op op)
{
    const bool is_type = type == CHORUS_TYPE_i32 || type == CHORUS_TYPE_i64 ||
                         type == CHORUS_TYPE_u32 || type == CHORUS_TYPE_u64 ||
                         type == CHORUS_TYPE_f32 || type == CHORUS_TYPE_f64;

    return is_type && (op == CHORUS_OP_sum || op == CHORUS_OP_min || op == CHORUS_OP_max);
}

int chorusx_coordinator_reduce(chorusx_coordinator_t coordinator, void *dest,
                               const void *source, size_t n, chorus_type type, chorus_op op)
{
    const struct ch_collective call = {.coll = CHORUS_COLL_reduce,
                                       .dest = dest,
                                       .source = source,
                                       .n = n,
                                       .type = type,
                                       .op = op};

    if (!is_reduced(type, op))
        return chorusx_fail(CHORUS_ERR_ARG, __func__,
                            "the type is not i32, i64, u32, u64, f32 or f64, or the operator "
                            "not sum, min or max");
    return make(__func__, coordinator, &call);
}
