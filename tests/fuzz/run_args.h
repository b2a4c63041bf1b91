/* SPDX-License-Identifier: Apache-2.0 */
/* run_args.h: included before chorusrun's reader of its command line. */
#ifndef RUN_ARGS_H
#define RUN_ARGS_H

#include <argp.h>
#include <stdlib.h>

_Noreturn void fuzz_exit(int status);
void fuzz_argp_error(const struct argp_state *state, const char *format, ...);
error_t fuzz_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
                        int *index, void *input);

#define exit fuzz_exit
#define argp_error fuzz_argp_error
#define argp_parse fuzz_argp_parse

#endif /* RUN_ARGS_H */
