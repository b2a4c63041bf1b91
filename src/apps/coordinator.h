/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coordinator.h: what a backend of the coordinator provides. coordinator.c checks what the
 * program passes and calls the backend; coordinator_chorus.c is one, and mpi/ has another one
 * in a library of its own.
 */
#ifndef CH_APPS_COORDINATOR_H
#define CH_APPS_COORDINATOR_H

#include "chorus/apps/coordinator.h"

#include <stdbool.h>
#include <stdlib.h>

struct ch_backend;

struct chorusx_environment {
    const struct ch_backend *backend;
    bool is_starter;  /* it has started the library, and ends it */
    size_t n_divided; /* communicators of splits that are not destroyed */
    chorusx_communicator_t world;
};

struct chorusx_communicator {
    struct chorusx_environment *environment;
    const struct ch_backend *backend;
    int me, n;
    chorus_team_t team; /* of Chorus */
    int *in_job;        /* [n] numbers in the job, of Chorus */
    void *comm;         /* the address of an MPI_Comm, of MPI */
};

/* A post, of which dest and signal are the receiver's; or an acknowledgement, without source.
 */
struct ch_message {
    void *dest;
    const void *source;
    size_t bytes;
    uint64_t *signal, value;
    int pe;
};

struct chorusx_coordinator {
    struct chorusx_communicator *communicator;
    chorusx_launch_mode_t mode;
    chorus_stream_t stream;
    bool is_in_group;
    struct {
        chorusx_launch_t launch;
        void *arg;
    } work;
    struct ch_message *expected; /* acknowledgements to carry out, of Chorus */
    void *requests;              /* MPI_Request of each message, of MPI */
    size_t n_pending, capacity;  /* of the one or the other */
};

struct ch_collective {
    chorus_coll coll;
    void *dest;
    const void *source;
    size_t n; /* elements of a block */
    chorus_type type;
    chorus_op op;
    int root;
};

/* Functions return a code, and have recorded the failure of the public `function`. */
struct ch_backend {
    const char *name;
    /* Start the library if it is not, and fill in the world but for its environment. */
    int (*start)(const char *function, struct chorusx_communicator *world, bool *is_starter);
    int (*end)(const char *function, struct chorusx_communicator *world, bool is_starter);
    /* Fill in the new communicator; n is 0 where the PE is in none. */
    int (*split)(const char *function, const struct chorusx_communicator *parent, int color,
                 struct chorusx_communicator *split);
    int (*leave)(const char *function, struct chorusx_communicator *communicator);
    void *(*allocate)(const char *function, const struct chorusx_communicator *communicator,
                      size_t bytes);
    int (*release)(const char *function, const struct chorusx_communicator *communicator,
                   void *memory);
    /* What it can not do is ERR_UNSUPPORTED. */
    int (*check)(const char *function, const struct chorusx_coordinator *coordinator);
    /* Begin; complete carries out all that was begun, whether or not it fails. */
    int (*post)(const char *function, struct chorusx_coordinator *coordinator,
                const struct ch_message *message);
    int (*acknowledge)(const char *function, struct chorusx_coordinator *coordinator,
                       const struct ch_message *message);
    int (*complete)(const char *function, struct chorusx_coordinator *coordinator);
    int (*collect)(const char *function, struct chorusx_coordinator *coordinator,
                   const struct ch_collective *collective);
};

extern const struct ch_backend ch_backend_chorus;

/* The backend of libchorus-apps-mpi, which is found by its name. */
CHORUS_API extern const struct ch_backend chorusx_backend_mpi;

/* Make room for one more pending message in an array of the coordinator, of elements of so many
 * bytes. The array, or null, and the old one stays. */
static inline void *ch_coordinator_grow(struct chorusx_coordinator *coordinator, void *array,
                                        size_t bytes)
{
    const size_t capacity = coordinator->capacity == 0 ? 8 : 2 * coordinator->capacity;
    void *grown = array;

    if (coordinator->n_pending < coordinator->capacity) return array;
    grown = realloc(array, capacity * bytes);
    if (grown != NULL) coordinator->capacity = capacity;
    return grown;
}

#endif /* CH_APPS_COORDINATOR_H */
