#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs started by what is not chorusrun: mpirun with PMIx, an MPI communicator, torchrun's variables;
# PEs of mpirun that wait for one that does not start, PEs that do not have one secret, and jobs at the same time that do.
# Usage: test_boot_ways.sh WAY N PROGRAM [ARGS...]
set -u
way=$1 n=$2
shift 2
# Of Open MPI's: it may run as root here, and with more processes than cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
case $way in
mpirun)
    command -v mpirun >/dev/null || { echo "no mpirun here"; exit 77; }
    # Of its own, since one that ends takes away the folder that another is about to use.
    OMPI_MCA_orte_tmpdir_base=$(mktemp -d) || exit 2
    export OMPI_MCA_orte_tmpdir_base
    trap 'rm -rf "$OMPI_MCA_orte_tmpdir_base"' EXIT
    timeout 100 mpirun --oversubscribe -n "$n" "$@"
    exit
    ;;
missing)
    # PMIx has no deadline of its own: PEs that wait for one that never starts end by CHORUS_TIMEOUT.
    command -v mpirun >/dev/null || { echo "no mpirun here"; exit 77; }
    for pe in 0 2; do
        # shellcheck disable=SC2016 # the variable is that of the PE
        said=$(CHORUS_TIMEOUT=1 timeout 30 mpirun --oversubscribe -n "$n" sh -c \
            'test "$PMIX_RANK" = "$0" && exec sleep 20; exec "$@"' $pe "$@" 2>&1)
        echo "$said" | grep -qE "exchange among all PEs: (PE 0 did not come within 1 s|2 of 3 PEs .*; PE $pe never joined)" || {
            echo "PE $pe never starts: $said"
            exit 1
        }
    done
    exit 0
    ;;
secrets)
    # One of three PEs has another secret. Under chorusrun its shell stays, since a PE that fails ends the job.
    # shellcheck disable=SC2016 # the variables are those of the PEs
    said=$(CHORUS_TIMEOUT=1 timeout 30 "$CHORUSRUN" -n "$n" --hosts a,b,c --launcher "$LAUNCH_HERE" sh -c \
        '[ "$CHORUS_PE" != 1 ] || { printf %064d 1 | CHORUS_SECRET_FD=9 "$@" 9<&0; exec sleep 20; }; exec "$@"' sh "$@" 2>&1)
    # shellcheck disable=SC2016
    said="$said $(CHORUS_TIMEOUT=1 "$0" torchrun "$n" sh -c '[ "$RANK" != 1 ] || CHORUS_SECRET=other; exec "$@"' sh "$@" 2>&1)"
    told() { [ "$(echo "$said" | grep -c "$1")" = "$2" ] || { echo "not $2 times \"$1\" in: $said"; exit 1; }; }
    told "start: cannot join the job .* has another secret: .*; start all PEs .* CHORUS_SECRET$" 2
    told "start: .*; PE 1 never joined; [1-9][0-9]* connections had another secret .* from PE 1 of 3 on host .* at " 4
    exit 0
    ;;
torchrun)
    # Ports of different runs at one time differ with the shell's own number.
    port=$((20000 + $$ % 10000))
    status=0 pids='' rank=0
    while [ $rank -lt "$n" ]; do
        RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$n MASTER_ADDR=localhost MASTER_PORT=$port CHORUS_SECRET=test \
            timeout 100 "$@" &
        pids="$pids $!" rank=$((rank + 1))
    done
    for pid in $pids; do wait "$pid" || status=$?; done
    exit $status
    ;;
twins)
    # With one secret in the user's environment, jobs that begin at the same time are still apart.
    for round in 1 2 3 4 5 6 7 8 9 10; do
        pids=''
        for job in a b c d; do
            said=$("$0" torchrun "$n" "$@" 2>&1) || { echo "round $round, job $job: $said"; exit 1; } &
            pids="$pids $!"
        done
        for pid in $pids; do wait "$pid" || exit 1; done
    done
    exit 0
    ;;
esac
echo "no way named $way" >&2
exit 2
