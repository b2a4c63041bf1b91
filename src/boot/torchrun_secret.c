/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchrun_secret.c: torchrun gives no secret to its processes.
 *
 * CHORUS_SECRET may be set to any text, so a password hash makes the key from it: whoever
 * guesses the text needs the time and the memory of this hash for each guess. The names of the
 * job are its salt, and keep apart jobs that run at the same time. One PE of each host computes
 * it and gives it to the others (share.h), since a host may have more PEs than memory for the
 * hash of each.
 *
 * Without CHORUS_SECRET, PEs on one host use a random secret in the same way, which PE 0 makes:
 * if it ends, the job has no root. PEs on several
 * hosts have no means to agree on one: theirs is made of the names of the job, refuses
 * accidental connections, and does not keep out an attacker.
 */
#include "boot/torchrun.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/option.h"
#include "boot/ways.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The cost of the password hash, argon2id: 0.05 s on a core of 2.4 GHz. */
enum { PASSES = 2, HASH_BYTES = 32 << 20 };

static const char *text_of(const char *name)
{
    const char *const text = secure_getenv(name);

    return text == NULL ? "" : text;
}

static void add_text(crypto_generichash_state *state, const char *text)
{
    (void)crypto_generichash_update(state, (const unsigned char *)text, strlen(text) + 1);
}

/* A hash of the job's names, which are not secret. */
static void hash_names(unsigned char *out, size_t bytes)
{
    crypto_generichash_state state;

    (void)crypto_generichash_init(&state, NULL, 0, bytes);
    add_text(&state, text_of("MASTER_ADDR"));
    add_text(&state, text_of("MASTER_PORT"));
    add_text(&state, text_of("TORCHELASTIC_RUN_ID"));
    (void)crypto_generichash_final(&state, out, bytes);
}

/* arg is the text. */
static chorus_status derive(const void *arg, unsigned char secret_out[CH_BOOT_SECRET_BYTES])
{
    const uint64_t since_ns = ch_clock_ns();
    unsigned char salt[crypto_pwhash_SALTBYTES];

    hash_names(salt, sizeof(salt));
    if (crypto_pwhash(secret_out, CH_BOOT_SECRET_BYTES, arg, strlen(arg), salt, PASSES,
                      HASH_BYTES, crypto_pwhash_ALG_ARGON2ID13) != 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM,
                       "no memory to derive the job's key from CHORUS_SECRET, which takes %d "
                       "MiB for a moment",
                       HASH_BYTES >> 20);
    CH_LOG(INFO, "derived the job's key from CHORUS_SECRET in %.3f s",
           (double)(ch_clock_ns() - since_ns) / (double)CH_NS_PER_S);
    return CHORUS_OK;
}

/* A random secret ends with the port at which PE 0 listens; 240 bits remain random. */
#define PORT_AT (CH_BOOT_SECRET_BYTES - sizeof(uint16_t))

/* arg is the port. */
static chorus_status draw(const void *arg, unsigned char secret_out[CH_BOOT_SECRET_BYTES])
{
    randombytes_buf(secret_out, PORT_AT);
    memcpy(secret_out + PORT_AT, arg, sizeof(uint16_t));
    return CHORUS_OK;
}

/* The files of this job on this host; not those of a job with the same names in another network
 * namespace, or of another host that shares the folder. */
static void name_files(const struct ch_torchrun *job, const char *kind,
                       char name_out[CH_SHARE_NAME_BYTES])
{
    unsigned char hash[CH_SHARE_NAME_BYTES / 2 - 4];
    char port[16], space[64] = "", host[256] = "", text[2 * sizeof(hash) + 1];
    crypto_generichash_state state;
    unsigned char names[16];

    hash_names(names, sizeof(names));
    (void)snprintf(port, sizeof(port), "%u", job->port);
    (void)!readlink("/proc/self/ns/net", space, sizeof(space) - 1);
    (void)gethostname(host, sizeof(host) - 1);
    (void)crypto_generichash_init(&state, names, sizeof(names), sizeof(hash));
    add_text(&state, port);
    add_text(&state, space);
    add_text(&state, host);
    (void)crypto_generichash_final(&state, hash, sizeof(hash));
    (void)sodium_bin2hex(text, sizeof(text), hash, sizeof(hash));
    (void)snprintf(name_out, CH_SHARE_NAME_BYTES, "%s-%s", text, kind);
}

/* A host without a folder for the socket derives the key on each PE. */
static chorus_status share_derived(const struct ch_torchrun *job, const char *text,
                                   unsigned char *secret_out, struct ch_share **share_out)
{
    struct ch_share_terms terms = {.make = derive, .arg = text, .timeout_ns = job->timeout_ns};
    chorus_status status;

    name_files(job, "key", terms.name);
    (void)crypto_generichash(terms.claim, sizeof(terms.claim), (const unsigned char *)text,
                             strlen(text), NULL, 0);
    status = ch_share_open(&terms, secret_out, share_out);
    if (status != CHORUS_ERR_UNSUPPORTED) return status;
    CH_LOG(INFO, "this PE derives the job's key itself: %s", ch_error_message());
    return derive(text, secret_out);
}

static chorus_status share_random(struct ch_torchrun *job, unsigned char *secret_out,
                                  struct ch_share **share_out)
{
    const struct ch_torchrun own = *job;
    struct ch_share_terms terms = {.make = draw,
                                   .arg = &own.root_port,
                                   .is_for_others = job->me != 0,
                                   .timeout_ns = job->timeout_ns};

    if (job->n == 1) return draw(&own.root_port, secret_out);
    name_files(job, "random", terms.name);
    CH_TRY(ch_share_open(&terms, secret_out, share_out));
    if (job->me == 0 && *share_out == NULL)
        return CH_FAIL(CHORUS_ERR_STATE,
                       "PE 0 of another job with the same MASTER_ADDR, MASTER_PORT and "
                       "TORCHELASTIC_RUN_ID is starting on this host; choose another port");
    memcpy(&job->root_port, secret_out + PORT_AT, sizeof(job->root_port));
    return CHORUS_OK;
}

bool ch_torchrun_is_random(const struct ch_torchrun *job)
{
    return job->is_one_host && *text_of(ch_variable_name(CH_VARIABLE_SECRET)) == '\0';
}

chorus_status ch_torchrun_secret(struct ch_torchrun *job,
                                 unsigned char secret_out[CH_BOOT_SECRET_BYTES],
                                 struct ch_share **share_out)
{
    const char *const text = text_of(ch_variable_name(CH_VARIABLE_SECRET));

    *share_out = NULL;
    if (sodium_init() < 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "libsodium has no source of random numbers");
    if (*text != '\0') return share_derived(job, text, secret_out, share_out);
    if (ch_torchrun_is_random(job)) return share_random(job, secret_out, share_out);
    if (job->me == 0)
        CH_LOG(WARN, "CHORUS_SECRET is not set: whoever reaches the PEs of this job over the "
                     "network can join it, and read and write its memory; set CHORUS_SECRET to "
                     "a text that others do not know, the same for all PEs");
    hash_names(secret_out, CH_BOOT_SECRET_BYTES);
    return CHORUS_OK;
}
