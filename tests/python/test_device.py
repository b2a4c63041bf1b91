# SPDX-License-Identifier: Apache-2.0
"""Calls inside kernels that other compilers make: what the package has for them, and that kernels link it. No GPU."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import chorus
import chorus.device

sys.path.insert(0, str(Path(os.environ["EXAMPLES"])))
import device_nvrtc  # noqa: E402

ARCH = int(os.environ["ARCH"])


def symbols(cubin, folder):
    """Those that are global, with their sizes."""
    file = folder / "linked.cubin"
    file.write_bytes(cubin)
    text = subprocess.run(["readelf", "-sW", file], capture_output=True, text=True, check=True).stdout
    return {row[1]: int(row[0], 0) for row in re.findall(r"\s(\w+) (?:FUNC|OBJECT) +GLOBAL .* (\w+)\n", text)}


@pytest.mark.parametrize("kind", ["ptx", "ltoir"])
def test_kernels_link_the_calls(kind, tmp_path):
    try:
        device_nvrtc.library("libnvrtc")
        device_nvrtc.library("libnvJitLink")
    except OSError as why:
        pytest.skip(str(why))
    found = symbols(device_nvrtc.link(kind, ARCH), tmp_path)
    assert found["exchange"] > 0
    assert found["ch_state"] > 1000  # by which chorus.device.give finds it


def test_header_and_modules_have_the_same_calls():
    text = chorus.device.path("ptx", ARCH).read_text()
    defined = set(re.findall(r"^\.visible \.func +(?:\(.*?\) )?(\w+)", text, re.M))
    assert defined == set(chorus.device.SIGNATURES)
    assert ".visible .const .align 8 .b8 ch_state[" in text


def test_signatures_have_types_and_names():
    put = chorus.device.SIGNATURES["nvshmem_putmem"]
    assert put.result == "void"
    assert put.parameters == (("void*", "dest"), ("const void*", "source"), ("unsigned long", "bytes"), ("int", "pe"))
    assert chorus.device.SIGNATURES["nvshmem_my_pe"] == ("int", ())


def test_path_takes_the_latest_architecture_up_to_that_asked_for():
    assert chorus.device.path("ptx", ARCH + 30) == chorus.device.path("ptx", ARCH)
    with pytest.raises(chorus.Error, match=f"sm_{ARCH}, not for sm_50; build it with -Dgpu_archs=sm_50"):
        chorus.device.path("ltoir", 50)
    with pytest.raises(chorus.ArgumentError, match='no kind "cubin" of device code; take one of ptx, ltoir, bc'):
        chorus.device.path("cubin", ARCH)


def test_give_without_a_driver_or_module_says_why():
    with pytest.raises(chorus.Error, match="driver cannot be loaded|finds no ch_state"):
        chorus.device.give(0)
