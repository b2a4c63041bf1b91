#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_graph.sh CHORUSRUN GRAPH: collectives in a CUDA graph, where there is a GPU.
set -eu
[ -e /dev/nvidiactl ] || {
    echo "no GPU here"
    exit 77
}
found=$(CHORUS_HEAP=cuda "$1" -n 2 "$2" | sort)
[ "$found" = "PE 0: right
PE 1: right" ] || {
    echo "graph says: $found" >&2
    exit 1
}
