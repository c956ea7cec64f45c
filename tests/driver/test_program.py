"""Programs that know nothing of prlx, over the CUDA driver of the simulator: ``prlx simulate -- CMD``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prlx._program import DRIVER

HERE = Path(__file__).parent
TRITON = HERE.parents[1] / "build" / "triton"
# Kernels of the corpus, of each kind one; device_dbg prints.
SAMPLE = ["add", "device_dbg", "softmax", "matmul", "atomics", "sort", "flash", "gather", "histogram"]
INCREMENT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry increment(.param .u64 p, .param .u32 n)
{
	.reg .pred %p<2>;
	.reg .b32 %r<5>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	setp.ge.u32 %p1, %r2, %r1;
	@%p1 bra $done;
	mul.wide.u32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.u32 %r3, [%rd3];
	add.s32 %r4, %r3, 1;
	st.global.u32 [%rd3], %r4;
$done:
	ret;
}
"""


def simulate(*command, cwd, check=True, **environment):
    return subprocess.run(
        [sys.executable, "-m", "prlx", "simulate", *map(str, command)],
        cwd=cwd, env={**os.environ, "TRITON_CACHE_DIR": str(cwd / "cache"), **environment},
        capture_output=True, text=True, timeout=600, check=check,
    )  # fmt: skip


@pytest.fixture(scope="session")
def api(tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    program = tmp_path_factory.mktemp("driver") / "api"
    subprocess.run(
        ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", program, HERE / "api.c", "-lpthread", "-ldl"],
        check=True,
    )
    return program


def test_a_program_in_c_calls_the_driver_as_it_is_documented(api, tmp_path):
    done = simulate("--", api, cwd=tmp_path, check=False)
    assert done.returncode == 1  # it has findings
    assert done.stdout.splitlines() == [
        "1 device, prlx simulator sm_80, 166912 bytes of shared memory",
        "device 1: 101 there is one device, number 0, and not number 1",
        "copied 7 7",
        "too much: 1 " + done.stdout.split("too much: 1 ")[1].split("\n")[0],
        "range 1 64",
        "pool keeps 7, 1",
        "pool of the host: 801 cuMemPoolCreate: memory of type 1 at location 0 of type 2",
        "no pointer: 1 0x3039 is no memory of the device",
        "machine code: 209 the image is machine code: the simulator runs PTX",
        "no PTX: 218",
        "no function: 500 the module has no kernel sub",
        "added 10 10, counter of 4 bytes 21",
        "packed 11 11 10, counter 102",
        "out of bounds: 700 1",
        "freed: 700 1",
        "freed twice: 1 1",
        "a launch takes some time",
        "by name: 1 0",
        "a name that is not there: 500",
        "8 of 8 threads",
        "a forked child is refused: 1",
    ]
    assert "which is not within one allocation" in done.stdout
    assert "1 kernel, 406 launches" in done.stderr
    assert "out-of-bounds at ld.global.u32" in done.stderr


def test_a_program_has_its_own_exit_code(tmp_path):
    assert simulate("--", "sh", "-c", "exit 7", cwd=tmp_path, check=False).returncode == 7
    assert simulate("--", "sh", "-c", "kill -9 $$", cwd=tmp_path, check=False).returncode == 137
    assert simulate("--", "true", cwd=tmp_path, check=False).returncode == 5  # nothing was looked at
    refused = simulate("--map-cuda", "--", "sh", "-c", "exit 7", cwd=tmp_path, check=False)
    assert refused.returncode == 2
    assert "--map-cuda is about scripts that prlx runs itself, and sh is a program" in refused.stderr


INSIDE = """
import ctypes, os, sys
from prlx import _core, _prlx
core, facts = ctypes.CDLL(_prlx.__file__, mode=os.RTLD_NOLOAD | os.RTLD_LAZY), _core.call("simulate_target")
cuda = ctypes.CDLL(sys.argv[1])
doors = [ctypes.cast(getattr(core, name), ctypes.c_void_p) for name in ("prlx_call", "prlx_fetch")]
print(cuda.prlx_cuda_attach(*doors), cuda.prlx_cuda_attach(*doors), cuda.cuInit(0))
value, at, back = ctypes.c_int(), ctypes.c_uint64(), (ctypes.c_uint32 * 4)()
cuda.cuDeviceGetAttribute(ctypes.byref(value), 16, 0)
print(value.value == facts["multiprocessors"])
print(cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(16)), cuda.cuMemsetD32_v2(at, 5, ctypes.c_size_t(4)))
print(cuda.cuMemcpyDtoH_v2(back, at, ctypes.c_size_t(16)), list(back))
module, function = ctypes.c_void_p(), ctypes.c_void_p()
print(cuda.cuModuleLoadData(ctypes.byref(module), open(sys.argv[2], "rb").read() + bytes(1)))
print(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"increment"))
n = ctypes.c_uint32(4)
values = (ctypes.c_void_p * 2)(ctypes.addressof(at), ctypes.addressof(n))
print(cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, values, None))
print(cuda.cuMemcpyDtoH_v2(back, at, ctypes.c_size_t(16)), list(back))
"""


def test_a_process_that_has_prlx_needs_no_other(tmp_path):
    text = tmp_path / "increment.ptx"
    text.write_text(INCREMENT)
    kept = {name: value for name, value in os.environ.items() if name != "PRLX_CUDA_DEVICE"}
    done = subprocess.run(
        [sys.executable, "-c", INSIDE, DRIVER / "libcuda.so.1", text],
        capture_output=True, text=True, timeout=300, check=True, env=kept,
    )  # fmt: skip
    expected = ["0 0 0", "True", "0 0", "0 [5, 5, 5, 5]", "0", "0", "0", "0 [6, 6, 6, 6]"]
    assert done.stdout.splitlines() == expected


def test_without_a_device_there_is_none(api, tmp_path):
    kept = {name: value for name, value in os.environ.items() if name != "PRLX_CUDA_DEVICE"}
    done = subprocess.run(
        [api], capture_output=True, text=True, timeout=300, cwd=tmp_path, env={**kept, "LD_LIBRARY_PATH": str(DRIVER)}
    )
    assert done.returncode == 1
    assert done.stdout.startswith("init: 100 the simulator does not answer")


def test_the_corpus_is_the_same_over_either_driver(tmp_path):
    if not (TRITON / "3.9.0" / "triton").is_dir():
        pytest.skip("no Triton 3.9.0")
    names = [] if os.environ.get("PRLX_FULL_SWEEP") else SAMPLE
    words = (sys.executable, "-W", "ignore", HERE / "corpus.py", *names)
    settings = {"PYTHONPATH": str(TRITON / "3.9.0"), "TRITON_DEFAULT_FP_FUSION": "1"}
    unchanged = simulate("--", *words, cwd=tmp_path, **settings)
    kept = {**os.environ, **settings, "TRITON_CACHE_DIR": str(tmp_path / "ours"), "OWN_DRIVER": "1"}
    ours = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True, env=kept)
    lines = unchanged.stdout.splitlines()
    assert lines == ours.stdout.splitlines()
    assert sum(line.endswith(" right") for line in lines) == (len(names) or 37)
    assert any(line.startswith("pid (0, 0, 0) idx") for line in lines)  # what a kernel printed


