/* SPDX-License-Identifier: Apache-2.0 */
/* uniqueid.c: a job that a program creates by itself. */
#include "boot/boot.h"
#include "boot/tree/tree.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The contents of an id. */
struct content {
    uint32_t magic;
    uint32_t n_addresses;
    unsigned char secret[CH_BOOT_SECRET_BYTES];
    struct ch_tree_address addresses[CH_TREE_ADDRESSES];
};

/* The socket of the last id that this process created, until it joins with that id. */
static struct {
    pthread_mutex_t lock; /* guards the two variables */
    struct ch_tree_door door;
    unsigned char secret[CH_BOOT_SECRET_BYTES];
} made = {.lock = PTHREAD_MUTEX_INITIALIZER, .door = {.fd = -1}};

static chorus_status make(struct content *content)
{
    ch_tree_door_close(&made.door);
    CH_TRY(ch_tree_listen(0, &made.door));
    ch_tree_secret_make(made.secret);
    *content = (struct content){.magic = CH_TREE_MAGIC};
    memcpy(content->secret, made.secret, sizeof(made.secret));
    content->n_addresses = ch_tree_own_addresses(&made.door, content->addresses);
    return CHORUS_OK;
}

chorus_status ch_uniqueid_make(char *id_out, size_t bytes)
{
    struct content content;
    chorus_status status;

    (void)pthread_mutex_lock(&made.lock);
    status = make(&content);
    (void)pthread_mutex_unlock(&made.lock);
    if (status != CHORUS_OK) return status;
    memset(id_out, 0, bytes);
    memcpy(id_out, &content, sizeof(content));
    return CHORUS_OK;
}

bool ch_uniqueid_check(const char *id, size_t bytes)
{
    struct content content;

    if (bytes < sizeof(content)) return false;
    memcpy(&content, id, sizeof(content));
    return content.magic == CH_TREE_MAGIC && content.n_addresses >= 1 &&
           content.n_addresses <= CH_TREE_ADDRESSES;
}

/* The socket, if this process created the id. */
static bool take_door(const struct content *content, struct ch_tree_door *door_out)
{
    bool is_made;

    (void)pthread_mutex_lock(&made.lock);
    is_made =
        made.door.fd >= 0 && memcmp(made.secret, content->secret, sizeof(content->secret)) == 0;
    if (is_made) {
        *door_out = made.door;
        made.door = (struct ch_tree_door){.fd = -1};
    }
    (void)pthread_mutex_unlock(&made.lock);
    return is_made;
}

chorus_status ch_uniqueid_open(const char *id, uint32_t me, uint32_t n, uint64_t timeout_ns,
                               struct ch_boot **boot_out)
{
    struct ch_tree_start start = {.me = me, .n = n, .timeout_ns = timeout_ns};
    char root[CH_TREE_TEXT_BYTES];
    struct ch_tree_door door;
    struct content content;

    memcpy(&content, id, sizeof(content));
    memcpy(start.secret, content.secret, sizeof(start.secret));
    if (take_door(&content, &door)) {
        start.door = &door;
    } else {
        ch_tree_addresses_print(content.addresses, content.n_addresses, root);
        start.root = root;
    }
    return ch_boot_tree(&start, boot_out);
}
