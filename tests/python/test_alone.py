# SPDX-License-Identifier: Apache-2.0
"""Programs as users start them: before and after the job, by every launcher, and their mistakes."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

import pytest

CHORUSRUN = os.environ["CHORUSRUN"]
LIMIT_S = 60


def run(program, *launcher, **environment):
    """Its status, and what it says on both outputs."""
    done = subprocess.run([*launcher, sys.executable, "-c", program], text=True, timeout=LIMIT_S,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout


def test_package__without_numpy__works():
    status, said = run("""
import sys
for name in ("numpy", "torch"):
    sys.modules[name] = None
import chorus
chorus.init()
a = chorus.full(3, 2, "int16")
assert chorus.reduce(a).tobytes() == bytes([2, 0] * 3), a
assert chorus.version() == (0, 1) and chorus.n_pes() == 1
help(chorus.reduce)
""")
    assert status == 0 and "combined, on every PE" in said, said


def test_readme__its_three_lines__run():
    with open(os.environ["README"]) as readme:
        lines = readme.read().split("```python\n")[1].split("```")[0]
    assert lines.count("\n") == 3
    status, said = run(lines + "print(total.tobytes().hex())", CHORUSRUN, "-n", "2")
    assert status == 0 and said.count("03000000" * 4) == 2, said


def test_moe__the_program_of_the_page__prints_what_it_says():
    with open(os.path.join(os.path.dirname(os.environ["README"]), "docs/python.md")) as page:
        section = page.read().split("## Mixture of experts\n")[1].split("\n## ")[0]
    status, said = run(section.split("```python\n")[1].split("```")[0], CHORUSRUN, "-n", "3")
    expected = re.search(r"`(PE 1: .*?)`", section).group(1)
    # Lines of PEs may run into each other, as Python writes the end of a line by itself.
    assert status == 0 and said.count("PE ") == said.count("became") == 3 and expected in said, said


def test_moe__library_is_missing__says_what_to_do(tmp_path):
    import chorus
    shutil.copytree(os.path.dirname(chorus.__file__), tmp_path / "chorus",
                    ignore=shutil.ignore_patterns("libchorus-apps.so"))
    status, said = run("import chorus, chorus.moe", PYTHONPATH=str(tmp_path))
    assert status == 1 and "ImportError: chorus.moe: libchorus-apps.so cannot be loaded: " in said, said
    assert said.endswith("install the package again, or build it (ninja python-package), which puts the library "
                         "there\n"), said


def test_moe__beside_an_installed_library__is_loaded_with_it(tmp_path):
    """The package's libchorus.so may be a link into an installed tree. There is one libchorus in the process."""
    import chorus
    package = os.path.dirname(chorus.__file__)
    shutil.copytree(package, tmp_path / "chorus", ignore=shutil.ignore_patterns("libchorus*"))
    (tmp_path / "lib").mkdir()
    for name in ("libchorus.so", "libchorus-apps.so"):
        shutil.copy(os.path.join(package, name), tmp_path / "lib" / name)
    (tmp_path / "chorus/libchorus.so").symlink_to("../lib/libchorus.so")
    status, said = run("""
import chorus, chorus.moe
chorus.init(heap="host")
chorus.moe.MoE(None, 1, 1, 1, 1, "float32").free()
with open("/proc/self/maps") as maps:
    print(*sorted({line.split()[-1] for line in maps if "libchorus" in line}))
""", PYTHONPATH=str(tmp_path))
    assert status == 0, said
    assert said.split() == [str(tmp_path / "lib" / name) for name in ("libchorus-apps.so", "libchorus.so")], said


