"""Measures what recording over a driver costs the thread that launches, beside a driver that launches nothing.

  python bench/recording.py           some minutes; needs a Triton under build/triton (make bench installs it) and a C compiler
  python bench/recording.py --quick   few launches: shows that everything here still runs; its figures mean nothing
  python bench/recording.py --before DIR   a checkout of before, with its built extension: its launches in turn with these

The driver is libcuda of the simulator, whose launches return at once. A launch of a kernel with three tensors is timed
from its call to its return, 10,000 times in bursts of 100; the median counts, less the median of launches that nobody
records. Between bursts, outside of what is timed, everything that was recorded is written, so there are arenas for a
burst. Likewise of launches that are a millisecond apart, when all that a launch needs has left the caches: a tenth as
many. Part of that any launch pays: what was recorded before it is written on the same processors, and takes the caches.
So launches of a kernel that is left out are timed there, too, each behind one that is recorded. Launches behind a
loop that touches nothing, or a sleep, while nothing is written, tell apart what of it is caches. Also: how long a launch
takes in all, recorded and written, one after another; and importing the hooks.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
# What was asked of each, microseconds beyond a launch that nobody records
ASKED_US = {"recorded, no digests of memory": 20.0, "recorded": 40.0, "left out by a filter": 2.0}
ASKED_IMPORT_MS = 30.0
_BURST = 100
# What the thread does before each launch, and for how long: nothing is written meanwhile
_BETWEEN = {"20 us of a loop": 20e-6, "1 ms of a loop": 1e-3, "1 ms asleep": 1e-3}

_NULL = """
int cuLaunchKernel(void) { return 0; }
int cuLaunchKernelEx(void) { return 0; }
"""
_HOOKS = "prlx.hooks.gpu", "prlx.hooks.instrument", "prlx.hooks.parameters", "prlx.hooks.inductor_settings"
_IMPORT = f"""
import time, prlx
from importlib import import_module
begin = time.perf_counter()
for name in {_HOOKS!r}: import_module(name)
print(time.perf_counter() - begin)
"""


class Tensor:
    """Memory of the device as kernels are given it, with what a tensor of torch says of itself."""

    def __init__(self, cuda: Any, count: int) -> None:
        import ctypes

        at = ctypes.c_uint64()
        assert cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(4 * count)) == 0
        self._at, self.shape, self.dtype, self._bytes = at.value, (count,), "float32", 4 * count

    def data_ptr(self) -> int:
        return self._at

    def stride(self) -> tuple[int]:
        return (1,)

    def untyped_storage(self) -> Tensor:
        return self

    def nbytes(self) -> int:
        return self._bytes


def layered_driver(driver: Path, folder: Path, text: str) -> None:
    """A libcuda.so.1 in a folder that is another one, called libcudb.so.1, but for what a text in C has functions for."""
    under = folder / "libcudb.so.1"
    under.write_bytes((driver / "libcuda.so.1").read_bytes().replace(b"libcuda.so.1\0", under.name.encode() + b"\0"))
    source = folder / "layer.c"
    source.write_text(text)
    words = ["cc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN"]
    subprocess.run([*words, source, under, "-o", folder / "libcuda.so.1"], check=True)


def launches(count: int) -> dict[str, float]:
    """The median of each way to launch, in seconds: run where the driver is the null driver."""
    import ctypes

    import triton
    import triton.language as tl

    import prlx
    from prlx import _arenas

    _arenas.MOST = _BURST + 1
    _arenas._LOOK_S = 0.05  # what is timed is the thread that launches, while the one that writes waits

    @triton.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):  # noqa: N803
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

    @triton.jit
    def plus(x, y, out, n, BLOCK: tl.constexpr):  # noqa: N803
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

    cuda = ctypes.CDLL("libcuda.so.1")
    triton.runtime.driver.active.get_current_device()
    x, y, out = (Tensor(cuda, 4096) for _ in range(3))

    def median(settle: Any = None, n: int = count, burst: int = _BURST, kernel: Any = add) -> float:
        found, grid = [], (4,)
        for i in range(1, n + 1):
            begin = time.perf_counter()
            kernel[grid](x, y, out, 4096, BLOCK=1024)
            found.append(time.perf_counter() - begin)
            if settle is not None and i % burst == 0:
                settle()
        return statistics.median(found)

    def apart(settle: Any = None) -> float:
        def wait() -> None:
            if settle is not None:
                settle()
            time.sleep(0.001)

        return median(wait, n=count // 10, burst=1)

    def behind(settle: Any) -> float:
        def record() -> None:
            add[(4,)](x, y, out, 4096, BLOCK=1024)
            settle()
            time.sleep(0.001)

        return median(record, n=count // 10, burst=1, kernel=plus)

    def spaced(settle: Any = None) -> dict[str, float]:
        """By what the thread does between launches. What was recorded is written after each burst, never between."""
        found: dict[str, list[float]] = {name: [] for name in _BETWEEN}
        for name in [name for _ in range(max(count // 1000, 1)) for name in _BETWEEN]:
            for _ in range(_BURST):
                end, begin = time.perf_counter() + _BETWEEN[name], time.perf_counter()
                if name.endswith("asleep"):
                    time.sleep(_BETWEEN[name])
                while begin < end:
                    begin = time.perf_counter()
                add[(4,)](x, y, out, 4096, BLOCK=1024)
                found[name].append(time.perf_counter() - begin)
            if settle is not None:
                settle()
        return {name: statistics.median(times) for name, times in found.items()}

    median(n=100)
    median(n=100, kernel=plus)
    said = {"clean": median(), "clean, apart": apart()}
    said |= {f"clean, {name}": took for name, took in spaced().items()}
    for name, told in (
        ("recorded, no digests of memory", {"contents_after": False, "filter": "add"}),
        ("recorded", {"filter": "add"}),
        ("left out by a filter", {"filter": "nothing"}),
    ):
        with tempfile.TemporaryDirectory() as folder:
            try:
                recording = prlx.enable(device="gpu", output=f"{folder}/r", sources=False, **told)
            except TypeError:  # of before: there were no digests
                continue
            with recording:
                settle = recording._gpu.drain.settle
                median(settle, n=100)
                said[name] = median(settle)
                begin = time.perf_counter()
                median(n=100)
                settle()
                said[f"{name}, in all"] = (time.perf_counter() - begin) / 100
                said[f"{name}, apart"] = apart(settle)
                said |= {f"{name}, {how}": took for how, took in spaced(settle).items()}
                median(settle, n=100, kernel=plus)
                said[f"{name}, behind"] = behind(settle)
                expected = count + 2 * (count // 10) + 200 + len(_BETWEEN) * max(count // 1000, 1) * _BURST
                expected = 0 if told["filter"] == "nothing" else expected
                assert (recording.recorded, recording.losses) == (expected, {}), recording.losses
    return said


def measured(checkout: Path, triton: Path, count: int) -> dict[str, float]:
    """The medians of a checkout, of before or of now."""
    code = (
        f"import json, os, pathlib, sys; sys.path.insert(0, {str(checkout / 'python')!r}); from prlx import _program\n"
    )
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "null").mkdir()
        code += f"print(json.dumps([str(_program.DRIVER), _program.environment(pathlib.Path({made!r}), os.environ)]))"
        said = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)
        driver, environ = json.loads(said.stdout)
        layered_driver(Path(driver), folder / "null", _NULL)
        environ |= {
            "LD_LIBRARY_PATH": os.pathsep.join([str(folder / "null"), environ["LD_LIBRARY_PATH"]]),
            "TRITON_CACHE_DIR": str(folder / "cache"),
            "PYTHONPATH": os.pathsep.join([str(checkout / "python"), str(triton)]),
            "PRLX_ARENA": "1MB",
        }
        words = [sys.executable, "-W", "ignore", __file__, "--launches", str(count)]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, env=environ)
        found: dict[str, float] = json.loads(done.stdout)
    return found


def import_ms(times: int) -> float:
    """How long importing the hooks takes, beyond prlx itself."""
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY / "python")}
    words = [sys.executable, "-c", _IMPORT]
    runs = (subprocess.run(words, check=True, stdout=subprocess.PIPE, env=environ) for _ in range(times))
    return 1e3 * statistics.median(float(run.stdout) for run in runs)


def _pair(how: str, clean: float, recorded: float) -> str:
    return f"behind {how} {clean:.1f} us clean, {recorded:.1f} us"


def main() -> int:
    """Print the table; 1 where something costs more than was asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few launches; the figures mean nothing")
    parser.add_argument("--before", type=Path, help="a checkout of before, with its built extension")
    parser.add_argument("--launches", type=int, help=argparse.SUPPRESS)
    values = parser.parse_args()
    if values.launches:
        print(json.dumps(launches(values.launches)))
        return 0
    versions = sorted(path for path in (REPOSITORY / "build/triton").glob("*") if (path / "triton").is_dir())
    if not versions:
        print("no Triton under build/triton: make bench installs one", file=sys.stderr)
        return 2
    count = 50 if values.quick else 10_000
    now = measured(REPOSITORY, versions[-1], count)
    before = {} if values.before is None else measured(values.before, versions[-1], count)
    over = False
    print(
        f"a launch that nobody records: {1e6 * now['clean']:.1f} us, {1e6 * now['clean, apart']:.1f} apart;"
        f" {count:,} launches, medians"
    )
    for name, asked in ASKED_US.items():
        took = 1e6 * (now[name] - now["clean"])
        over = over or took > asked
        later, left_out = (1e6 * (now[f"{name}, {how}"] - now["clean, apart"]) for how in ("apart", "behind"))
        print(
            f"{name}: {took:.1f} us more (asked: {asked:.0f}), {later:.1f} apart, where a launch that is left out takes"
            f" {left_out:.1f} more; {1e6 * now[f'{name}, in all']:.0f} us in all"
        )
        parts = ((how, (1e6 * now[f"{who}, {how}"] for who in ("clean", name))) for how in _BETWEEN)
        print("    whole launches, nothing written between: " + "; ".join(_pair(how, *two) for how, two in parts))
        if name in before:
            took, later = (1e6 * (before[name + of] - before["clean" + of]) for of in ("", ", apart"))
            print(f"    before: {took:.1f} us more, {later:.1f} apart")
    took = import_ms(3 if values.quick else 25)
    print(f"importing the hooks: {took:.1f} ms (asked: {ASKED_IMPORT_MS:.0f})")
    return int((over or took > ASKED_IMPORT_MS) and not values.quick)


if __name__ == "__main__":
    sys.exit(main())
