/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/tcp/hello.h"

#include <sodium.h>
#include <string.h>

static const char magic[8] = "chorus\n";

enum { ORDER = 0x01020304 };

/* A MAC of one kind of message (`role`) between these two nonces. */
static void mac_make(unsigned char *mac_out, const unsigned char *secret, const char *role,
                     const struct ch_tcp_nonce *accepts, const struct ch_tcp_nonce *dials,
                     const uint32_t said[4])
{
    crypto_generichash_state state;

    (void)crypto_generichash_init(&state, secret, 32, CH_TCP_MAC_BYTES);
    (void)crypto_generichash_update(&state, (const unsigned char *)role, strlen(role) + 1);
    (void)crypto_generichash_update(&state, accepts->bytes, sizeof(accepts->bytes));
    (void)crypto_generichash_update(&state, dials->bytes, sizeof(dials->bytes));
    (void)crypto_generichash_update(&state, (const unsigned char *)said, 4 * sizeof(said[0]));
    (void)crypto_generichash_final(&state, mac_out, CH_TCP_MAC_BYTES);
}

static void hello_mac(unsigned char *mac_out, const struct ch_tcp_hello *hello,
                      const unsigned char *secret, const struct ch_tcp_nonce *accepts)
{
    const uint32_t said[4] = {hello->from, hello->to, hello->n, hello->channel};

    mac_make(mac_out, secret, "chorus tcp hello", accepts, &hello->nonce, said);
}

static void answer_mac(unsigned char *mac_out, const struct ch_tcp_answer *answer,
                       const unsigned char *secret, const struct ch_tcp_nonce *accepts,
                       const struct ch_tcp_nonce *dials)
{
    const uint32_t said[4] = {answer->verdict, answer->zero, 0, 0};

    mac_make(mac_out, secret, "chorus tcp answer", accepts, dials, said);
}

void ch_tcp_challenge_make(struct ch_tcp_challenge *out)
{
    memset(out, 0, sizeof(*out));
    memcpy(out->magic, magic, sizeof(magic));
    out->version = CH_TCP_VERSION;
    out->order = ORDER;
    randombytes_buf(out->nonce.bytes, sizeof(out->nonce.bytes));
}

const char *ch_tcp_challenge_wrong(const struct ch_tcp_challenge *challenge)
{
    if (memcmp(challenge->magic, magic, sizeof(magic)) != 0)
        return "the program that listens there is not a PE of Chorus";
    if (challenge->order != ORDER) return "it has another byte order";
    if (challenge->version != CH_TCP_VERSION) return "it has another version of Chorus";
    return NULL;
}

void ch_tcp_hello_make(struct ch_tcp_hello *hello, const unsigned char *secret,
                       const struct ch_tcp_nonce *theirs)
{
    memcpy(hello->magic, magic, sizeof(magic));
    randombytes_buf(hello->nonce.bytes, sizeof(hello->nonce.bytes));
    hello_mac(hello->mac, hello, secret, theirs);
}

bool ch_tcp_hello_holds(const struct ch_tcp_hello *hello, const unsigned char *secret,
                        const struct ch_tcp_nonce *mine)
{
    unsigned char mac[CH_TCP_MAC_BYTES];

    hello_mac(mac, hello, secret, mine);
    return memcmp(hello->magic, magic, sizeof(magic)) == 0 &&
           sodium_memcmp(mac, hello->mac, sizeof(mac)) == 0;
}

void ch_tcp_answer_make(struct ch_tcp_answer *answer, const unsigned char *secret,
                        const struct ch_tcp_nonce *mine, const struct ch_tcp_nonce *theirs)
{
    answer->zero = 0;
    answer_mac(answer->mac, answer, secret, mine, theirs);
}

bool ch_tcp_answer_holds(const struct ch_tcp_answer *answer, const unsigned char *secret,
                         const struct ch_tcp_nonce *mine, const struct ch_tcp_nonce *theirs)
{
    unsigned char mac[CH_TCP_MAC_BYTES];

    answer_mac(mac, answer, secret, theirs, mine);
    return sodium_memcmp(mac, answer->mac, sizeof(mac)) == 0;
}
