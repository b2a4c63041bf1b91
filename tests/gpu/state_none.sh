#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# state_none.sh: calls inside kernels without a state end with a failure of CUDA, and with one
# message. Not beside others under MPS, whose clients a trap ends.
# usage: state_none.sh TEST_GPU_STATE
set -eu
program=$1 failed=0
nvidia-smi >/dev/null 2>&1 || exit 77

# try NUMBER MESSAGE
try() {
    said=$(CUDA_MPS_PIPE_DIRECTORY=/nonexistent "$program" none "$1" 2>&1) && status=0 || status=$?
    if [ "$status" -eq 0 ]; then
        echo "call $1 without a state was carried out: $said"
        failed=1
    fi
    case $said in
    *"$2"*) ;;
    *) echo "call $1 without a state says: $said"
       failed=1 ;;
    esac
}
for call in 0 1 2 3 4 5; do try $call 'its file has no state'; done
exit $failed
