#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The programs of tests/nvshmem compile and link by NVSHMEM's command lines against the folder that
# Chorus installs; what needs no GPU, or all with one, also gives right results.
# usage: test_nvshmem_programs.sh MESON BUILD PROGRAMS SOURCE...
set -u
meson=$1 build=$2 programs=$3
shift 3
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "test_nvshmem_programs: $1" >&2
    exit 1
}

PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || {
    echo "no nvcc here"
    exit 77
}
"$meson" install -C "$build" --no-rebuild --destdir "$folder/installed" >"$folder/log" 2>&1 ||
    fail "cannot be installed: $(cat "$folder/log")"
NVSHMEM_HOME=$(find "$folder/installed" -type d -name nvshmem -not -path '*/cmake/*' | head -n 1)
export NVSHMEM_HOME
"$programs/build" "$folder/programs" -arch=sm_90 -O0 -Xptxas -O0 >"$folder/log" 2>&1 || fail "$(cat "$folder/log")"
! grep -q 'warning' "$folder/log" || fail "a compiler warns: $(grep -A 3 'warning' "$folder/log")"
# Each file that has main became a program.
for source in "$@"; do
    name=$(basename "$source" | sed -e 's/_main\..*//' -e 's/\..*//' -e 's/^allgather$/cmake_allgather/')
    case $name in mpi_*) command -v mpicxx >/dev/null || continue ;; cmake_*) command -v cmake >/dev/null || continue ;; esac
    ! grep -q '^int main' "$source" || [ -x "$folder/programs/$name" ] || fail "$source became no program"
done
"$programs/run" "$folder/programs" || fail "a program fails"

# The script reports a program that fails, and one that ends without a word.
mkdir "$folder/bad"
printf '#!/bin/sh\necho "PE 0 of 2: ok"; exit 1\n' >"$folder/bad/host_fails"
printf '#!/bin/sh\nexit 0\n' >"$folder/bad/host_says_nothing"
chmod +x "$folder/bad/"*
for program in host_fails host_says_nothing; do
    ! "$programs/run" "$folder/bad" $program >/dev/null || fail "$programs/run passes $program"
done
