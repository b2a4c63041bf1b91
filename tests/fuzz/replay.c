/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c: a main for harnesses where there is no libFuzzer: every file of a folder, once. */
#include "fuzz.h"

#include <dirent.h>

enum { BYTES_MAX = 1 << 20 };

static void run_file(const char *folder, const char *name)
{
    char path[4096];
    uint8_t *data = malloc(BYTES_MAX);
    FILE *in;
    size_t bytes;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    in = fopen(path, "rb");
    FUZZ_CHECK(data != NULL && in != NULL);
    bytes = fread(data, 1, BYTES_MAX, in);
    (void)fclose(in);
    (void)fprintf(stderr, "%s\n", path);
    (void)LLVMFuzzerTestOneInput(data, bytes);
    free(data);
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    int n = 0;

    if (folder == NULL) {
        (void)fprintf(stderr, "expected a folder of inputs\n");
        return 2;
    }
    for (const struct dirent *file; (file = readdir(folder)) != NULL;) {
        if (file->d_name[0] == '.') continue;
        run_file(argv[1], file->d_name);
        n++;
    }
    (void)closedir(folder);
    return n > 0 ? 0 : 1;
}
