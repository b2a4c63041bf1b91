/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.c: gives the state of the PE to files of CUDA C++, which CUDA loads as modules.
 *
 * A file registers itself in a constructor, which may run before that in which CUDA learns of
 * the file's variables (objects of nvcc -rdc=true, in any order). What CUDA refuses is
 * therefore tried again: by chorus_init for what the program was linked with, and after that by
 * calls that allocate.
 */
#include "api/modules.h"

#include "base/error.h"
#include "boot/boot.h"
#include "chorus/chorusx.h"
#include "team/table.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct chorusx_module *modules; /* the latest first */
int ch_modules_waiting;                /* number of those without the state */

/* Note whether a file has the state. Under the mutex. */
static void note(struct chorusx_module *module, int has_state)
{
    (void)__atomic_fetch_add(&ch_modules_waiting, module->has_state - has_state,
                             __ATOMIC_RELAXED);
    module->has_state = has_state;
}

/* Was a file compiled with headers of this library's version? */
static bool is_ours(const struct chorusx_module *module)
{
    return module->bytes == sizeof(struct ch_device_state) &&
           module->version == CHORUSX_MODULE_VERSION;
}

/* A file that does not have the state, or has it, which from now on counts as the opposite.
 * CUDA is not called under the mutex: it may load libraries, whose constructors register. */
static struct chorusx_module *next_module(int has_state)
{
    struct chorusx_module *module;

    (void)pthread_mutex_lock(&mutex);
    module = modules;
    while (module != NULL &&
           (module->has_state != has_state || module->was_refused || !is_ours(module)))
        module = module->next;
    if (module != NULL) note(module, !has_state);
    (void)pthread_mutex_unlock(&mutex);
    return module;
}

/* After all files were tried. */
static void forget_refusals(void)
{
    (void)pthread_mutex_lock(&mutex);
    for (struct chorusx_module *module = modules; module != NULL; module = module->next)
        if (module->was_refused) {
            module->was_refused = 0;
            note(module, 0);
        }
    (void)pthread_mutex_unlock(&mutex);
}

/* Store the state, null for none, in a file's memory. is_loading: its constructor runs, so that
 * CUDA may not know of its variables yet, and a refusal is no fault. */
static void store(struct chorusx_module *module, const struct ch_device_state *state,
                  bool is_loading)
{
    const char *const why = module->store(state);

    if (why == NULL) return;
    module->was_refused = 1;
    if (is_loading || state == NULL)
        CH_LOG(INFO,
               "kernels of %s have no state yet, as CUDA refuses the copy (%s); calls that "
               "allocate try it again",
               module->file, why);
    else if (!module->is_reported)
        CH_LOG(WARN,
               "kernels of %s cannot make calls, as CUDA refuses the copy of their state (%s); "
               "is the file compiled for this GPU (nvcc -arch=native)?",
               module->file, why);
    if (!is_loading && state != NULL) module->is_reported = 1;
}

/* The state that kernels have; false: kernels of this PE make no calls. */
static bool find_state(const struct ch_context *context, struct ch_device_state *state)
{
    if (ch_heap_device(context->heap) == NULL ||
        strcmp(context->boot->ops->name, "threads") == 0)
        return false;
    return ch_teams_device_state(context->teams, state) == CHORUS_OK;
}

static void give_all(const struct ch_context *context, bool is_loading)
{
    struct ch_device_state state;
    struct chorusx_module *module;
    int before;

    if (!find_state(context, &state)) return;
    before = ch_device_enter(ch_heap_device(context->heap));
    while ((module = next_module(0)) != NULL)
        store(module, &state, is_loading);
    ch_device_leave(ch_heap_device(context->heap), before);
    forget_refusals();
}

void ch_modules_give_all(const struct ch_context *context)
{
    give_all(context, false);
}

void ch_modules_take(const struct ch_context *context)
{
    const struct ch_device *device = ch_heap_device(context->heap);
    struct chorusx_module *module;
    int before;

    if (device == NULL) return;
    before = ch_device_enter(device);
    while ((module = next_module(1)) != NULL)
        store(module, NULL, false);
    ch_device_leave(device, before);
    forget_refusals();
}

static chorus_status check_version(const struct chorusx_module *module)
{
    if (is_ours(module)) return CHORUS_OK;
    return CH_FAIL(
        CHORUS_ERR_ARG,
        "%s was compiled with a chorus_device.cuh of another version (%d.%d with %zu "
        "bytes of state, this library is %d.%d and has %zu); compile it again",
        module->file, module->version / 1000, module->version % 1000, module->bytes,
        CHORUS_MAJOR_VERSION, CHORUS_MINOR_VERSION, sizeof(struct ch_device_state));
}

chorus_status ch_modules_check(void)
{
    chorus_status status = CHORUS_OK;

    (void)pthread_mutex_lock(&mutex);
    for (struct chorusx_module *module = modules; module != NULL && status == CHORUS_OK;
         module = module->next)
        status = check_version(module);
    (void)pthread_mutex_unlock(&mutex);
    return status;
}

void chorusx_module_register(struct chorusx_module *module)
{
    const struct ch_context *context = ch_context_get();

    (void)pthread_mutex_lock(&mutex);
    module->has_state = 0;
    module->was_refused = 0;
    module->is_reported = 0;
    module->next = modules;
    modules = module;
    (void)__atomic_fetch_add(&ch_modules_waiting, 1, __ATOMIC_RELAXED);
    (void)pthread_mutex_unlock(&mutex);
    if (context == NULL) return;
    (void)ch_handle_status(__func__, check_version(module));
    give_all(context, true);
}

void chorusx_module_unregister(struct chorusx_module *module)
{
    struct chorusx_module **at = &modules;

    (void)pthread_mutex_lock(&mutex);
    while (*at != NULL && *at != module)
        at = &(*at)->next;
    if (*at != NULL) {
        *at = module->next;
        note(module, 1); /* it waits no more */
    }
    (void)pthread_mutex_unlock(&mutex);
}