@pytest.mark.parametrize("version", ["3.9.0", "3.6.0", "3.5.1"])
def test_triton_as_it_is_runs_on_the_driver(version, tmp_path):
    if not (TRITON / version / "triton").is_dir():
        pytest.skip(f"no Triton {version}")
    path = [str(TRITON / version)]
    if version != "3.9.0":  # these want to import torch, of which they use six names
        path.append(str(HERE / "torch_stand_in"))
    done = simulate(
        "--", sys.executable, "-W", "ignore", HERE / "program.py",
        cwd=tmp_path, check=False, PYTHONPATH=os.pathsep.join(path),
    )  # fmt: skip
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[:3] == ["add True", "scaled True", "product True"], done.stderr
    line = (HERE / "program.py").read_text().splitlines().index(
        "    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)"
    ) + 1
    assert f"out-of-bounds program.py:{line}: a load of 4 bytes" in lines[3]
    assert "beyond the end of allocation" in lines[3]
    assert "Pointer argument" in lines[4]
    assert "cannot be accessed from Triton" in lines[4]


def test_the_selftest_asks_the_driver_of_the_simulator_as_it_asks_a_gpu(tmp_path):
    script = tmp_path / "selftest"  # a script that may be executed is a program, whatever its name ends with
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m prlx simulate --selftest --record "$1" --overwrite -q\n')
    refused = simulate("--", script, "r.json", cwd=tmp_path, check=False)
    assert refused.returncode == 2, refused.stderr  # nothing makes it a program
    script.chmod(0o755)
    if not (TRITON / "3.9.0" / "triton").is_dir():
        pytest.skip("no Triton 3.9.0")
    more = {"PYTHONPATH": str(TRITON / "3.9.0"), "TRITON_DEFAULT_FP_FUSION": "1"}
    simulate("--", script, "r.json", cwd=tmp_path, **more)
    read = json.loads((tmp_path / "r.json").read_text())
    assert read["gpu"]["name"] == "prlx simulator sm_80"
    assert read["outcome"] == "passed", read["sentence"]
    assert "12 of 12 kernels of Triton record what they record on the simulator" in read["sentence"]
    assert all(
        row["events"] and row["slower"].keys() == {"digest", "control-flow", "values"} for row in read["recorded"]
    )
    assert "167 of 167 kernels write the same bits as the simulator; of 7 with approximate" in read["sentence"]
