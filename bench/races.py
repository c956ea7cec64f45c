"""Measures what the search for races in global memory costs: time and memory of a launch with it and without.

  python bench/races.py             two minutes; needs a Triton under build/triton (make bench installs it)
  python bench/races.py --quick     small launches: shows that everything here still runs; its figures mean nothing
  python bench/races.py --before DIR   a checkout of before, with its built extension, in turn with this one

Every launch is made in a process of its own, twice: the second is measured, in CPU time. The memory is what the process held
most beyond what it held when the arrays were there, divided by the bytes of the arrays.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
ASKED_TIMES, ASKED_BYTES = 3.0, 8.0
CASES = ("add", "add half", "softmax", "matmul", "column sums", "counter", "gather", "transpose", "100,000 blocks")


def cases(quick: bool) -> dict[str, tuple[Any, tuple[int, ...], list[Any], dict[str, Any]]]:
    """Kernel, grid, arguments and constants by name."""
    import numpy as np
    from races_kernels import add, column_sums, count_up, gather, softmax, transpose

    sys.path.insert(0, str(REPOSITORY / "tests" / "simulator"))
    from corpus import products

    n = 1 << (16 if quick else 23)
    random = np.random.default_rng(0)
    many, size, rows = (64, 128, 64) if quick else (100_000, 1024, 8192)
    a, b = (random.standard_normal((size, size)).astype(np.float16) for _ in range(2))
    x = random.standard_normal((rows, 1024)).astype(np.float32)
    ones, half = np.ones(n, np.float32), np.ones(n, np.float16)
    return {
        "add": (add, (n // 1024,), [ones, ones + 1, np.zeros(n, np.float32), n], {"BLOCK": 1024}),
        "add half": (add, (n // 1024,), [half, half, np.zeros(n, np.float16), n - 1], {"BLOCK": 1024}),
        "softmax": (softmax, (rows,), [x, np.zeros_like(x), 1024], {"BLOCK": 1024}),
        "matmul": (
            products.matmul, (size // 64, size // 64),
            [a, b, np.zeros((size, size), np.float16), *[size] * 6], {"BM": 64, "BN": 64, "BK": 32},
        ),
        "column sums": (column_sums, (rows // 8,), [x, np.zeros(1024, np.float32), 1024], {"ROWS": 8, "BLOCK": 1024}),
        "counter": (count_up, (rows,), [np.zeros(rows, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)], {}),
        "gather": (
            gather, (n // 8 // 256,),
            [ones[: n // 8], random.integers(0, n // 8, n // 8), np.zeros(n // 8, np.float32)], {"BLOCK": 256},
        ),
        "transpose": (transpose, (rows // 32, 32), [x, np.zeros((1024, rows), np.float32), rows, 1024], {"BLOCK": 32}),
        "100,000 blocks": (
            add, (many,), [*np.ones((2, many * 128), np.float32), np.zeros(many * 128, np.float32), many * 128], {"BLOCK": 128},
        ),
    }  # fmt: skip


def child(name: str, search: bool, quick: bool) -> None:
    """Measure one case and print a line of JSON."""
    import warnings

    import numpy as np

    import prlx

    warnings.filterwarnings("ignore")
    kernel, grid, arguments, constants = cases(quick)[name]
    arrays = [argument for argument in arguments if isinstance(argument, np.ndarray)]
    machine = {"progress": False, "global_races": search}
    prlx.simulate(kernel, (1,), *arguments, machine=machine, **constants)
    if name == "counter":
        arrays[1][:] = 0
    before, spent = resident("VmRSS"), time.process_time()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak is what is resident now
    done = prlx.simulate(kernel, grid, *arguments, machine=machine, **constants)
    spent = time.process_time() - spent
    held = resident("VmHWM") - before
    print(json.dumps({
        "cpu_s": spent, "held": held, "bytes": sum(array.nbytes for array in arrays),
        "findings": [str(finding) for finding in done.findings],
    }))  # fmt: skip


def resident(field: str) -> int:
    """Bytes of memory that the process holds (``VmRSS``), or held at its peak (``VmHWM``)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def measured(name: str, search: bool, quick: bool, root: Path = REPOSITORY) -> dict[str, Any]:
    """What a process of its own says of a case."""
    folders = [path for path in (REPOSITORY / "build" / "triton").glob("3.*") if (path / "triton").is_dir()]
    if not folders:
        raise SystemExit("no Triton under build/triton: make bench installs it")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, [root / "python", max(folders)])),
        "TRITON_CACHE_DIR": str(REPOSITORY / "build" / "triton" / "cache" / "bench"),
        "TRITON_DEFAULT_FP_FUSION": "1",
    }
    command = [
        sys.executable,
        str(REPOSITORY / "bench" / "races.py"),
        "--child",
        name,
        *["--search"] * search,
        *["--quick"] * quick,
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=900)
    if done.returncode != 0:
        raise SystemExit(f"{name} failed:\n{done.stderr[-2000:]}")
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--before", type=Path, metavar="DIR")
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--search", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, arguments.search, arguments.quick)
        return
    roots = {"now": REPOSITORY, **({"before": arguments.before} if arguments.before else {})}
    for name in [arguments.only] if arguments.only else CASES:
        for which, root in roots.items():
            without, found = (measured(name, search, arguments.quick, root) for search in (False, True))
            times = found["cpu_s"] / without["cpu_s"]
            per_byte = max(found["held"] - without["held"], 0) / found["bytes"]
            met = times <= ASKED_TIMES and per_byte <= ASKED_BYTES
            size, before_s, after_s = found["bytes"] / 1e6, without["cpu_s"], found["cpu_s"]
            print(
                f"{name:16} {which:6} {size:6.1f} MB  {before_s:7.3f} -> {after_s:7.3f} s CPU, {times:5.2f} times; "
                f"{per_byte:5.1f} bytes a byte; {len(found['findings'])} findings"
                + ("" if met or which == "before" or arguments.quick else "  MISSED"),
                flush=True,
            )


if __name__ == "__main__":
    main()
