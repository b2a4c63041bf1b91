/* SPDX-License-Identifier: Apache-2.0 */
#include "tree_pes.h"

#include <stdio.h>
#include <string.h>

const char *failed;
struct tree_pe tree_pes[TREE_PES_MAX];
struct ch_tree_listener tree_door;

static char root[CH_TREE_TEXT_BYTES];

void tree_prepare(uint32_t n, uint64_t timeout_ns)
{
    unsigned char secret[CH_BOOT_SECRET_BYTES];

    ck_assert_uint_le(n, TREE_PES_MAX);
    ck_assert_int_eq(ch_tree_listen(0, &tree_door), CHORUS_OK);
    (void)snprintf(root, sizeof(root), "127.0.0.1:%u", tree_door.port);
    ch_tree_secret_make(secret);
    for (uint32_t pe = 0; pe < n; pe++) {
        struct ch_tree_start *const start = &tree_pes[pe].start;

        tree_pes[pe] = (struct tree_pe){.status = CHORUS_OK};
        *start = (struct ch_tree_start){.me = pe, .n = n, .timeout_ns = timeout_ns};
        memcpy(start->secret, secret, sizeof(secret));
        if (pe == 0)
            start->door = &tree_door;
        else
            start->root = root;
    }
}

static void *pe_run(void *arg)
{
    struct tree_pe *const pe = arg;

    pe->status = ch_boot_open_tree(&pe->start, &pe->boot);
    (void)snprintf(pe->message, sizeof(pe->message), "%s", ch_error_message());
    if (pe->status != CHORUS_OK) return NULL;
    pe->main(pe);
    if (pe->boot != NULL) pe->boot->ops->close(pe->boot);
    return NULL;
}

void tree_run(uint32_t n, void (*pe_main)(struct tree_pe *pe))
{
    for (uint32_t i = 0; i < n; i++) {
        tree_pes[i].main = pe_main;
        if (!tree_pes[i].is_absent)
            ck_assert_int_eq(pthread_create(&tree_pes[i].thread, NULL, pe_run, &tree_pes[i]),
                             0);
    }
    for (uint32_t i = 0; i < n; i++)
        if (!tree_pes[i].is_absent) ck_assert_int_eq(pthread_join(tree_pes[i].thread, NULL), 0);
    ck_assert_msg(failed == NULL, "on a PE: %s", failed);
}
