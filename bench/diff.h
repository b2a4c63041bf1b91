/* SPDX-License-Identifier: Apache-2.0 */
/* diff.h: finds the rows of two sweeps that differ by more than noise. */
#ifndef CH_DIFF_H
#define CH_DIFF_H

/*
 * Compare two files that --csv wrote, and print the rows that differ. Rows for the same call
 * are compared; if a rule chose the algorithm, the choices may differ. Returns the exit status:
 * 0, 1 if some row is slower in the second file, 2 if a file is not a sweep (reported on
 * standard error).
 */
int ch_diff_print(const char *program, const char *before, const char *after);

#endif /* CH_DIFF_H */
