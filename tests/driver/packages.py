"""Kernels of Liger and fla by Triton's own driver, clean and recorded, beside prlx's own driver object.

``packages.py FOLDER --journals DIR``, where FOLDER is what ``tests/simulator/packages/install.py`` filled. Each case runs four
times: launched by prlx's driver object and by Triton's over the CUDA driver of the simulator, and by either with kernels that
record by themselves. Journals keep what was run: ended, it goes on. It prints how many kernels came out with the same bits by
either driver, what did not, and what came out otherwise because it was recorded.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
from pathlib import Path

from tensors import simulated

PACKAGES = Path(__file__).resolve().parents[1] / "simulator/packages"
sys.path.append(str(PACKAGES))
from run_packages import BUILD, environment, rows_of  # noqa: E402

WAYS = ("simulator", "driver", "instrumented", "recorded")
OURS = WAYS[::2]
# Forward and backward; what takes minutes is left to tests/simulator/packages.
CASES = {
    "cases_liger": (
        "rms_norm", "layer_norm", "group_norm", "fused_add_rms_norm", "poly_norm", "dyt", "softmax", "swiglu", "geglu",
        "relu_squared", "cross_entropy", "jsd", "kl_div", "tvd", "rope", "embedding", "mm_int8int2",
    ),
    "cases_fla_modules": (
        "layer_norm", "norm_gated", "l2norm", "activations", "rotary", "token_shift", "sums", "softmax", "matmul",
        "mean_pooling", "pack",
    ),
    "cases_fla": (
        "fused_recurrent_gla", "fused_recurrent_delta_rule", "fused_recurrent_hgrn", "chunk_linear_attn",
    ),
}  # fmt: skip


def run(folder: Path, module: str, wanted: list[str], way: str, journal: Path, seconds: int) -> str:
    """Run the cases that a journal does not have in one process; the lines with which ``prlx simulate`` says what it found."""
    done = {(one["package"], one["case"]) for one in rows_of(journal)}
    cases = [case for case in wanted if (module, case) not in done]
    if not cases:
        return ""
    variables = environment((BUILD / "triton/3.9.0").resolve(), (BUILD / "torch").resolve())
    here = contextlib.nullcontext(([], variables)) if way in OURS else simulated(variables)
    words = [sys.executable, PACKAGES / "run_case.py", folder, module, *cases, "--over", way]
    with here as (before, environ), journal.open("a") as rows, contextlib.suppress(subprocess.TimeoutExpired):
        ran = subprocess.run(
            [*before, *map(str, words)],
            env=environ, stdout=rows, stderr=subprocess.PIPE, text=True, check=False, timeout=seconds,
        )  # fmt: skip
        if ran.returncode and way not in OURS:
            return "\n".join(line for line in ran.stderr.splitlines() if line.startswith(("finding", "prlx:")))[-2000:]
    return ""


def told(row: dict) -> tuple[object, ...]:
    """What of a row is the same where nothing differs."""
    return row["outcome"], row["kernels"], row["launches"], row.get("bits")


def compared(rows: dict[str, list[dict]]) -> dict[str, object]:
    """What the journals say together: a case is equal where either driver launched the same kernels and got the same bits."""
    found = {way: {(one["package"], one["case"]): one for one in rows[way]} for way in WAYS}
    ran = [key for key, one in found["simulator"].items() if one["outcome"] in ("ran", "finding")]
    missing = [key for key in ran if any(key not in found[way] for way in WAYS)]
    ran = [key for key in ran if key not in missing]
    four = {key: [found[way][key] for way in WAYS] for key in ran}
    different = {
        key: [{name: one.get(name) for name in ("outcome", "cause", "launches", "bits")} for one in four[key]]
        for key, (own, driver, instrumented, recorded) in four.items()
        if told(own) != told(driver) or told(instrumented) != told(recorded)
    }
    equal = [key for key in ran if key not in different]
    return {
        "cases": len(ran),
        "equal": len(equal),
        "kernels": len({(key[0].split("_")[1], kernel) for key in equal for kernel in four[key][0]["kernels"]}),
        "launches": sum(four[key][1]["launches"] for key in ran),
        "launches_recorded": sum(four[key][3]["recorded"] for key in ran),
        "losses": sorted({why for key in ran for why in four[key][3]["losses"]}),
        "changed_by_recording": [" ".join(key) for key in equal if four[key][0]["bits"] != four[key][2]["bits"]],
        "different": {" ".join(key): said for key, said in different.items()},
        "not_run": [" ".join(key) for key in missing],
    }


def main() -> int:
    """Run what the journals do not have, then compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--journals", type=Path, required=True)
    parser.add_argument("--seconds", type=int, default=1800, help="that the cases of a module may take in one way")
    parser.add_argument("--modules", nargs="*", default=CASES)
    parser.add_argument("--cases", nargs="*", help="only these")
    given = parser.parse_args()
    given.journals.mkdir(parents=True, exist_ok=True)
    journals = {way: given.journals / f"packages-{way}.jsonl" for way in WAYS}
    said = []
    for module in given.modules:
        for way in WAYS:
            cases = [case for case in CASES[module] if case in (given.cases or CASES[module])]
            said.append(run(given.folder.resolve(), module, cases, way, journals[way], given.seconds))
    found = compared({way: rows_of(journal) for way, journal in journals.items()}) | {
        "said": [one for one in said if one]
    }
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 1 if found["different"] or not found["kernels"] else 0


if __name__ == "__main__":
    sys.exit(main())
