# SPDX-License-Identifier: Apache-2.0
"""bench/gpu/run --far and --share with programs that stand in for the GPU, and their tables.
usage: test_bench_far.py SOURCE_ROOT"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(sys.argv[1])
HEAD = "coll,algo,proto,ctas,pes,bytes,time_us_p50,wrong,rule"
DEVICE_HEAD = "library,call,scope,bytes,ctas,pes,time_us,GBps,wrong,refused"

# Each adds a line to the file $CALLS.
FAKES = {
    "bin/meson": "", "bin/nvcc": "", "bin/nvidia-smi": "echo 'GPU 0: made up'",
    "bin/ninja": 'echo "ninja $*" >>"$CALLS"',
    "bin/nvidia-cuda-mps-control": """
state=$CUDA_MPS_PIPE_DIRECTORY/state
if [ "${1-}" = -d ]; then
    echo "mps start in=$CUDA_MPS_PIPE_DIRECTORY log=$CUDA_MPS_LOG_DIRECTORY gpus=${CUDA_VISIBLE_DEVICES-unset}" >>"$CALLS"
    touch "$state"
    exit
fi
read -r asked
[ -f "$state" ] || exit 1
[ "$asked" != quit ] || { echo "mps quit" >>"$CALLS"; rm "$state"; }""",
    "build/tools/chorusrun": """
echo "chorusrun n=$2 heap=$CHORUS_HEAP nodes=${CHORUS_NODES-} p2p=${CHORUS_P2P-} gpus=$CUDA_VISIBLE_DEVICES" >>"$CALLS"
shift 4
exec "$@\"""",
    "build/tools/chorus-info": "exit 1",
    "build/bench/chorus-sweep": f"""
echo "sweep $*" >>"$CALLS"
[ -z "${{STALL-}}" ] || exec sleep 60
for csv; do :; done
us=10
[ -z "${{CHORUS_P2P-}}" ] || us=5
case " $* " in
*" 64K "*) sizes=65536 ;;
*) sizes="8 4096 2097152" ;;
esac
{{
    echo "# command: chorus-sweep $*"
    echo {HEAD}
    for bytes in $sizes; do echo "reduce,ring,simple,1,2,$bytes,$us,${{WRONG-0}},t.yaml:1"; done
}} >"$csv\"""",
    "build/bench/nccl_sweep": f"""
echo "nccl id=$2 rank=$3 of=$4 host=$NCCL_HOSTID net=$NCCL_NET over=$NCCL_SOCKET_IFNAME nvls=$NCCL_NVLS_ENABLE" \\
    "ctas=${{NCCL_MAX_CTAS-unset}} shares=${{NCCL_MULTI_RANK_GPU_ENABLE-unset}}" >>"$CALLS"
[ "$3" = 0 ] || exit 0
[ ! -e "$2" ] || exit 3
for csv; do :; done
us=30
[ -n "${{NCCL_MAX_CTAS-}}" ] || us=25
{{
    echo {HEAD}
    echo "reduce,nccl,nccl,1,2,8,$us,0,none"
    echo "reduce,nccl,nccl,1,2,2097152,9,0,none"
}} >"$csv\"""",
    "build/bench/far/chorus-floor": """
echo floor >>"$CALLS"
printf 'what,bytes,us\\nstore_poll,4,0.9\\ncopies,2097152,4\\n'""",
    "build/bench/device/chorus-device-far": f"""
echo "device $* load=$CUDA_MODULE_LOADING queues=$CUDA_DEVICE_MAX_CONNECTIONS over=$CHORUS_TRANSPORT" >>"$CALLS"
[ -z "${{FAILS-}}" ] || exit 3
echo {DEVICE_HEAD}
echo "chorus,barrier,block,0,1,2,7.000,0.00,${{WRONG-0}},\"""",
    "build/bench/halo_gpu": """
echo "halo $*" >>"$CALLS"
[ -z "${FAILS-}" ] || exit 3
echo dims,pulses,bytes""",
    "build/bench/moe_gpu_bench": 'echo "moe $* share=${CUDA_MPS_ACTIVE_THREAD_PERCENTAGE-all}" >>"$CALLS"',
    "build/bench/device/chorus-device-host": f"""
echo "host $*" >>"$CALLS"
echo {DEVICE_HEAD}
[ $# -gt 0 ] || echo "host,barrier,host,0,1,2,5.000,0.00,0,\"""",
}


def make_fakes(folder):
    for name, text in FAKES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    (folder / "build/build.ninja").touch()


