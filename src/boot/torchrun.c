/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchrun.c: a PE that torchrun started, or another program that sets the same variables. PE
 * 0 is the root of the tree, on MASTER_ADDR; torchrun itself uses MASTER_PORT, so the root
 * listens on the next port, or on CHORUS_PORT. If another program has the next port, a root
 * that gives all others the secret takes any.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/option.h"
#include "base/text.h"
#include "boot/ways.h"
#include "boot/tree/tree.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct torchrun {
    uint32_t me, n;
    const char *master; /* MASTER_ADDR */
    uint16_t port;      /* of the root, by the variables */
    uint16_t root_port; /* at which it listens; another one if a program has that */
    bool is_one_host;   /* all PEs are on this host, as the variables show */
    uint64_t timeout_ns;
};

static const char who[] = "torchrun";

/* Read the port of the root: CHORUS_PORT, or the one after MASTER_PORT. */
static chorus_status find_port(uint64_t *port_out)
{
    if (ch_variable_get(CH_VARIABLE_PORT) != NULL)
        return ch_way_read_number(ch_variable_name(CH_VARIABLE_PORT), "the user", 1, 65535,
                                  port_out);
    CH_TRY(ch_way_read_number("MASTER_PORT", who, 1, 65534, port_out));
    ++*port_out;
    return CHORUS_OK;
}

/* Is it an address of the loopback? Only PEs of the root's host can connect to that. */
static bool is_loopback(const char *master)
{
    return strcmp(master, "localhost") == 0 || strcmp(master, "::1") == 0 ||
           strncmp(master, "127.", 4) == 0;
}

/* Set *job from the variables of torchrun. */
static chorus_status read_job(struct torchrun *job)
{
    const char *const local = secure_getenv("LOCAL_WORLD_SIZE");
    uint64_t n, me, port, n_local = 0;

    CH_TRY(ch_way_check_host("MASTER_ADDR"));
    CH_TRY(ch_way_read_number("WORLD_SIZE", who, 1, CH_TREE_PES_MAX, &n));
    CH_TRY(ch_way_read_number("RANK", who, 0, n - 1, &me));
    CH_TRY(find_port(&port));
    job->master = secure_getenv("MASTER_ADDR");
    job->me = (uint32_t)me;
    job->n = (uint32_t)n;
    job->port = job->root_port = (uint16_t)port;
    if (local != NULL) (void)ch_number_whole(local, 1, n, &n_local);
    job->is_one_host = n_local == n || n == 1 || is_loopback(job->master);
    return CHORUS_OK;
}

/* Write MASTER_ADDR with the port of the root, for ch_tree_join. */
static void address_of_root(const struct torchrun *job, char text_out[CH_TREE_TEXT_BYTES])
{
    (void)snprintf(text_out, CH_TREE_TEXT_BYTES,
                   strchr(job->master, ':') != NULL ? "[%s]:%u" : "%s:%u", job->master,
                   job->root_port);
}

/* ---- where a PE listens ---- */

/*
 * A PE's sockets are not open to networks by which no PE comes. The root listens at
 * MASTER_ADDR, since other PEs connect to it. Other sockets of a PE listen at the interface
 * that CHORUS_NET names; otherwise at the address from which this host sends packets to
 * MASTER_ADDR. An address of the loopback is used only if all PEs are on this host: some
 * systems give it to the name of the host.
 */

struct found {
    uint32_t n;
    struct ch_tree_address at[CH_TREE_ADDRESSES];
};

/* Find the addresses of MASTER_ADDR that PEs may use. */
static void resolve_master(const struct torchrun *job, struct found *out)
{
    char root[CH_TREE_TEXT_BYTES], why[CH_TREE_TEXT_BYTES];
    struct found all = {.n = 0};

    out->n = 0;
    address_of_root(job, root);
    all.n = ch_tree_addresses_parse(root, all.at, why, sizeof(why));
    for (uint32_t i = 0; i < all.n; i++)
        if (job->is_one_host || !ch_tree_address_is_loopback(&all.at[i]))
            out->at[out->n++] = all.at[i];
}

