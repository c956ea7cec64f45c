"""Compiles the kernels of the corpus to LLVM IR with the Triton on the path, for GPUs that are not there.

PYTHONPATH=build/triton/3.9.0 python tests/llir/compile.py [--every] [--only NAME,NAME] [--targets sm_90,gfx942] DIRECTORY

Writes NAME.TARGET.ll, the text that Triton's next stage gets, and NAME.TARGET.json, what else that stage needs. What is
there already stays. Prints one JSON document a kernel and target.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from cases import CASES, Case, chosen


class PrintedError(Exception):
    """The text is there: later stages are not wanted."""


def target(name: str) -> Any:
    """What Triton calls a target."""
    from triton.backends.compiler import GPUTarget

    if name.startswith("sm_"):
        return GPUTarget("cuda", int(name[3:]), 32)
    return GPUTarget("hip", name, 64 if name.startswith("gfx9") else 32)


def source(case: Case, name: str) -> Any:
    """A kernel with its arguments, as Triton's compiler takes it."""
    module = importlib.import_module("gluon_kernels" if case.gluon else "kernels")
    constants = dict(case.constants)
    if case.gluon and case.kernel != "gluon_parted":
        constants["LANES"] = target(name).warp_size
    if "ACC" in constants:
        import triton.language as tl

        constants["ACC"] = getattr(tl, constants["ACC"].removeprefix("tl."))
    signature = {**case.signature, **dict.fromkeys(constants, "constexpr")}
    kernel = getattr(module, case.kernel)
    order = {n: signature[n] for n in kernel.arg_names}
    whole = {
        (i,): [["tt.divisibility", 16]] for i, ty in enumerate(order.values()) if ty[0] == "*" or ty in ("i32", "i64")
    }
    if case.kernel in ("branches", "calls", "two_d", "gluon_turned"):
        whole = {at: kept for at, kept in whole.items() if list(order.values())[at[0]][0] == "*"}
    if case.gluon:
        from triton.experimental.gluon._runtime import GluonASTSource

        return GluonASTSource(kernel, order, constants, whole)
    from triton.compiler import ASTSource

    return ASTSource(kernel, order, constants, whole)


def printed(case: Case, name: str) -> tuple[str, dict[str, Any]]:
    """The LLVM IR of a kernel, and its metadata."""
    import triton
    from triton.compiler.compiler import make_backend

    made = source(case, name)
    found: list[Any] = []
    kind = type(make_backend(target(name)))
    before = kind.add_stages

    def add_stages(backend: Any, stages: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        before(backend, stages, *args, **kwargs)

        def stop(text: str, metadata: dict[str, Any]) -> None:
            found.extend((text, metadata))
            raise PrintedError

        stages["ptx" if "ptx" in stages else "amdgcn"] = stop

    kind.add_stages = add_stages
    try:
        triton.compile(made, target=target(name), options=dict(case.options))
    except PrintedError:
        pass
    finally:
        kind.add_stages = before
    return found[0], found[1]


def plain(metadata: dict[str, Any]) -> dict[str, Any]:
    """What of the metadata is JSON."""
    return {key: value for key, value in metadata.items() if isinstance(value, (str, int, float, bool, type(None)))}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--every", action="store_true", help="every target of every kernel")
    parser.add_argument("--only", default="")
    parser.add_argument("--targets", default="")
    options = parser.parse_args()
    import triton

    options.directory.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name, gpu in chosen(triton.__version__, options.every):
        if (options.only and name not in options.only.split(",")) or (
            options.targets and gpu not in options.targets.split(",")
        ):
            continue
        file = options.directory / f"{name}.{gpu}.ll"
        if file.exists():
            continue
        started = time.perf_counter()
        told: dict[str, Any] = {"case": name, "target": gpu}
        try:
            text, metadata = printed(CASES[name], gpu)
            file.with_suffix(".json").write_text(
                json.dumps({"options": CASES[name].options, "metadata": plain(metadata), "gluon": CASES[name].gluon})
            )
            file.write_text(text)
            told.update(bytes=len(text), seconds=round(time.perf_counter() - started, 2))
        except Exception as error:
            failed += 1
            told["error"] = f"{type(error).__name__}: {error}"[:300]
        print(json.dumps(told), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
