/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child that a PE forks has the PE's memory and its socket, and is no PE: what it calls is
 * refused and said, and the job goes on.
 */
#include "chorus/chorusx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPECT(condition)                                                                     \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            (void)fprintf(stderr, "line %d: does not hold: %s; last message: %s\n", __LINE__, \
                          #condition, chorusx_last_error());                                  \
            _exit(EXIT_FAILURE);                                                              \
        }                                                                                     \
    } while (0)

static int reported;
static char report[1024];

static void keep_report(int code, const char *message)
{
    reported = code;
    (void)snprintf(report, sizeof(report), "%s", message);
}

static void refused_child(void)
{
    (void)chorusx_set_error_handler(keep_report);
    chorus_finalize();
    EXPECT(reported == CHORUS_ERR_STATE);
    EXPECT(strstr(report, "chorus_finalize called in a child that the PE forked") != NULL);
    EXPECT(chorusx_init_status() == 2);
    EXPECT(chorus_init() == CHORUS_ERR_STATE);
    EXPECT(strstr(chorusx_last_error(), "chorus_init called in a child") != NULL);
    EXPECT(chorus_malloc(8) == NULL);
    EXPECT(chorus_team_sync(CHORUS_TEAM_WORLD) == CHORUS_ERR_STATE);
    EXPECT(!chorus_pe_accessible(0));
    _exit(EXIT_SUCCESS);
}

/* The default handler ends the child, and nobody else. Its message goes nowhere here. */
static void ended_child(void)
{
    EXPECT(freopen("/dev/null", "w", stderr) != NULL);
    chorus_finalize();
    _exit(EXIT_SUCCESS);
}

static int run(void (*child)(void))
{
    const pid_t pid = fork();
    int status = -1;

    EXPECT(pid >= 0);
    if (pid == 0) child();
    EXPECT(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void unmarked_child(void)
{
    EXPECT(chorusx_init_status() == 0);
    _exit(EXIT_SUCCESS);
}

int main(void)
{
    int *word;

    EXPECT(run(unmarked_child) == EXIT_SUCCESS);
    EXPECT(chorus_init() == CHORUS_OK);
    EXPECT(run(refused_child) == EXIT_SUCCESS);
    EXPECT(run(ended_child) == EXIT_FAILURE);
    word = chorus_calloc(1, sizeof(*word));
    EXPECT(word != NULL);
    chorus_int_atomic_add(word, 1, 0);
    chorus_barrier_all();
    EXPECT(chorus_int_atomic_fetch(word, 0) == chorus_n_pes());
    EXPECT(chorusx_init_status() == 1);
    chorus_finalize();
    return EXIT_SUCCESS;
}
