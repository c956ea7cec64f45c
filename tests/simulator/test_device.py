"""The two doors of the simulator that need no Python: a pipe beside shared memory, and what the loaded extension exports."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from prlx import _core, _prlx

HERE = Path(__file__).parent
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


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memfd_create")
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_program_in_c_has_a_device(tmp_path):
    program, text = tmp_path / "client", tmp_path / "increment.ptx"
    text.write_text(INCREMENT)
    subprocess.run(
        ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", program, HERE / "device_client.c"], check=True
    )
    done = subprocess.run([program, sys.executable, text], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.splitlines() == [
        "module 1",
        "10 elements: clean",
        "11 elements: out of bounds",
        "x is 2 to 902",
        "error 1: there is no module 99",
        "the device ended with 0",
    ]
    assert not done.stderr


def test_a_device_without_a_pipe_says_what_is_wrong(tmp_path):
    (tmp_path / "memory").write_bytes(b"")
    with (tmp_path / "memory").open("r+b") as memory:
        command = [sys.executable, "-m", "prlx._device", "0", str(memory.fileno()), "0x1000", "4096"]
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, pass_fds=[memory.fileno()], timeout=300
        )
    assert done.returncode == 2
    assert "the shared memory has 0 bytes, 4096 were named" in done.stderr


@pytest.fixture
def door():
    _core.call("version")
    loaded = ctypes.CDLL(_prlx.__file__, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    loaded.prlx_call.restype = loaded.prlx_fetch.restype = ctypes.c_int64
    return loaded


def ask(door, op, request, room):
    text = json.dumps(request).encode()
    out = ctypes.create_string_buffer(room)
    n = door.prlx_call(op.encode(), text, ctypes.c_int64(len(text)), out, ctypes.c_int64(room))
    if n < 0:
        size = int.from_bytes(out.raw[:8], "little")
        whole = ctypes.create_string_buffer(size)
        assert door.prlx_fetch(ctypes.c_int64(-n), whole, ctypes.c_int64(size)) == size
        assert door.prlx_fetch(ctypes.c_int64(-n), whole, ctypes.c_int64(size)) == 0  # it is given out once
        reply = whole.raw
    else:
        reply = out.raw[:n]
    return reply[0], json.loads(reply[1:])


@pytest.mark.parametrize("room", [8, 64, 1 << 16])
def test_the_loaded_extension_answers_libraries_in_its_process(door, room):
    assert ask(door, "simulate_target", {}, room) == (0, _core.call("simulate_target"))
    status, error = ask(door, "simulate_unload", {"module": "no number"}, room)
    assert status == 1
    assert error["kind"] == "usage"


def test_threads_of_libraries_need_no_lock_of_python(door):
    found = []

    def many():
        for _ in range(50):
            status, made = ask(door, "simulate_load", {"name": "k", "ptx": INCREMENT}, 4096)
            found.append((status, made["kernels"], ask(door, "simulate_unload", {"module": made["module"]}, 64)))

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(0, ["increment"], (0, {"unloaded": True}))] * 200
