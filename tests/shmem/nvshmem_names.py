# SPDX-License-Identifier: Apache-2.0
"""golden/nvshmem.txt is right about the headers in include/compat: what it lists is declared, with the
same parameters, for hosts and for kernels as it says, and what it lists as absent is not declared.

usage: nvshmem_names.py COMPILER NVCC           NVCC may be missing; then files of CUDA are left out
       nvshmem_names.py COMPILER NVCC FOLDER    the list is right about NVSHMEM's own headers in this
                                                folder, and none of their names is missing from it
"""
import fnmatch
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "tests" / "golden" / "nvshmem.txt"
OURS = [f"-I{ROOT}/include/compat", f"-I{ROOT}/include", f"-I{ROOT}/src"]
CUDA = Path("/usr/local/cuda/include")

CTYPES = {"half": "CHORUS_HALF", "bfloat16": "CHORUS_BFLOAT16", "schar": "signed char", "longlong": "long long",
          "uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned int", "ulong": "unsigned long",
          "ulonglong": "unsigned long long", "size": "size_t", "ptrdiff": "ptrdiff_t",
          **{f"{u}int{n}": f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)}}
VARIANTS = {"SIZE": "8 16 32 64 128", "SCOPE": "warp block", "OP": "min max sum prod", "BITOP": "and or xor"}
# Words of NVSHMEM's headers that are parameters, and the beginnings of names.
NOT_NAMES = {"nvshmem_", "nvshmemx_", "nvshmem_attr", "nvshmem_device_lib_version", "NVSHMEMX_ERROR_"}

# The 16-bit types have these names in Chorus, with CUDA's headers and without.
TYPES = """
#ifndef CHORUS_HALF
#ifdef CHORUS_LISTS_H
#define CHORUS_HALF chorus_half
#define CHORUS_BFLOAT16 chorus_bfloat16
#else
#define CHORUS_HALF half
#define CHORUS_BFLOAT16 __nv_bfloat16
#endif
#endif
template <typename A, typename B> struct is_same { enum { value = 0 }; };
template <typename A> struct is_same<A, A> { enum { value = 1 }; };
template <typename A> struct bare { typedef A type; };
template <typename A> struct bare<const A *> { typedef A *type; };
template <typename R, typename... A> struct bare<R (*)(A...)> {
    typedef R (*type)(typename bare<A>::type...);
};
template <typename A, typename B> struct is_alike : is_same<typename bare<A>::type, typename bare<B>::type> {};
"""


class Row:
    """A line of the list."""

    def __init__(self, line, sets):
        fields = [field.strip() for field in line.split("|")]
        self.state, self.where, self.names = fields[0], fields[1].split(), fields[2]
        self.sets = sets

    def functions(self):
        """(result, name, parameters) of each function of the row."""
        result, name, parameters = re.fullmatch(r"(.*?)([\w<>]+)\((.*)\)", self.names).groups()
        holes = re.findall(r"<(\w+)>", name)
        choices = [self.sets[h] if h in self.sets else VARIANTS[h].split() for h in holes]
        for chosen in itertools.product(*choices):
            made, ctype = name, "TYPE"
            for hole, word in zip(holes, chosen):
                made = made.replace(f"<{hole}>", word)
                ctype = CTYPES.get(word, word) if hole in self.sets else ctype
            yield tuple(re.sub(r"\bTYPE\b", ctype, text).strip() for text in (result, made, parameters))


def read_list():
    sets, rows = {}, []
    for line in LIST.read_text().splitlines():
        if line.startswith("set "):
            name, members = line.removeprefix("set ").split(": ")
            sets[name] = members.split()
        elif not line.startswith("#"):
            rows.append(Row(line, sets))
    return rows


def is_function(row):
    return row.state != "absent" and "(" in row.names


def words_of(row):
    """The names of a row."""
    return [f[1] for f in row.functions()] if is_function(row) else row.names.split()


# A second declaration of these, without PE_root, is in NVSHMEM's headers.
DECLARED_TWICE = {"nvshmemx_broadcastmem_warp", "nvshmemx_broadcastmem_block"}


def caller(function, number, prefix):
    """A function that calls another one, which must have that type, but for what it promises not to change."""
    result, name, parameters = function
    given = [] if parameters == "void" else [re.search(r"(\w+)$", p).group(1) for p in parameters.split(",")]
    plain = [re.sub(r"\s*\w+$", "", p) for p in parameters.split(",")] if given else []
    yield (f"static_assert(is_alike<decltype(&{name}), {result} (*)({', '.join(plain)})>::value, "
           f"\"{name} has other parameters\");")
    yield f"{prefix} {result} call_{number}({parameters}) {{ return {name}({', '.join(given)}); }}"


def program(rows, wheres, prefix, leaves_out=()):
    """A program that calls the functions of these places."""
    functions = [f for row in rows if is_function(row) and wheres & set(row.where) for f in row.functions()
                 if f[1] not in leaves_out]
    lines = [line for number, f in enumerate(functions) for line in caller(f, number, prefix)]
    return "\n".join(["#include <nvshmem.h>", "#include <nvshmemx.h>", TYPES, *lines, ""])