/* Returns the one of these addresses at which the root listens if it is on this host: the only
 * one that this host has. Null: it has several, of which other hosts may use any, or none. */
static const struct ch_tree_address *find_root_address(const struct torchrun *job,
                                                       const struct found *found)
{
    const struct ch_tree_address *own = NULL;

    for (uint32_t i = 0; i < found->n; i++) {
        if (!ch_tree_address_is_own(&found->at[i])) continue;
        if (own != NULL) return NULL;
        own = &found->at[i];
        if (job->is_one_host) break;
    }
    return own;
}

/* Find where the other sockets of this PE listen, as said above. False: nowhere in
 * particular. */
static bool find_own_address(const struct torchrun *job, const struct found *found,
                             struct ch_tree_address *out)
{
    static const unsigned char loopback[CH_BOOT_IP_BYTES] = CH_BOOT_LOOPBACK;
    const char *const net = ch_variable_get(CH_VARIABLE_NET);

    if (net != NULL && *net != '\0') {
        if (ch_tree_address_of_interface(net, out)) return true;
        CH_LOG(INFO,
               "CHORUS_NET is \"%.64s\", which is no interface with an address of this host",
               net);
    }
    for (uint32_t i = 0; i < found->n; i++)
        if (ch_tree_address_of_route(&found->at[i], out) &&
            (job->is_one_host || !ch_tree_address_is_loopback(out)))
            return true;
    memcpy(out->ip, loopback, sizeof(loopback));
    return job->is_one_host;
}

/* Find where the root listens, and where the other sockets of this PE do; 0: at all
 * addresses. */
static void find_listen_addresses(const struct torchrun *job,
                                  unsigned char root_out[CH_BOOT_IP_BYTES],
                                  unsigned char own_out[CH_BOOT_IP_BYTES])
{
    const struct ch_tree_address *root;
    struct ch_tree_address own;
    struct found found;

    memset(root_out, 0, CH_BOOT_IP_BYTES);
    memset(own_out, 0, CH_BOOT_IP_BYTES);
    resolve_master(job, &found);
    root = find_root_address(job, &found);
    if (root != NULL) memcpy(root_out, root->ip, CH_BOOT_IP_BYTES);
    if (find_own_address(job, &found, &own))
        memcpy(own_out, own.ip, CH_BOOT_IP_BYTES);
    else
        CH_LOG(INFO,
               "PE %u listens at all addresses of this host, since it has none towards "
               "MASTER_ADDR",
               job->me);
    if (root == NULL && job->me == 0)
        CH_LOG(INFO, "PE 0 listens at all addresses of this host, since MASTER_ADDR is not one "
                     "of them alone");
}

/* ---- the secret ---- */

/*
 * torchrun gives no secret to its processes. CHORUS_SECRET may be set to any text, so a
 * password hash makes the key from it: whoever guesses the text needs the time and the memory
 * of this hash for each guess. The names of the job are its salt, and keep apart jobs that run
 * at the same time. One PE of each host computes it and gives it to the others (share.c), since
 * a host may have more PEs than memory for the hash of each.
 *
 * Without CHORUS_SECRET, PEs on one host use a random secret in the same way, which PE 0 makes:
 * if it ends, the job has no root. PEs on several hosts have no means to agree on one: theirs
 * is made of the names of the job, refuses accidental connections, and does not keep out an
 * attacker.
 */

/* The cost of the password hash, argon2id: 0.05 s on a core of 2.4 GHz. */
enum { PASSES = 2, HASH_BYTES = 32 << 20 };

/* Returns the value of a variable; "" if it is not set. */
static const char *text_of(const char *name)
{
    const char *const text = secure_getenv(name);

    return text == NULL ? "" : text;
}

