# SPDX-License-Identifier: Apache-2.0
# far.sh: what bench/gpu/run --far measures, for bash. PEs share one GPU: CHORUS_NODES=2 makes them
# PEs of two hosts, and CHORUS_P2P=0 makes them PEs whose GPUs have no access to each other.
# shellcheck shell=bash
# Variables that are not assigned here are those of bench/gpu/run and setup.sh.
# shellcheck disable=SC2154

mps='' # yes: this script has started MPS
colls=(--coll "reduce,fcollect,broadcast")
sizes=("${colls[@]}" -b 8 -e 16M -f 8 -w 20)

# choose_far [OUTDIR]: two PEs on the first GPU.
choose_far() {
    [ $# -le 1 ] || fail "--far takes OUTDIR alone, found \"$*\"; two PEs always share one GPU"
    rounds=${CHORUS_ROUNDS:-2}
    [[ $rounds =~ ^[1-9][0-9]*$ ]] || fail "CHORUS_ROUNDS=$rounds: expected a number from 1"
    [ "$(count_gpus)" -gt 0 ] || fail "--far needs a GPU, and nvidia-smi lists none"
    choose 2 "$@"
    CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0}
    export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES%%,*}
}

# MPS lets kernels of several processes run on a GPU at the same time. One that runs is used.
start_mps() {
    command -v nvidia-cuda-mps-control >/dev/null ||
        fail "no nvidia-cuda-mps-control on PATH; it comes with the driver of NVIDIA, and PEs that share a GPU need it"
    echo get_server_list | timeout 10 nvidia-cuda-mps-control >/dev/null 2>&1 && return
    export CUDA_MPS_PIPE_DIRECTORY=$scratch/mps CUDA_MPS_LOG_DIRECTORY=$scratch/mps_log
    mkdir "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY" || fail "no folders for MPS"
    mps=yes
    # The server numbers the GPUs that it sees; PEs choose one of these by the variable.
    env -u CUDA_VISIBLE_DEVICES nvidia-cuda-mps-control -d >>"$log" 2>&1 ||
        fail "nvidia-cuda-mps-control -d does not start; see $log"
}

end_mps() {
    [ -n "$mps" ] || return 0
    echo quit | timeout 30 nvidia-cuda-mps-control >/dev/null 2>&1
}

# label WHO CTAS: what the rows that follow are, for table.py.
label() {
    echo "# far: $1 $mode $2" >>"$rows"
}

# nccl CTAS: two processes that are two nodes for NCCL. No launcher binds them to cores, of which the
# threads that serve NCCL's network need several.
nccl() {
    local id=$scratch/id rank status=0 hosts=(a b) limit=()
    [ "$1" = default ] || limit=("NCCL_MAX_CTAS=$1")
    rm -f "$id"
    label nccl "$1"
    echo "+ nccl_sweep --mode $mode ${sizes[*]}, CTAs: $1" >>"$log"
    children=()
    for rank in 0 1; do
        env "${limit[@]}" NCCL_HOSTID="${hosts[rank]}" timeout -k 5 90 "$build/bench/nccl_sweep" \
            "$nccl_lib" "$id" "$rank" 2 --mode "$mode" "${sizes[@]}" --csv "$scratch/rows.csv" >>"$log" 2>&1 &
        children+=($!)
    done
    for rank in 0 1; do
        wait "${children[rank]}" || status=$?
    done
    children=()
    keep_rows "$rows"
    judge "$status" "nccl_sweep --mode $mode, CTAs: $1"
}

# Ours and both of NCCL take turns.
measure_far_vs() {
    local mode
    for mode in stream graph; do
        nccl 4
        label ours -
        CHORUS_NODES=2 sweep 90 "$rows" "${sizes[@]}"
        nccl default
    done
}

measure_beside() {
    local mode
    for mode in stream graph; do
        label beside -
        CHORUS_P2P=0 sweep 90 "$rows" "${sizes[@]}"
        CHORUS_P2P=0 sweep 30 "$rows" "${colls[@]}" -b 64K -e 64K -w 20
    done
    mode=kernel label floor -
    echo "+ chorus-floor" >>"$log"
    timeout -k 5 60 "$build/bench/far/chorus-floor" >>"$rows" 2>>"$log" &
    children=($!)
    wait "${children[0]}"
    judge $? chorus-floor
    children=()
}

