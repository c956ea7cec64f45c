"""Plays NCCL to the plug-in, in a process of its own: a short collective in every version of the interface.

``python -m prlx._nccl_player LIBRARY`` opens the library as NCCL does and prints what it called, as JSON. With ``nccl LIBNCCL``
the NCCL of this machine loads it instead, for a communicator of one rank on the first GPU.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
import threading
from collections import Counter
from collections.abc import Callable

_TEXTS = {text: ctypes.create_string_buffer(text.encode()) for text in ("AllReduce", "ncclFloat32", "RING", "SIMPLE")}
_GROUP, _COLL, _PROXY_OP, _PROXY_STEP, _KERNEL_CH, _GROUP_API, _COLL_API, _LAUNCH = 1, 2, 8, 16, 64, 256, 512, 2048
_CHANNELS, _STEPS = 2, 8


class _Table(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        *((field, ctypes.c_void_p) for field in ("init", "start", "stop", "state", "finalize")),
    )


class _Plugin:
    """One version of the interface, and how often each of its functions was called."""

    def __init__(self, library: ctypes.CDLL, version: int) -> None:
        table = _Table.in_dll(library, f"ncclProfiler_v{version}")
        pointer, result = ctypes.c_void_p, ctypes.c_int
        heads: list[type] = [pointer, pointer]
        if version == 4:
            heads += [ctypes.c_char_p, ctypes.c_uint64, result, result, result, pointer]
        elif version >= 5:
            heads = [pointer, ctypes.c_uint64, pointer, ctypes.c_char_p, result, result, result, pointer]
        self.version = version
        self.calls: Counter[str] = Counter()
        self.mask = ctypes.c_int(0)
        self.context = ctypes.c_void_p()
        self._init = ctypes.CFUNCTYPE(result, *heads)(table.init)
        self._start = ctypes.CFUNCTYPE(result, pointer, pointer, pointer)(table.start)
        self._stop = ctypes.CFUNCTYPE(result, pointer)(table.stop)
        self._state = ctypes.CFUNCTYPE(result, pointer, ctypes.c_uint32, pointer)(table.state)
        self._finalize = ctypes.CFUNCTYPE(result, pointer)(table.finalize)

    def _count(self, what: str, result: int) -> None:
        self.calls[what] += 1
        if result != 0:
            raise SystemExit(f"{what} of version {self.version} returned {result}")

    def init(self) -> None:
        context, mask, name = ctypes.byref(self.context), ctypes.byref(self.mask), b"selftest"
        if self.version <= 3:
            self._count("init", self._init(context, mask))
        elif self.version == 4:
            self._count("init", self._init(context, mask, name, 77, 1, 2, 1, None))
        else:
            self._count("init", self._init(context, 77, mask, name, 1, 2, 1, None))
        if not self.context.value:
            raise SystemExit(f"init of version {self.version} gave no context")

    def start(self, kind: int, parent: int = 0, **fields: int | str) -> int:
        """``fields`` are ``_OFFSET``: 4 or 8 bytes at that offset of the descriptor, a pointer where it is a text."""
        descriptor = bytearray(136)
        struct.pack_into("<B" if self.version <= 4 else "<Q", descriptor, 0, kind)
        struct.pack_into("<Qi", descriptor, 8, parent, 1)
        for name, value in fields.items():
            number = ctypes.addressof(_TEXTS[value]) if isinstance(value, str) else value
            struct.pack_into("<i" if name.startswith("i") else "<Q", descriptor, int(name[1:]), number)
        handle = ctypes.c_void_p()
        raw = (ctypes.c_char * len(descriptor)).from_buffer(descriptor)
        self._count("start", self._start(self.context, ctypes.byref(handle), ctypes.byref(raw)))
        if not handle.value:
            raise SystemExit(f"an event of type {kind} of version {self.version} got no handle")
        return handle.value

    def stop(self, handle: int) -> None:
        self._count("stop", self._stop(handle))

    def state(self, handle: int, state: int, value: int | None = None) -> None:
        args = None if value is None else (ctypes.c_uint64 * 3)(value)
        self._count("state", self._state(handle, state, args))

    def finalize(self) -> None:
        self._count("finalize", self._finalize(self.context))


def _collective(plugin: _Plugin) -> None:
    """An AllReduce, as its user's thread, the proxy's and the one that watches kernels see it."""
    version = plugin.version
    plugin.init()
    parent = 0
    if version >= 5:
        outer = plugin.start(_GROUP_API)
        parent = plugin.start(_COLL_API, outer, q24="AllReduce", q32=1024, q40="ncclFloat32")
        plugin.stop(parent)
        launch = plugin.start(_LAUNCH, outer)
        plugin.stop(launch)
    group = plugin.start(_GROUP)
    if version >= 4:
        facts: dict[str, int | str] = {"q24": 1, "q32": "AllReduce", "q56": 1024, "q72": "ncclFloat32", "q88": "RING"}
        coll = plugin.start(_COLL, parent or group, **facts)
    elif version >= 2:
        coll = plugin.start(_COLL, group, q40=1, q48="AllReduce", q72=1024, q88="ncclFloat32")
    else:
        coll = plugin.start(_COLL, group, q40=1, q72=1024)
    for work in (_proxy, _kernels):
        thread = threading.Thread(target=work, args=(plugin, coll))
        thread.start()
        thread.join()
    plugin.stop(coll)
    plugin.stop(group)
    if version >= 5:
        plugin.stop(outer)
    plugin.finalize()


def _proxy(plugin: _Plugin, coll: int) -> None:
    for channel in range(_CHANNELS):
        op = plugin.start(_PROXY_OP, coll, i24=os.getpid(), i28=channel, i32=0, i36=_STEPS, i40=1 << 17, i44=1)
        for number in range(_STEPS):
            step = plugin.start(_PROXY_STEP, op, i24=number)
            for state in (8, 20, 9) if plugin.version >= 4 else (8, 9):
                plugin.state(step, state, 65536 if plugin.version >= 4 else None)
            plugin.stop(step)
        plugin.stop(op)


def _kernels(plugin: _Plugin, coll: int) -> None:
    for channel in range(_CHANNELS if plugin.version >= 3 else 0):
        kernel = plugin.start(_KERNEL_CH, coll, i24=channel, q32=1_760_000_000_000_000_000)
        if plugin.version >= 4:
            plugin.state(kernel, 22, 1_760_000_000_000_001_024)
        plugin.stop(kernel)


def play(path: str) -> dict[str, object]:
    """What NCCL would find in a library and what was called of it."""
    library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
    versions = []
    total: Counter[str] = Counter()
    for version in range(7, 0, -1):  # as NCCL asks for them
        plugin = _Plugin(library, version)
        _collective(plugin)
        total += plugin.calls
        versions.append({"version": version, "calls": sum(plugin.calls.values()), "asked_for": plugin.mask.value})
    return {"versions": versions, "calls": dict(total)}


def load_by_nccl(path: str) -> dict[str, object]:
    """A communicator of one rank on the first GPU, made and destroyed: NCCL loads the plug-in that the environment names."""
    nccl = ctypes.CDLL(path)
    version, comm, device = ctypes.c_int(0), ctypes.c_void_p(), ctypes.c_int(0)
    nccl.ncclGetErrorString.restype = ctypes.c_char_p

    def called(name: str, function: Callable[..., int], *args: object) -> None:
        if result := function(*args):
            raise SystemExit(f"{name}: {nccl.ncclGetErrorString(result).decode(errors='replace')}")

    called("ncclGetVersion", nccl.ncclGetVersion, ctypes.byref(version))
    called("ncclCommInitAll", nccl.ncclCommInitAll, ctypes.byref(comm), 1, ctypes.byref(device))
    called("ncclCommDestroy", nccl.ncclCommDestroy, comm)
    return {"version": version.value}


if __name__ == "__main__":
    done = load_by_nccl(sys.argv[2]) if sys.argv[1] == "nccl" else play(sys.argv[1])
    sys.stdout.write(json.dumps(done) + "\n")
