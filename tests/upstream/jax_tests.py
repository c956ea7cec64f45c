"""JAX's own tests of Pallas over Triton, on the simulator: `jax_tests.py FOLDER OUT.json [pytest arguments]`.

FOLDER is `tests/pallas` of a checkout of JAX, whose version should be near the installed one. Beside JAX it takes Triton,
pytest, absl-py and hypothesis. The tests ask for a GPU of capability 8.0, and are told that there is one.
Every `pallas_call` of theirs is lowered on the CPU to a call of the simulator.
"""

import json
import sys
import warnings
from pathlib import Path

import jax
import pytest
from jax._src import test_util as jtu
from jax._src.interpreters import mlir
from jax._src.pallas.pallas_call import pallas_call_p

from prlx import _pallas
from prlx._launching import Options
from prlx._simulated import Run
from prlx.hooks import pallas

FILES = (
    "triton_pallas_test.py", "gpu_ops_test.py", "gpu_paged_attention_test.py", "gpu_attention_test.py", "pallas_vmap_test.py",
)  # fmt: skip
seen = Run("own tests", noun="tests")


def lowering(ctx, *nodes, **parameters):
    """A kernel that JAX interprets goes the way it went; others are called back."""
    if parameters["interpret"]:
        return before(ctx, *nodes, **parameters)
    call = pallas.Call(parameters, tuple(map(pallas.shape, ctx.avals_in)), tuple(map(pallas.shape, ctx.avals_out)))
    pallas.compiled(call)  # what cannot be compiled is said where JAX says it

    def run(*arrays):
        runner = _pallas.Runner(seen, Options(), {}, lambda _: None)
        return tuple(runner.run(call, arrays))

    function = lambda *given: list(jax.pure_callback(run, call.returns, *given))  # noqa: E731
    return mlir.lower_fun(function, multiple_results=True)(ctx, *nodes)


class Results:
    """Counts how each test ended."""

    def __init__(self) -> None:
        self.rows: dict[str, str] = {}

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.rpartition("/")[2]
        if report.skipped:
            self.rows[name] = f"skipped: {report.longrepr[2]}"
        elif report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.rows[name] = f"failed: {report.longrepr if crash is None else crash.message[:300]}"
        elif report.when == "call":
            self.rows[name] = "passed"


before = mlir._platform_specific_lowerings["cpu"].get(pallas_call_p) or mlir._lowerings[pallas_call_p]
before = getattr(before, "rule", before)
mlir.register_lowering(pallas_call_p, lowering, platform="cpu")
jtu.test_device_matches = lambda wanted: bool({"gpu", "cuda"} & set(wanted))
jtu.is_cuda_compute_capability_at_least = lambda wanted: float(wanted) <= 8.0
jtu.is_cuda_compute_capability_equal = lambda wanted: wanted == "8.0"
warnings.simplefilter("ignore")

if __name__ == "__main__":
    folder, out, *options = sys.argv[1:]
    results = Results()
    files = [str(Path(folder) / name) for name in FILES]
    chosen = [one for one in options if one.endswith(".py") or "::" in one] or files
    others = [one for one in options if one not in chosen]
    pytest.main(["-q", "-p", "no:cacheprovider", *chosen, *others], plugins=[results])
    Path(out).write_text(json.dumps(results.rows, indent=1))
    kinds = ("passed", "failed", "skipped")
    ended = {kind: sum(row.startswith(kind) for row in results.rows.values()) for kind in kinds}
    document = seen.document(recording=None, status=0)
    print(ended, document["launches"], "launches,", len(document["findings"]), "findings")
    for found in document["findings"]:
        print(found["kernel"], found["check"], found.get("file", ""), found.get("line", 0), found["message"][:160])
