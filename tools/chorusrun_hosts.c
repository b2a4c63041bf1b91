/* SPDX-License-Identifier: Apache-2.0 */
/* chorusrun_hosts.c: parses the argument of --hosts. */
#include "chorusrun.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>

/* Of a name in DNS, after the name of a user. */
enum { HOST_CHARS_MAX = 320 };

static bool is_same(const struct place *a, const struct place *b)
{
    return a->name_bytes == b->name_bytes &&
           memcmp(a->name, b->name, (size_t)a->name_bytes) == 0;
}

/* The launcher would take a name that begins with a dash for an option. */
static bool read_place(const char *text, size_t bytes, struct place *out)
{
    const char *colon = memchr(text, ':', bytes);
    const size_t name_bytes = colon == NULL ? bytes : (size_t)(colon - text);
    char digits[8] = "1";
    uint64_t n;

    if (name_bytes == 0 || text[0] == '-') return false;
    for (size_t i = 0; i < name_bytes; i++)
        if (!isgraph((unsigned char)text[i])) return false;
    if (colon != NULL) {
        const size_t n_digits = bytes - name_bytes - 1;
        if (n_digits >= sizeof(digits)) return false;
        memcpy(digits, colon + 1, n_digits);
        digits[n_digits] = '\0';
    }
    if (!ch_number_whole(digits, 1, CH_WIRE_PES_MAX, &n)) return false;
    *out = (struct place){text, (int)name_bytes, (uint32_t)n};
    return true;
}

static const char *add(struct args *args, const struct place *place, char *why_out)
{
    for (uint32_t i = 0; i < args->n_hosts; i++) {
        if (!is_same(&args->hosts[i], place)) continue;
        (void)snprintf(why_out, CH_WIRE_REASON_BYTES,
                       "--hosts names %.*s twice; give all its PEs at once, as in %.*s:%u",
                       place->name_bytes, place->name, place->name_bytes, place->name,
                       args->hosts[i].n_pes + place->n_pes);
        return why_out;
    }
    if (args->n_hosts == CH_WIRE_PES_MAX) {
        (void)snprintf(why_out, CH_WIRE_REASON_BYTES, "--hosts names more than %d hosts",
                       CH_WIRE_PES_MAX);
        return why_out;
    }
    args->hosts[args->n_hosts++] = *place;
    return NULL;
}

const char *args_read_hosts(const char *text, struct args *out,
                            char why_out[CH_WIRE_REASON_BYTES])
{
    const char *why = NULL;

    out->n_hosts = 0;
    for (;;) {
        const size_t bytes = strcspn(text, ",");
        struct place place;

        if (strcspn(text, ",:") > HOST_CHARS_MAX) {
            (void)snprintf(why_out, CH_WIRE_REASON_BYTES,
                           "--hosts has a name of %zu characters that begins with \"%.32s\"; "
                           "expected names of at most %d characters",
                           strcspn(text, ",:"), text, HOST_CHARS_MAX);
            return why_out;
        }
        if (!read_place(text, bytes, &place)) {
            (void)snprintf(why_out, CH_WIRE_REASON_BYTES,
                           "--hosts has \"%.*s\"; expected names of hosts, each with 1 to %d "
                           "PEs and without spaces, such as a:4,b:4",
                           (int)(bytes < 64 ? bytes : 64), text, CH_WIRE_PES_MAX);
            return why_out;
        }
        why = add(out, &place, why_out);
        if (why != NULL || text[bytes] == '\0') return why;
        text += bytes + 1;
    }
}