static void add_text(crypto_generichash_state *state, const char *text)
{
    (void)crypto_generichash_update(state, (const unsigned char *)text, strlen(text) + 1);
}

/* Hash the job's names, which are not secret. */
static void hash_names(unsigned char *out, size_t bytes)
{
    crypto_generichash_state state;

    (void)crypto_generichash_init(&state, NULL, 0, bytes);
    add_text(&state, text_of("MASTER_ADDR"));
    add_text(&state, text_of("MASTER_PORT"));
    add_text(&state, text_of("TORCHELASTIC_RUN_ID"));
    (void)crypto_generichash_final(&state, out, bytes);
}

/* ch_share_terms.make: derive the secret from the text `arg`. */
static chorus_status derive_secret(const void *arg,
                                   unsigned char secret_out[CH_BOOT_SECRET_BYTES])
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

/* ch_share_terms.make: make a random secret, with the port (uint16_t) at `arg` at its end. */
static chorus_status draw_secret(const void *arg,
                                 unsigned char secret_out[CH_BOOT_SECRET_BYTES])
{
    randombytes_buf(secret_out, PORT_AT);
    memcpy(secret_out + PORT_AT, arg, sizeof(uint16_t));
    return CHORUS_OK;
}

/* Write the name of this job's files on this host; kind: of which secret. A job with the same
 * names in another network namespace, or of another host that shares the folder, has other
 * files. */
