# SPDX-License-Identifier: Apache-2.0
"""Every function of OpenSHMEM and of NVSHMEM's host API is called by a program of these tests, which run
with 1 to 4 PEs and check what they get.

usage: called.py COMPILER PROGRAM...    the programs of OpenSHMEM, as they were linked
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import signatures

HERE = Path(__file__).resolve().parent
NVSHMEM_SOURCES = ("nvshmem_calls.c", "nvshmem.c", "nvshmem_mpi.c")

# NVSHMEM's host API: names, and the types T that they have; N is a number of bits.
DEVICE = {**signatures.RMA, "half": "", "bfloat16": ""}
DEVICE.pop("longdouble")
PUTS = ("put", "get", "put_nbi", "get_nbi", "put_signal", "put_signal_nbi")
SETS = [f"{call}_{which}{vector}" for call in ("wait_until", "test") for which in ("all", "any", "some")
        for vector in ("", "_vector")]
MOVES = ("broadcast", "fcollect", "alltoall")
NVSHMEM = [
    ([f"nvshmem_T_{call}" for call in ("p", "g", "iput", "iget", *PUTS, *MOVES)], DEVICE),
    ([f"nvshmemx_T_{call}_on_stream" for call in ("p", "g", "iput", "iget", *PUTS, *MOVES)], DEVICE),
    ([f"nvshmem_T_atomic_{call}" for call in ("fetch", "set", "swap")],
     {**signatures.AMO_STANDARD, **signatures.FLOATS}),
    ([f"nvshmem_T_atomic_{call}" for call in ("compare_swap", "inc", "fetch_inc", "add", "fetch_add")],
     signatures.AMO_STANDARD),
    ([f"nvshmem_T_atomic_{fetch}{op}" for fetch in ("", "fetch_") for op in ("and", "or", "xor")],
     signatures.AMO_BITWISE),
    (["nvshmemx_T_atomic_add", "nvshmemx_T_atomic_fetch_add"], signatures.FLOATS),
    ([f"nvshmem_T_{call}" for call in ("wait_until", "test", *SETS)], signatures.WAIT),
    ([f"nvshmemx_T_{call}_on_stream" for call in ("wait_until", "wait_until_all", "wait_until_all_vector")],
     signatures.WAIT),
]
for ops, types in (("and or xor", signatures.BITWISE), ("min max sum prod", DEVICE)):
    for op in ops.split():
        for form in ("reduce", "reducescatter"):
            NVSHMEM.append(([f"nvshmem_T_{op}_{form}", f"nvshmemx_T_{op}_{form}_on_stream"], types))
for at in ("putN", "getN", "putN_nbi", "getN_nbi", "putN_signal", "putN_signal_nbi", "iputN", "igetN"):
    NVSHMEM.append(([f"nvshmem_{at}", f"nvshmemx_{at}_on_stream"], None))
PLAIN = """
nvshmem_init nvshmem_init_thread nvshmem_query_thread nvshmem_finalize nvshmem_global_exit nvshmem_my_pe
nvshmem_n_pes nvshmem_pe_accessible nvshmem_addr_accessible nvshmem_info_get_version nvshmem_info_get_name
nvshmemx_init_attr nvshmemx_get_uniqueid nvshmemx_set_attr_uniqueid_args nvshmemx_set_attr_mpi_comm_args
nvshmemx_init_status nvshmemx_hostlib_init_attr nvshmemx_hostlib_finalize
nvshmem_malloc nvshmem_calloc nvshmem_align nvshmem_free nvshmem_ptr nvshmemx_mc_ptr nvshmemx_buffer_register
nvshmemx_buffer_unregister nvshmemx_buffer_unregister_all nvshmemx_buffer_register_symmetric
nvshmemx_buffer_unregister_symmetric
nvshmem_team_my_pe nvshmem_team_n_pes nvshmem_team_get_config nvshmem_team_translate_pe
nvshmem_team_split_strided nvshmem_team_split_2d nvshmem_team_destroy nvshmem_team_sync nvshmem_barrier
nvshmem_barrier_all nvshmem_sync_all nvshmem_fence nvshmem_quiet nvshmem_signal_fetch
nvshmem_signal_wait_until nvshmemx_signal_op nvshmemx_signal_op_on_stream
nvshmemx_signal_wait_until_on_stream nvshmemx_quiet_on_stream nvshmemx_flush nvshmemx_flush_on_stream
nvshmemx_barrier_on_stream
nvshmemx_barrier_all_on_stream nvshmemx_team_sync_on_stream nvshmemx_sync_all_on_stream
nvshmem_putmem nvshmem_getmem nvshmem_putmem_nbi nvshmem_getmem_nbi nvshmem_putmem_signal
nvshmem_putmem_signal_nbi nvshmemx_putmem_on_stream nvshmemx_getmem_on_stream nvshmemx_putmem_nbi_on_stream
nvshmemx_getmem_nbi_on_stream nvshmemx_putmem_signal_on_stream nvshmemx_putmem_signal_nbi_on_stream
nvshmemx_team_get_uniqueid nvshmemx_team_init nvshmemx_region_start nvshmemx_region_stop
nvshmemx_region_is_active nvshmemx_status_string nvshmemx_signal_counted_reset
nvshmemx_buffer_register_symmetric_at_preferred_address
nvshmem_broadcastmem nvshmem_fcollectmem nvshmem_alltoallmem nvshmemx_broadcastmem_on_stream
nvshmemx_fcollectmem_on_stream nvshmemx_alltoallmem_on_stream
""".split()


def nvshmem_names():
    yield from PLAIN
    for names, types in NVSHMEM:
        for name in names:
            if types is None:
                yield from (name.replace("N", str(bits)) for bits in (8, 16, 32, 64, 128))
            else:
                yield from (name.replace("_T_", f"_{t}_") for t in types)


def symbols(*command):
    return subprocess.run(["nm", *command], capture_output=True, text=True, check=True).stdout


def nvshmem_called(compiler, folder):
    """Functions of headers that are compiled because they are called, and names that are macros."""
    found = set()
    include = HERE.parents[1] / "include"
    for source in NVSHMEM_SOURCES:
        text = (HERE / source).read_text()
        found |= set(re.findall(r"\bnvshmemx?_\w+", text))
        if "<mpi.h>" in text:
            continue
        made = Path(folder) / "object.o"
        subprocess.run([compiler, "-O0", "-w", f"-I{include}", f"-I{include}/compat", "-c", "-o", made,
                        HERE / source], check=True)
        found |= set(re.findall(r" t (nvshmemx?_\w+)", symbols(made)))
    return found


def main():
    compiler, *programs = sys.argv[1:]
    functions, generics = signatures.standard()
    called = set().union(*(re.findall(r" U (\w+)", symbols("-u", p)) for p in programs))
    text = (HERE / "generic.c").read_text()
    missing = [f for f in functions if f not in called]
    missing += [f"{g}, without a type" for g in generics if not re.search(rf"\b{g}\b", text)]
    names = list(nvshmem_names())
    with tempfile.TemporaryDirectory() as folder:
        called = nvshmem_called(compiler, folder)
    missing += [name for name in names if name not in called]
    print(f"{len(functions)} functions and {len(generics)} names without a type of OpenSHMEM, {len(names)} "
          f"functions of NVSHMEM; not called: {', '.join(sorted(missing)) or 'none'}")
    return 1 if missing else 0


sys.exit(main())
