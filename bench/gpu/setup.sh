# SPDX-License-Identifier: Apache-2.0
# setup.sh: what bench/gpu/run and tests/gpu/run share, for bash. A machine with GPUs may be bare:
# meson and ninja may be Python packages, and libraries may lie unpacked in CHORUS_DEPS.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

fail() {
    echo "$(basename "$0"): $1" >&2
    exit 2
}

# add VARIABLE FOLDER: to the front of a search path, if the folder is there.
add() {
    [ -d "$2" ] || return 0
    export "$1=$2${!1:+:${!1}}"
}

# Find programs and libraries that are here, though not where they are looked for.
prepare() {
    local prefix folder
    add PATH /usr/local/cuda/bin
    if [ -n "${CHORUS_DEPS:-}" ]; then
        [ -d "$CHORUS_DEPS" ] || fail "CHORUS_DEPS=$CHORUS_DEPS: no such folder"
        CHORUS_DEPS=$(cd "$CHORUS_DEPS" && pwd)
        for prefix in "$CHORUS_DEPS" "$CHORUS_DEPS/usr"; do
            add C_INCLUDE_PATH "$prefix/include"
            for folder in "$prefix/lib" "$prefix/lib/$(uname -m)-linux-gnu"; do
                add LIBRARY_PATH "$folder"
                add LD_LIBRARY_PATH "$folder"
            done
        done
    fi
    meson=(meson)
    command -v meson >/dev/null || meson=(python3 -m mesonbuild.mesonmain)
    command -v ninja >/dev/null ||
        add PATH "$(python3 -c 'import ninja; print(ninja.BIN_DIR)' 2>/dev/null)"
    "${meson[@]}" --version >/dev/null 2>&1 || fail "no meson; install it: pip install meson"
    command -v ninja >/dev/null || fail "no ninja; install it: pip install ninja"
    command -v nvcc >/dev/null || fail "no nvcc on PATH or in /usr/local/cuda/bin"
}

# build SECONDS [TARGETS...]: a release build with CUDA in $build; all of it, or what is named.
build() {
    local most=$1
    shift
    build=${CHORUS_BUILD:-$root/build-gpu}
    if [ ! -f "$build/build.ninja" ]; then
        timeout "$most" "${meson[@]}" setup "$build" "$root" --buildtype=release -Dcuda=enabled \
            -Dwerror=false >&2 || fail "meson could not set up $build"
    fi
    timeout "$most" ninja -C "$build" --quiet "$@" >&2 || fail "$build does not build in $most s"
}

# GPUs of this machine, or of CUDA_VISIBLE_DEVICES.
count_gpus() {
    if [ -n "${CUDA_VISIBLE_DEVICES:-}" ]; then
        echo "$CUDA_VISIBLE_DEVICES" | tr ',' '\n' | grep -c .
    else
        nvidia-smi -L 2>/dev/null | grep -c '^GPU'
    fi
}

# choose NGPUS OUTDIR: $n GPUs, one for each PE, and $out as an absolute path.
choose() {
    n=${1:-$(count_gpus)}
    out=${2:-.}
    [[ $n =~ ^[1-9][0-9]*$ ]] || fail "NGPUS \"$n\": expected a number from 1; are there GPUs here?"
    mkdir -p "$out" || fail "cannot make $out"
    out=$(cd "$out" && pwd)
    export CHORUS_HEAP=cuda
}
