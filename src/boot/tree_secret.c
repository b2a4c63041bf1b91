/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_secret.c: processes that present another secret. For the job they are strangers, so they
 * must not end its start; but a PE that was started with a wrong secret is then missing, and
 * the other PEs need the reason.
 */
#include "boot/tree_inside.h"

#include <stdio.h>
#include <string.h>

/* A name from an unauthenticated process, without characters that no name of a host has. */
static void copy_name(char out[CH_TREE_HOST_BYTES], const char name[CH_TREE_HOST_BYTES])
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";

    memcpy(out, name, CH_TREE_HOST_BYTES - 1);
    out[CH_TREE_HOST_BYTES - 1] = '\0';
    out[strspn(out, allowed)] = '\0';
    if (out[0] == '\0') (void)snprintf(out, CH_TREE_HOST_BYTES, "?");
}

/* A process tries several addresses of the root, each from an address of its own. */
static bool is_same(const struct ch_tree_named *a, const struct ch_tree_named *b)
{
    return a->pe == b->pe && a->n == b->n && strcmp(a->host, b->host) == 0;
}

void ch_tree_note_foreign(struct ch_tree *tree, const struct ch_tree_stranger *s)
{
    struct ch_tree_foreign *const f = &tree->foreign;
    struct ch_tree_named one = {.pe = s->hello.pe, .n = s->hello.n};

    f->n++;
    copy_name(one.host, s->hello.host);
    ch_tree_address_of_peer(s->fd, one.from);
    for (uint32_t i = 0; i < f->n_named; i++)
        if (is_same(&f->named[i], &one)) return;
    if (f->n_named < sizeof(f->named) / sizeof(f->named[0])) f->named[f->n_named++] = one;
}

/* The advice precedes the names, which may be too long for a message. */
void ch_tree_foreign_text(const struct ch_tree *tree, char text_out[CH_TREE_TEXT_BYTES])
{
    const struct ch_tree_foreign *const f = &tree->foreign;
    size_t used;

    text_out[0] = '\0';
    if (f->n == 0) return;
    used = (size_t)snprintf(text_out, CH_TREE_TEXT_BYTES,
                            "; %llu connection%s another secret than the job's (%s), from",
                            (unsigned long long)f->n, f->n == 1 ? " had" : "s had",
                            CH_TREE_SECRET_ADVICE);
    for (uint32_t i = 0; i < f->n_named && used < CH_TREE_TEXT_BYTES; i++) {
        const struct ch_tree_named *const one = &f->named[i];
        used += (size_t)snprintf(text_out + used, CH_TREE_TEXT_BYTES - used,
                                 "%s PE %u of %u on host %.32s at %s", i == 0 ? "" : ",",
                                 one->pe, one->n, one->host, one->from);
    }
}