def run(command, text, folder, name):
    """What a compiler prints about a program; empty: it is right."""
    source = Path(folder) / name
    source.write_text(text)
    done = subprocess.run([*command, source], capture_output=True, text=True, check=False)
    return done.stderr.splitlines() if done.returncode != 0 else []


def words_in(text):
    """Words that look like names of NVSHMEM, outside of texts."""
    return set(re.findall(r"\b(?:nvshmemx?|NVSHMEMX?)_\w*", re.sub(r'"[^"\n]*"', "", text)))


def declared(command, folder, name):
    """Names in what the headers of a command contain, with macros."""
    source = Path(folder) / name
    source.write_text("#include <nvshmem.h>\n#include <nvshmemx.h>\n")
    flags = ["-Xcompiler", "-dM"] if command[0].endswith("nvcc") else ["-dM"]
    texts = [subprocess.run([*command, "-E", *more, source], capture_output=True, text=True, check=True).stdout
             for more in ([], flags)]
    macros = "\n".join(re.findall(r"^#define (\w+)", texts[1], re.M))
    text = re.sub(r"^#.*$", "", texts[0], flags=re.M)
    has_tiles = {"nvshmemx::"} if re.search(r"\bnamespace nvshmemx\b", text) else set()
    return words_in(text) | words_in(macros) | has_tiles


def is_listed_absent(name, rows):
    return any(fnmatch.fnmatchcase(name, pattern.removesuffix("*") if name == "nvshmemx::" else pattern)
               for row in rows if row.state == "absent" for pattern in row.names.split())


def absences(rows, found, has_cuda):
    """Names that are declared and should not be, or the contrary."""
    for row in rows:
        if row.state == "absent" or ("nvcc" in row.where or "device" in row.where) and not has_cuda:
            continue
        if {"host", "type", "constant", "macro"} & set(row.where) or has_cuda:
            yield from (f"{name}: not declared, and the list says {row.state}" for name in words_of(row)
                        if name not in found)
    yield from (f"{name}: declared, and the list says absent" for name in sorted(found)
                if is_listed_absent(name, rows))


def omissions(rows, found):
    """Names of NVSHMEM's headers that the list does not have."""
    listed = {name for row in rows if row.state != "absent" for name in words_of(row)}
    return [f"{name}: not in the list" for name in sorted(found - listed - NOT_NAMES)
            if not is_listed_absent(name, rows)]


def host_problems(rows, compiler, include, folder):
    has_cuda = (CUDA / "cuda.h").exists()
    command = [compiler, "-std=c++11", *include, *([f"-I{CUDA}"] if has_cuda else [])]
    wheres = {"host", "cuda"} if has_cuda else {"host"}
    yield from run([*command, "-fsyntax-only", "-fmax-errors=0"], program(rows, wheres, "static inline"), folder,
                   "host.cpp")
    yield from absences([row for row in rows if "device" not in row.where or "host" in row.where],
                        declared(command, folder, "host.cpp"), False)


def cuda_problems(rows, nvcc, include, folder, leaves_out=()):
    command = [nvcc, "-std=c++17", "-arch=sm_90", "-diag-suppress=177", *include]
    compiled = [*command, "-ptx", "-o", os.devnull]
    yield from run(compiled, program(rows, {"device"}, "static __device__", leaves_out), folder, "device.cu")
    yield from run(compiled, program(rows, {"nvcc", "cuda"}, "static inline"), folder, "launch.cu")


def problems_of(rows, compiler, nvcc, include, folder):
    found = list(host_problems(rows, compiler, include, folder))
    if nvcc is not None:
        found += cuda_problems(rows, nvcc, include, folder)
        found += absences(rows, declared([nvcc, "-std=c++17", "-arch=sm_90", *include], folder, "names.cu"), True)
    return found


def wheel_problems(rows, nvcc, include, folder):
    found = declared([nvcc, "-std=c++17", "-arch=sm_90", *include], folder, "names.cu")
    yield from omissions(rows, found)
    yield from cuda_problems(rows, nvcc, include, folder, DECLARED_TWICE)
    yield from run([nvcc, "-std=c++17", "-arch=sm_90", *include, "-ptx", "-o", os.devnull],
                   program(rows, {"host"}, "static inline"), folder, "host.cu")


def main():
    compiler, nvcc, *wheel = sys.argv[1:]
    path = os.environ.get("PATH", "") + ":/usr/local/cuda/bin"
    rows, nvcc = read_list(), shutil.which(nvcc, path=path)
    with tempfile.TemporaryDirectory() as folder:
        if wheel:
            found = list(wheel_problems(rows, nvcc, [f"-I{wheel[0]}"], folder))
        else:
            found = problems_of(rows, compiler, nvcc, OURS, folder)
    print("\n".join(found[:100]))
    print(f"{sum(len(words_of(row)) for row in rows if row.state != 'absent')} names that are here, "
          f"{len(found)} lines about differences")
    return 1 if found else 0


sys.exit(main())