def environment(folder, changes):
    names = {name: value for name, value in os.environ.items() if not name.startswith(("CHORUS_", "CUDA_", "NCCL_"))}
    return names | {"PATH": f"{folder}/bin:{names['PATH']}", "CHORUS_BUILD": f"{folder}/build", "TMPDIR": str(folder),
                    "CALLS": f"{folder}/calls", "NCCL_MULTI_RANK_GPU_ENABLE": "1"} | changes


def start(folder, *words, **changes):
    (folder / "calls").write_text("")
    return subprocess.Popen([ROOT / "bench/gpu/run", *words], env=environment(folder, changes), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run(folder, *words, **changes):
    """Exit status, lines of standard output, standard error, and the calls."""
    job = start(folder, *words, **changes)
    out, err = job.communicate(timeout=50)
    return job.returncode, out.splitlines(), err, (folder / "calls").read_text().splitlines()


def check_calls(calls):
    """Two rounds in which all take turns, under an MPS that is started and ended once."""
    who = [line.split()[0] + (" " + re.search("ctas=(.*) ", line)[1] if line.startswith("nccl") else "")
           for line in calls if not line.startswith(("chorusrun", "ninja", "mps"))]
    turns = 2 * (["nccl 4"] * 2 + ["sweep"] + ["nccl unset"] * 2) + ["sweep"] * 4 + ["floor"]
    assert who == 2 * turns, who
    started = [line for line in calls if line.startswith("mps")]
    assert len(started) == 2 and started[0].endswith("gpus=unset") and started[1] == "mps quit", started
    assert calls[-1] == "mps quit", calls
    nccl = [line for line in calls if line.startswith("nccl")]
    assert all("net=Socket over=lo nvls=0" in line and "shares=unset" in line for line in nccl), nccl
    assert {re.search("rank=(.) of=2 host=(.)", line).groups() for line in nccl} == {("0", "a"), ("1", "b")}, nccl
    jobs = [line for line in calls if line.startswith("chorusrun")]
    assert {line for line in jobs} == {"chorusrun n=2 heap=cuda nodes=2 p2p= gpus=3",
                                       "chorusrun n=2 heap=cuda nodes= p2p=0 gpus=3"}, jobs
    modes = [re.search("--mode ([a-z]*)", line)[1] for line in calls if line.startswith("sweep")]
    assert modes[:6] == ["stream", "graph", "stream", "stream", "graph", "graph"], modes


def check_table(out, rows):
    """The better of NCCL's times, by row, and what misses a target."""
    words = [line.split() for line in out]
    assert ["reduce", "stream", "0.40", "1.11!", "1.11!", "2097152"] in words, out
    assert ["reduce", "graph", "0.40", "1.11!", "1.11!", "2097152"] in words, out
    assert ["reduce", "stream", "5.00", "5.00", "0.80!"] in words, out
    assert ["floor:", "store_poll", "of", "4", "bytes:", "0.90", "us"] in words, out
    assert "16 rows, 0 with wrong data" in out[-2] and out[-1].startswith("0 failed"), out
    assert "far,reduce,8,stream,10.000,25.000,0.400,default,," in rows, rows
    assert "far,reduce,4096,graph,10.000,,,,," in rows, rows
    assert "beside,reduce,2097152,graph,5.000,,,,4.000,0.800" in rows, rows
    assert "floor,store_poll,4,kernel,,,,,0.900," in rows, rows


def check_device(folder):
    """Calls inside kernels, of hosts and on streams take turns; a round that would end too late is left out."""
    status, said, errors, called = run(folder, "--far", str(folder / "out"), CHORUS_STEPS="device")
    assert status == 0 and "1 rows, 0 refused, 0 failed" in said[-2], (said, errors)
    assert (folder / "out/device_far.csv").read_text().splitlines()[1].startswith("barrier,block,0,1,7.000,"), said
    jobs = [line for line in called if line.startswith("chorusrun")]
    assert jobs == [f"chorusrun n=2 heap={heap} nodes=2 p2p= gpus=0" for heap in ("cuda", "host", "cuda")] * 3, jobs
    turns = [line for line in called if line.startswith(("device", "host"))]
    assert turns == ["device  load=EAGER queues=8 over=tcp,mapped", "host ", "host --stream"] * 3, turns
    built = [line for line in called if line.startswith("ninja")]
    assert all("chorus-device-far" in line and "nccl" not in line for line in built), built
    status, said, _, called = run(folder, "--far", str(folder / "out"), CHORUS_STEPS="device", CHORUS_BUDGET="-1")
    assert status == 0 and len([line for line in called if line.startswith("device")]) == 1, called
    for wrong in ({"FAILS": "1"}, {"WRONG": "3"}):
        status, said, errors, called = run(folder, "--far", str(folder / "out"), CHORUS_STEPS="device", **wrong)
        assert status == 1 and called[-1] == "mps quit", (said, errors)
        assert "FAILS" not in wrong or len([line for line in called if line.startswith("device")]) == 1, called


def check_apps(folder):
    """Applications of 2, 4 and 8 PEs; one that fails is told, and the others run."""
    status, said, errors, called = run(folder, "--share", str(folder / "out"), CHORUS_STEPS="apps")
    assert status == 0 and said[-1].startswith("0 failed"), (said, errors)
    assert [line for line in called if line.startswith(("halo", "moe"))] == 3 * [
        "halo ", "moe 128 7168 8 share=all", "moe 4096 7168 8 share=all"], called
    assert {line.split()[1] for line in called if line.startswith("chorusrun")} == {"n=2", "n=4", "n=8"}, called
    rows = (folder / "out/apps.csv").read_text().splitlines()
    assert rows[1:3] == ["# halo_gpu , 2 PEs", "dims,pulses,bytes"] and len(rows) == 13, rows
    status, said, _, called = run(folder, "--share", str(folder / "out"), CHORUS_STEPS="apps", FAILS="1")
    assert status == 1 and said[-1].startswith("3 failed") and called[-1] == "mps quit", (said, called)
    assert len([line for line in called if line.startswith("moe")]) == 6, called


def check_interrupted(folder):
    """What runs is ended, and so is MPS."""
    job = start(folder, "--far", str(folder / "out"), STALL="1", CHORUS_STEPS="beside")
    deadline = time.monotonic() + 20
    while "\nsweep" not in (folder / "calls").read_text():
        assert time.monotonic() < deadline, job.communicate()
        time.sleep(0.02)
    job.send_signal(signal.SIGTERM)
    job.communicate(timeout=20)
    assert job.returncode == 143, job.returncode
    assert (folder / "calls").read_text().endswith("mps quit\n"), (folder / "calls").read_text()
    assert not [path for path in folder.iterdir() if path.name.startswith("tmp.")]


with tempfile.TemporaryDirectory() as scratch:
    here = Path(scratch)
    make_fakes(here)
    status, said, errors, called = run(here, "--far", str(here / "out"), CUDA_VISIBLE_DEVICES="3,1")
    assert status == 0, (said, errors)
    check_calls(called)
    check_table(said, (here / "out/far.csv").read_text().splitlines())
    # An MPS that runs is used, and goes on.
    (here / "state").touch()
    status, said, errors, called = run(here, "--far", str(here / "out"), CUDA_MPS_PIPE_DIRECTORY=scratch,
                                       CHORUS_ROUNDS="1", CHORUS_STEPS="beside")
    assert status == 0 and not [line for line in called if line.startswith("mps")], (called, errors)
    assert not [line for line in called if line.startswith("nccl")], called
    # Wrong data fails, and so does what chorus-tune cannot do with the algorithms.
    status, said, errors, _ = run(here, "--far", str(here / "out"), WRONG="3", CHORUS_STEPS="beside")
    assert status == 1 and "16 with wrong data" in said[-2], (said, errors)
    status, _, errors, called = run(here, "--far", str(here / "out"), CHORUS_STEPS="algos", CHORUS_NAME="far")
    assert status == 1 and (here / "out/far.csv").exists(), errors
    forced = [line for line in called if line.startswith("sweep")]
    assert len(forced) == 28 and all("--algo all" in line and "--ctas 1,2,4" in line for line in forced), forced
    assert {line for line in called if line.startswith("chorusrun")} == {
        f"chorusrun n={n} heap=cuda nodes=2 p2p= gpus=0" for n in (2, 4)}, called
    check_device(here)
    check_apps(here)
    check_interrupted(here)
    for refused, says in ((("--far", "2", "out"), "--far takes OUTDIR alone"), (("--fat",), 'NGPUS "--fat"')):
        status, _, errors, _ = run(here, *refused)
        assert status == 2 and says in errors, errors
    status, _, errors, _ = run(here, "--far", CHORUS_ROUNDS="0")
    assert status == 2 and "CHORUS_ROUNDS=0: expected" in errors, errors
    (here / "bin/nvidia-smi").write_text("#!/bin/sh\n")
    status, _, errors, _ = run(here, "--far")
    assert status == 2 and "--far needs a GPU" in errors, errors
