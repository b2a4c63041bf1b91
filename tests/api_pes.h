/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_pes.h: a test body that runs on every PE of a job, for the tests of the public API.
 *
 * A program lists its bodies in an X-list and ends with API_MAIN(list). Run plainly, each body
 * runs on 1 to 4 PEs that are threads. Run as "chorusrun -n N program pes", all bodies run
 * one after another on N PEs that are processes.
 */
#ifndef API_PES_H
#define API_PES_H

#include "chorus/chorusx.h"

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

enum { API_PES_MAX = 4 };

/* A body's condition: the first that fails in the process is kept, with PE and place. */
#define EXPECT(condition) api_expect((condition), #condition, __FILE__, __LINE__)
void api_expect(bool holds, const char *condition, const char *file, int line);

/* The last call on this PE handed this code to the error handler, with a message that has
 * `part` in it; forgets the report. A body ends with no report left. */
#define EXPECT_REPORT(code, part) api_expect_report((code), (part), __FILE__, __LINE__)
void api_expect_report(int code, const char *part, const char *file, int line);

/* The call returned this code and left a message that has `part` in it. */
#define EXPECT_FAILS(call, code, part) \
    api_expect_failure((call), (code), (part), #call, __FILE__, __LINE__)
void api_expect_failure(int got, int code, const char *part, const char *call, const char *file,
                        int line);

struct api_case {
    const char *name;
    void (*body)(void);
};
int api_main(int argc, char **argv, const struct api_case *cases, int n_cases);

#define API_MAIN(LIST)                                                               \
    int main(int argc, char **argv)                                                  \
    {                                                                                \
        static const struct api_case cases[] = {LIST(API_CASE)};                     \
        return api_main(argc, argv, cases, (int)(sizeof(cases) / sizeof(cases[0]))); \
    }
#define API_CASE(name) {#name, name},

/* A value of a type for every k, different for close k and exact in every type. */
void api_store(chorus_type type, void *value_out, unsigned k);
bool api_same(chorus_type type, const void *a, const void *b);

/* This PE, the number of PEs, and the neighbours of this one in a ring. */
int api_me(void);
int api_n(void);
int api_next(void);
int api_previous(void);

#endif /* API_PES_H */