static void name_files(const struct torchrun *job, const char *kind,
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

/* Get the secret that one PE of this host derives from `text`. On a host without a folder for
 * the socket, each PE derives it. */
static chorus_status share_derived(const struct torchrun *job, const char *text,
                                   unsigned char *secret_out, struct ch_share **share_out)
{
    struct ch_share_terms terms = {
        .make = derive_secret, .arg = text, .timeout_ns = job->timeout_ns};
    chorus_status status;

    name_files(job, "key", terms.name);
    (void)crypto_generichash(terms.claim, sizeof(terms.claim), (const unsigned char *)text,
                             strlen(text), NULL, 0);
    status = ch_share_open(&terms, secret_out, share_out);
    if (status != CHORUS_ERR_UNSUPPORTED) return status;
    CH_LOG(INFO, "this PE derives the job's key itself: %s", ch_error_message());
    return derive_secret(text, secret_out);
}

/* Get the random secret that PE 0 makes, which also contains root_port. */
static chorus_status share_random(struct torchrun *job, unsigned char *secret_out,
                                  struct ch_share **share_out)
{
    const struct torchrun own = *job;
    struct ch_share_terms terms = {.make = draw_secret,
                                   .arg = &own.root_port,
                                   .is_for_others = job->me != 0,
                                   .timeout_ns = job->timeout_ns};

    if (job->n == 1) return draw_secret(&own.root_port, secret_out);
    name_files(job, "random", terms.name);
    CH_TRY(ch_share_open(&terms, secret_out, share_out));
    if (job->me == 0 && *share_out == NULL)
        return CH_FAIL(CHORUS_ERR_STATE,
                       "PE 0 of another job with the same MASTER_ADDR, MASTER_PORT and "
                       "TORCHELASTIC_RUN_ID is starting on this host; choose another port");
    memcpy(&job->root_port, secret_out + PORT_AT, sizeof(job->root_port));
    return CHORUS_OK;
}

/* Is the secret random, made by PE 0 for the others on its host? */
static bool has_random_secret(const struct torchrun *job)
{
    return job->is_one_host && *text_of(ch_variable_name(CH_VARIABLE_SECRET)) == '\0';
}

/* Get the job's secret. *share_out may be null; else it gives the secret to other PEs until it
 * is closed. A random secret also sets root_port, to that of PE 0. */
static chorus_status find_secret(struct torchrun *job,
                                 unsigned char secret_out[CH_BOOT_SECRET_BYTES],
                                 struct ch_share **share_out)
{
    const char *const text = text_of(ch_variable_name(CH_VARIABLE_SECRET));

    *share_out = NULL;
    if (sodium_init() < 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "libsodium has no source of random numbers");
    if (*text != '\0') return share_derived(job, text, secret_out, share_out);
    if (has_random_secret(job)) return share_random(job, secret_out, share_out);
    if (job->me == 0)
        CH_LOG(WARN, "CHORUS_SECRET is not set: whoever reaches the PEs of this job over the "
                     "network can join it, and read and write its memory; set CHORUS_SECRET to "
                     "a text that others do not know, the same for all PEs");
    hash_names(secret_out, CH_BOOT_SECRET_BYTES);
    return CHORUS_OK;
}

/* ---- start ---- */

/* Write the address at which the root listens; ip 0: keep text_out. PEs of one host connect
 * only to that address: another program may have the same port at another one of
 * MASTER_ADDR. */
static void print_root_address(const unsigned char ip[CH_BOOT_IP_BYTES], uint16_t port,
                               char text_out[CH_TREE_TEXT_BYTES])
{
    static const unsigned char none[CH_BOOT_IP_BYTES];
    struct ch_tree_address at = {.port = port};

    if (memcmp(ip, none, sizeof(none)) == 0) return;
    memcpy(at.ip, ip, sizeof(at.ip));
    ch_tree_address_print(&at, text_out);
}

/* Listen at ip and the port of the job or, if a program has that and all PEs will learn
 * root_port, at any. A user who names a port gets that one. */
static chorus_status listen_as_root(struct torchrun *job,
                                    const unsigned char ip[CH_BOOT_IP_BYTES],
                                    struct ch_tree_listener *listener_out)
{
    const bool may_move = has_random_secret(job) && ch_variable_get(CH_VARIABLE_PORT) == NULL;
    chorus_status status = ch_tree_listen_at(ip, job->port, listener_out);

    if (status != CHORUS_OK && errno == EADDRINUSE && may_move)
        status = ch_tree_listen_at(ip, 0, listener_out);
    if (status != CHORUS_OK) return status;
    job->root_port = listener_out->port;
    if (job->root_port != job->port)
        CH_LOG(INFO, "another program uses port %u, so PE 0 listens on port %u", job->port,
               job->root_port);
    return CHORUS_OK;
}

static chorus_status torchrun_open(uint64_t timeout_ns, struct ch_boot **boot_out)
{
    struct ch_tree_start start = {.timeout_ns = timeout_ns};
    struct torchrun job = {.timeout_ns = timeout_ns};
    unsigned char root_ip[CH_BOOT_IP_BYTES];
    struct ch_tree_listener listener = {.fd = -1};
    char root[CH_TREE_TEXT_BYTES];
    chorus_status status;

    CH_TRY(read_job(&job));
    start.me = job.me;
    start.n = job.n;
    find_listen_addresses(&job, root_ip, start.listen);
    if (job.me == 0) CH_TRY(listen_as_root(&job, root_ip, &listener));
    status = find_secret(&job, start.secret, &start.share);
    if (status != CHORUS_OK) {
        ch_tree_listener_close(&listener);
        return status;
    }
    address_of_root(&job, root);
    if (job.me != 0 && job.is_one_host) print_root_address(root_ip, job.root_port, root);
    if (job.me == 0)
        start.door = &listener;
    else
        start.root = root;
    return ch_boot_open_tree(&start, boot_out);
}

static bool torchrun_applies(char why_out[CH_WAY_WHY_BYTES])
{
    static const char *const names[] = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (ch_way_read_variable(names[i], why_out) == NULL) return false;
    (void)snprintf(why_out, CH_WAY_WHY_BYTES,
                   "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT "
                   "are set");
    return true;
}

const struct ch_way ch_way_torchrun = {"torchrun", torchrun_applies, torchrun_open, false};
