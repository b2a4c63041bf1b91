/* SPDX-License-Identifier: Apache-2.0 */
/* file.c: reads the bytes of a table, before YAML is parsed. */
#include "select/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES_MAX = 1 << 20 };
enum {
    BRACKETS_MAX = 64
}; /* a table has three nested ones; libyaml takes time proportional to the square */

/* Only a regular file has an end, and is available at once; it may grow while it is read. */
static chorus_status check_kind(const char *path, int fd)
{
    struct stat found;

    if (fstat(fd, &found) != 0)
        return CH_FAIL(CHORUS_ERR_TABLE, "%s: cannot be read: %s; expected a rule table", path,
                       strerror(errno));
    if (!S_ISREG(found.st_mode))
        return CH_FAIL(CHORUS_ERR_TABLE, "%s: is not a regular file; expected a rule table",
                       path);
    return CHORUS_OK;
}

/* Read up to `room` bytes of the file. */
static chorus_status read_all(const char *path, int fd, char *text, size_t room,
                              size_t *bytes_out)
{
    size_t bytes = 0;
    ssize_t got;

    while (bytes < room && (got = read(fd, text + bytes, room - bytes)) != 0) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return CH_FAIL(CHORUS_ERR_TABLE, "%s: cannot be read: %s; expected a rule table",
                           path, strerror(errno));
        bytes += (size_t)got;
    }
    *bytes_out = bytes;
    return CHORUS_OK;
}

chorus_status ch_table_load(const char *path, char **text_out, size_t *bytes_out)
{
    /* Opening must not wait for the writer of a FIFO, nor make a terminal the controlling one
     * of this process. */
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    char *text = NULL;
    chorus_status status;

    if (fd < 0)
        return CH_FAIL(CHORUS_ERR_TABLE, "%s: cannot be opened: %s; expected a rule table",
                       path, strerror(errno));
    CH_TRY_GOTO(status, check_kind(path, fd), out_close);
    text = malloc(BYTES_MAX + 1);
    if (text == NULL) {
        status = CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to read the table %s", path);
        goto out_close;
    }
    CH_TRY_GOTO(status, read_all(path, fd, text, BYTES_MAX + 1, bytes_out), out_close);
    if (*bytes_out > BYTES_MAX)
        status = CH_FAIL(CHORUS_ERR_TABLE,
                         "%s: is longer than %d bytes; expected a rule table of at most 1 MiB",
                         path, BYTES_MAX);

out_close:
    (void)close(fd);
    if (status != CHORUS_OK) {
        free(text);
        return status;
    }
    *text_out = text;
    return CHORUS_OK;
}

chorus_status ch_table_refuse_at(const struct ch_table *table, size_t at, const char *what,
                                 const char *expected)
{
    size_t line = 1, column = 1;

    for (size_t i = 0; i < at && i < table->bytes; i++) {
        column = table->text[i] == '\n' ? 1 : column + 1;
        line += table->text[i] == '\n';
    }
    return CH_FAIL(CHORUS_ERR_TABLE, "%s:%zu:%zu: %s; expected %s", table->path, line, column,
                   what, expected);
}

static bool begins_with(const struct ch_table *table, size_t at, const char *what)
{
    const size_t bytes = strlen(what);

    return table->bytes - at >= bytes && memcmp(table->text + at, what, bytes) == 0;
}

/* In YAML, a CR alone and three other characters also end a line; editors, in which users look
 * for the line of a message, do not treat them so. */
static bool is_odd_break(const struct ch_table *table, size_t at)
{
    return (table->text[at] == '\r' && !begins_with(table, at, "\r\n")) ||
           begins_with(table, at, "\xc2\x85") || begins_with(table, at, "\xe2\x80\xa8") ||
           begins_with(table, at, "\xe2\x80\xa9");
}

chorus_status ch_table_check_text(const struct ch_table *table)
{
    int depth = 0;

    if (begins_with(table, 0, "\xff\xfe") || begins_with(table, 0, "\xfe\xff"))
        return ch_table_refuse_at(table, 0, "UTF-16", "UTF-8");
    for (size_t i = 0; i < table->bytes; i++) {
        const char c = table->text[i];

        if (is_odd_break(table, i))
            return ch_table_refuse_at(table, i, "a line ends in another character than LF",
                                      "lines that end in LF, or in CR LF");
        depth += c == '[' || c == '{';
        depth -= (c == ']' || c == '}') && depth > 0;
        if (depth > BRACKETS_MAX)
            return ch_table_refuse_at(table, i, "too many brackets in one another",
                                      "a mapping with version, machine, measured and rules");
    }
    return CHORUS_OK;
}