def test_moe__after_finalize_and_without_numpy__says_so():
    status, said = run("""
import sys
sys.modules["numpy"] = None
import chorus, chorus.moe
def refused(call, text):
    try: call()
    except chorus.Error as e: assert text in str(e), e
    else: raise SystemExit(f"{call} was not refused")
make = lambda: chorus.moe.MoE(None, 2, 1, 2, 3, "float32")
refused(make, "MoE: no chorus.init was called")
chorus.init(heap="host")
moe = make()
idx, x, rows, y = chorus.full(2, 1, "int64"), chorus.full((2, 3), 5), chorus.zeros((2, 3)), chorus.zeros((2, 3))
route = moe.route(idx)
assert route.counts == (0, 2) and [repr(o) for o in route.origins][1] == "Origin(pe=0, token=1, slot=0)"
refused(lambda: moe.dispatch(route, x), "there is no NumPy to make an array; pass one")
assert moe.combine(route, moe.dispatch(route, x, out=rows), out=y).tobytes() == x.tobytes()
chorus.finalize()
refused(lambda: moe.route(idx), "chorus.finalize was called")
chorus.init(heap="host")
refused(lambda: moe.dropped, "of a job that was left")
refused(lambda: route.origins, "of a job that was left")
""")
    assert status == 0, said


def test_before_init__and_after_finalize__is_an_exception():
    status, said = run("""
import chorus
def refused(call, text):
    try: call()
    except chorus.Error as e: assert text in str(e), e
    else: raise SystemExit(f"{call} was not refused")
calls = [chorus.my_pe, lambda: chorus.zeros(3), chorus.barrier, chorus.heap_info,
         lambda: chorus.WORLD.n_pes, chorus.collect_garbage, chorus.quiet, chorus.Stream,
         chorus.finalize, lambda: chorus.explain("reduce"), lambda: chorus.reduce(None)]
for call in calls: refused(call, "no chorus.init was called")
refused(lambda: chorus.init(rank=0), "rank and n_ranks go with unique_id")
refused(lambda: chorus.init(unique_id=b"x", rank=0, n_ranks=1), "unique_id is no id")
refused(lambda: chorus.init(heap="disk"), "heap is 'disk'; expected auto, host, cuda")
refused(lambda: chorus.init(heap="host", device=0), "device is 0, but heap selects host memory")
chorus.init(heap="host")
refused(chorus.init, "called twice")
array = chorus.zeros(4)
view = memoryview(__import__("numpy").asarray(array))
team = chorus.WORLD.split(0, 1, 1)
chorus.finalize()
assert view.tolist() == [0, 0, 0, 0]
for call in calls + [lambda: array.tobytes(), lambda: array.free(), lambda: team.my_pe,
                     lambda: array.__array_interface__, lambda: chorus.reduce(array)]:
    refused(call, "chorus.finalize was called")
chorus.init(heap="host")
refused(lambda: chorus.reduce(array), "of a job that was left")
refused(array.free, "of a job that was left")
del array
assert chorus.reduce(chorus.full(2, 3, "int64"))[1].item() == 3 and view.tolist() == [0, 0, 0, 0]
""")
    assert status == 0, said


def test_torch__all_reduce_before_init__is_an_exception():
    pytest.importorskip("torch")
    status, said = run("""
import torch, chorus.torch
try: chorus.torch.all_reduce(torch.ones(3))
except chorus.Error as e: print(e)
""")
    assert status == 0 and "all_reduce: no chorus.init was called" in said, said


def test_fork__after_init__is_no_pe():
    status, said = run("""
import os, chorus
chorus.init()
a = chorus.zeros(4)
pid = os.fork()
if pid == 0:
    try: chorus.reduce(a)
    except chorus.Error as e: print("child:", e, flush=True)
    raise SystemExit(0)
assert os.waitpid(pid, 0)[1] == 0
chorus.reduce(a)
print("parent goes on")
""")
    assert status == 0 and "forked by a PE, and is none" in said, said
    assert said.endswith("parent goes on\n"), said


def test_exception__on_one_pe__ends_the_job():
    status, said = run("""
import chorus
chorus.init()
if chorus.my_pe() == 1: raise ValueError("what went wrong")
chorus.barrier()
""", CHORUSRUN, "-n", "2")
    assert status == 1 and "what went wrong" in said, said


