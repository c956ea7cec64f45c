"""Compiles kernels of the corpus for many GPUs, makes them record, and assembles both with Triton's own last stages.

PYTHONPATH=build/triton/3.9.0 python run_assembly.py [--targets sm_90,gfx942] [--keep DIRECTORY] NAME...

Prints one JSON document a kernel and target: sites, registers and spills before and after, bytes of text. Needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import prlx
from prlx import _core

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")
TARGETS = ("sm_80", "sm_90", "sm_100", "sm_120", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
COUNTS = ("vgpr_count", "sgpr_count", "vgpr_spill_count", "sgpr_spill_count")


def target(name: str) -> Any:
    from triton.backends.compiler import GPUTarget

    if name.startswith("sm_"):
        return GPUTarget("cuda", int(name[3:]), 32)
    return GPUTarget("hip", name, 64 if name.startswith("gfx9") else 32)


def stages(name: str, options: Any) -> tuple[Any, dict[str, Any]]:
    """What Triton does after it printed LLVM IR."""
    from triton.backends.compiler import Language
    from triton.compiler.compiler import make_backend

    backend = make_backend(target(name))
    found: dict[str, Any] = {}
    backend.add_stages(found, backend.parse_options(options), Language.TRITON)
    return backend, found


def assembled(name: str, text: str, options: Any) -> dict[str, Any]:
    """Registers and spills of a kernel from its LLVM IR."""
    _, found = stages(name, options)
    metadata: dict[str, Any] = {"shared": 0}
    if name.startswith("gfx"):
        code = found["amdgcn"](text, metadata)
        found["hsaco"](code, metadata)
        counts = [int(m[1]) if (m := re.search(rf"\.{c}:\s+(\d+)", code)) else 0 for c in COUNTS]
        dims = [re.search(rf"amdhsa_system_sgpr_workgroup_id_{c} (\d)", code) for c in "xyz"]
        asked = all(m is not None and m[1] == "1" for m in dims)
        return counted(counts[0], counts[2] + counts[3], code, ".amdhsa_kernel ", told=asked)
    ptx = found["ptx"](text, metadata)
    log = ptxas(name, ptx)
    used = [int(n) for n in re.findall(r"Used (\d+) registers", log)]
    spilled = [int(n) for n in re.findall(r"(\d+) bytes spill", log)]
    return counted(max(used), sum(spilled), ptx, ".entry ", told=True)


def counted(registers: int, spills: int, text: str, entry: str, *, told: bool) -> dict[str, Any]:
    """``told``: whether the kernel gets the number of its block, which AMD kernels have to ask for."""
    entries = text.count(entry)
    return {"registers": registers, "spills": spills, "entries": entries, "told": told, "bytes": len(text)}


def ptxas(name: str, ptx: str) -> str:
    """What the assembler that Triton brings says of a kernel."""
    import triton

    folder = Path(triton.__file__).parent / "backends/nvidia/bin"
    blackwell = folder / "ptxas-blackwell"
    newer = float(re.search(r"\.version (\S+)", ptx)[1]) > 8.8  # type: ignore[index]
    tool = blackwell if blackwell.exists() and (newer or int(name[3:]) >= 100) else folder / "ptxas"
    architecture = re.search(r"\.target (\w+)", ptx)[1]  # type: ignore[index]
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        words = [tool, "-v", f"--gpu-name={architecture}", file.name, "-o", "/dev/null"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-500:])
    return done.stderr


def row(case: Any, name: str, number: int, keep: Path | None) -> dict[str, Any]:
    import triton

    driver = triton.runtime.driver.active
    driver.get_current_target = lambda: target(name)
    driver.get_current_device = lambda: number
    arrays = case.arrays(np.random.default_rng(0))
    kernel = case.kernel.warmup(**arrays, **case.scalars, **case.constants, **case.options, grid=case.grid)
    options = {"num_warps": kernel.metadata.num_warps}
    text = kernel.asm["llir"]
    made = _core.call("instrument", {"text": text})
    if keep is not None:
        for kind, written in (("clean", text), ("made", made["text"])):
            (keep / f"{case.name}.{name}.{kind}.ll").write_text(written)
    told = {"case": case.name, "target": name, "sites": made["sites"], "warning": made["warning"]}
    if not made["sites"]:
        return told
    return {**told, "before": assembled(name, text, options), "after": assembled(name, made["text"], options)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    from corpus import CASES
    from triton._C.libtriton import llvm

    llvm.init_targets()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    with prlx.enable(device="simulator", progress=False):
        for number, name in enumerate(options.targets.split(",")):
            for case in options.names or CASES:
                try:
                    told = row(CASES[case], name, (1 << 30) + number, options.keep)
                except Exception as error:
                    told = {"case": case, "target": name, "error": f"{type(error).__name__}: {error}"[:500]}
                print(json.dumps(told), flush=True)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
