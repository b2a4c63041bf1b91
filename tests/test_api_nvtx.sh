#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranges of NVTX, as a profiler is told of them. usage: test_api_nvtx.sh HELLO NVTX_TOOL
set -u
said=$(NVTX_INJECTION64_PATH=$2 CHORUS_NVTX=1 "$1" 2>&1)
echo "$said" | grep -A 1 '^nvtx: push chorus_int_sum_reduce 4 bytes reduce .*:.* .*\.yaml:[0-9]*$' | grep -q '^nvtx: pop$' || {
    echo "test_api_nvtx: no range in: $said" >&2
    exit 1
}
NVTX_INJECTION64_PATH=$2 "$1" 2>&1 | grep nvtx && exit 1
exit 0