def test_init__package_is_missing_on_one_pe__ends_the_job(tmp_path):
    status, said = run("""
import os, sys
try:
    os.close(os.open(os.environ["FIRST"], os.O_CREAT | os.O_EXCL))
    sys.modules["chorus"] = None
except FileExistsError:
    pass
import chorus
chorus.init()
""", CHORUSRUN, "-n", "2", FIRST=str(tmp_path / "first"))
    assert status == 1 and "ModuleNotFoundError" in said, said


def test_init__other_version_on_one_pe__names_both(tmp_path):
    status, said = run("""
import os, chorus, chorus._job
try: os.close(os.open(os.environ["FIRST"], os.O_CREAT | os.O_EXCL))
except FileExistsError: chorus._job.VERSION = "9.8.7"
try: chorus.init()
except chorus.Error as e: print(e)
assert not chorus.is_initialized()
""", CHORUSRUN, "-n", "2", FIRST=str(tmp_path / "first"))
    assert status == 0 and said.count("9.8.7") == 2 and said.count("0.1.0") == 2, said


def test_unique_id__by_any_store__makes_a_job():
    program = """
import os, sys, time, chorus
class Files:
    def set(self, key, value):
        with open(sys.argv[1] + ".new", "wb") as f: f.write(value)
        os.rename(sys.argv[1] + ".new", sys.argv[1])
    def get(self, key):
        while not os.path.exists(sys.argv[1]): time.sleep(0.01)
        return open(sys.argv[1], "rb").read()
chorus.init(store=Files(), rank=int(sys.argv[2]), n_ranks=2)
print(chorus.reduce(chorus.full(1, chorus.my_pe() + 1, "int32")).item())
"""
    with tempfile.TemporaryDirectory() as folder:
        pes = [subprocess.Popen([sys.executable, "-c", program, folder + "/id", str(rank)],
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
               for rank in range(2)]
        said = [pe.communicate(timeout=LIMIT_S)[0] for pe in pes]
    assert said == ["3\n", "3\n"]


def test_torchrun__its_environment__makes_a_job():
    said = {}

    def pe(rank):
        said[rank] = run("import chorus; chorus.init(); print(chorus.my_pe(), chorus.n_pes())",
                         RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank),
                         LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port)

    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    threads = [threading.Thread(target=pe, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == {0: (0, "0 2\n"), 1: (0, "1 2\n")}


def test_init__heap_on_gpus_without_any__says_so():
    import glob
    if glob.glob("/dev/nvidia[0-9]*"):
        pytest.skip("there are GPUs here")
    status, said = run("import chorus; chorus.init(heap='cuda')")
    assert status == 1 and "chorus.init" not in said.splitlines()[-1], said
    assert "Error: " in said.splitlines()[-1] and "CUDA" in said, said


def test_init__another_cuda_runtime_in_the_process__is_not_called(tmp_path):
    """PyTorch brings one of its own version. Chorus has its runtime within, and exports none of it."""
    source, other = tmp_path / "other.c", tmp_path / "libcudart.so"
    calls = ("cudaGetDeviceCount", "cudaRuntimeGetVersion", "cudaDriverGetVersion", "cudaGetDevice",
             "cudaGetDriverEntryPointByVersion", "cudaSetDevice", "cudaGetLastError")
    source.write_text("#include <unistd.h>\n" + "".join(
        f"int {call}(void) {{ _exit(7); }}\n" for call in calls))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(other), str(source)], check=True)
    status, said = run(f"""
import ctypes
other = ctypes.CDLL({str(other)!r}, ctypes.RTLD_GLOBAL)
import chorus
from chorus._library import lib
for call in {calls}:
    assert not hasattr(lib, call), call
chorus.init()
print(chorus.reduce(chorus.full(2, 1, "int32")).tobytes().hex())
""")
    assert status == 0 and said.endswith("0100000001000000\n"), said
