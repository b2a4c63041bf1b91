/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot_run.h: run chorusrun as its users do, and look at what came out. CHORUSRUN,
 * BOOT_PE, WIRE_PE and LAUNCH_HERE in the environment name the programs.
 */
#ifndef BOOT_RUN_H
#define BOOT_RUN_H

#include "base/clock.h"

#include <check.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 64 * 1024, ARGS_MAX = 16 };

/* A job ends within a second of a failure; its PEs would stay for 60. The margin is for busy
 * machines and sanitizers. */
#define END_NS (20 * CH_NS_PER_S)

/* A run of chorusrun under way, and what came out of it. */
struct run {
    pid_t pid;
    int fds[2]; /* its stdout and stderr; -1 at their end */
    size_t used[2];
    char text[2][TEXT_BYTES];
    int status; /* exit status, or 128 + signal */
};

extern struct run r;

/* Start chorusrun with these arguments, null-terminated; BOOT_PE, WIRE_PE and LAUNCH_HERE
 * among them stand for their paths. */
void start(const char *const *args);

/* Read more of stdout or stderr (0, 1), as far as there is room. Returns the bytes, 0 at its
 * end. */
size_t read_text(int i);

/* Read what came. Returns false at the end of both, which is when all who held them are gone.
 */
bool read_some(void);

void finish(void);

/* How often `what` is in the text. */
int count(const char *text, const char *what);

/* Run all tests of the case; main returns this. */
int run_suite(const char *name, void (*add)(TCase *tc));

#define START(...) start((const char *const[]){__VA_ARGS__, NULL})
#define RUN(...)            \
    do {                    \
        START(__VA_ARGS__); \
        finish();           \
    } while (0)

#define ASSERT_STATUS(expected)                                                           \
    ck_assert_msg(r.status == (expected), "status %d, expected %d; stderr: %s", r.status, \
                  (expected), r.text[1])
#define ASSERT_SAYS(expected)                                                            \
    ck_assert_msg(strstr(r.text[1], (expected)) != NULL, "no \"%s\" in: %s", (expected), \
                  r.text[1])

#define COUNT_OF(array) (int)(sizeof(array) / sizeof((array)[0]))

#endif /* BOOT_RUN_H */