# Every algorithm, with as many CTAs as calls to other hosts may have, on two PEs and on two for each
# host.
measure_far_algos() {
    local coll pes
    echo "# run: bench/gpu/run --far" >"$algos"
    for pes in 2 4; do
        for coll in barrier broadcast fcollect alltoall reduce reducescatter collect alltoalls alltoallv \
            inscan exscan gather scatter reduce_to; do
            CHORUS_NODES=2 n=$pes sweep 60 "$algos" --coll "$coll" --algo all -b 8 -e 16M -f 8 -n 5 -w 1 --ctas 1,2,4
        done
    done
    draft
}

# device_job HEAP PROGRAM...: two PEs of two hosts, whose rows go to the end of the file $rows.
device_job() {
    local heap=$1 status
    shift
    echo "+ CHORUS_HEAP=$heap $*" >>"$log"
    CHORUS_HEAP=$heap timeout -k 5 45 "$build/tools/chorusrun" -n 2 --timeout 40 "$build/bench/device/$1" "${@:2}" \
        >>"$rows" 2>>"$log" &
    children=($!)
    wait "${children[0]}"
    status=$?
    children=()
    judge "$status" "$*"
}

# Kernels, hosts and streams take turns. No round begins if one that takes as long as the last would
# end too late, or if a job has failed.
measure_far_device() {
    local rows=$out/device_far_rows.csv round began start=$SECONDS budget=${CHORUS_BUDGET:-80}
    # A kernel that is loaded late would wait for those that run; see docs/design/far.md.
    local -x CUDA_MODULE_LOADING=EAGER CUDA_DEVICE_MAX_CONNECTIONS=8
    local -x CHORUS_NODES=2 CHORUS_TRANSPORT=tcp,mapped
    echo "# run: bench/gpu/run --far, commit ${CHORUS_COMMIT:-unknown}" >"$rows"
    for ((round = 0; round < ${CHORUS_ROUNDS:-3}; round++)); do
        began=$SECONDS
        device_job cuda chorus-device-far
        device_job host chorus-device-host
        device_job cuda chorus-device-host --stream
        if [ "$failed" -gt 0 ] || [ $((2 * SECONDS - began - start)) -gt "$budget" ]; then
            break
        fi
    done
    python3 "$root/bench/device/far.py" "$rows" "$out/device_far.csv" || failed=$((failed + 1))
}

measure_far_colls() {
    local rows=$out/far_rows.csv round nccl_lib
    nccl_lib=${CHORUS_NCCL_LIB:-$(python_lib nvidia.nccl libnccl.so.2)}
    export NVSHMEM_DISABLE_NVLS=1 NCCL_NVLS_ENABLE=0 NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo
    unset NCCL_MULTI_RANK_GPU_ENABLE NCCL_MAX_CTAS
    echo "# run: bench/gpu/run --far" >"$rows"
    for ((round = 0; round < rounds; round++)); do
        case ,$steps, in *,vs,*) measure_far_vs ;; esac
        case ,$steps, in *,beside,*) measure_beside ;; esac
    done
    case ,$steps, in *,algos,*) measure_far_algos ;; esac
    case ,$steps, in *,vs,* | *,beside,*)
        python3 "$root/bench/far/table.py" "$rows" "$out/far.csv" || failed=$((failed + 1))
        ;;
    esac
}

measure_far() {
    local steps=${CHORUS_STEPS:-vs,beside} targets=(tools/chorusrun) has_colls=''
    case ,$steps, in *,vs,* | *,beside,* | *,algos,*)
        has_colls=yes
        targets+=(bench/chorus-sweep bench/nccl_sweep bench/far/chorus-floor tools/chorus-info)
        ;;
    esac
    case ,$steps, in *,device,*) targets+=(bench/device/chorus-device-far bench/device/chorus-device-host) ;; esac
    build 300 "${targets[@]}"
    unset CHORUS_NODES CHORUS_P2P
    start_mps
    case ,$steps, in *,device,*) measure_far_device ;; esac
    [ -z "$has_colls" ] || measure_far_colls
}
