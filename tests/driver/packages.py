"""Kernels of Liger and fla by Triton's own driver, clean and recorded, beside prlx's own driver object.

``packages.py FOLDER --journals DIR``, where FOLDER is what ``tests/simulator/packages/install.py`` filled. Each case runs three
times: launched by prlx's driver object, by Triton's over the CUDA driver of the simulator, and so again with kernels that
record by themselves. Journals keep what was run: ended, it goes on. It prints how many kernels came out with the same bits, and
what did not.
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

WAYS = ("simulator", "driver", "recorded")
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


def run(folder: Path, module: str, way: str, journal: Path, seconds: int) -> str:
    """Run the cases that a journal does not have in one process; the lines with which ``prlx simulate`` says what it found."""
    done = {(one["package"], one["case"]) for one in rows_of(journal)}
    cases = [case for case in CASES[module] if (module, case) not in done]
    if not cases:
        return ""
    variables = environment((BUILD / "triton/3.9.0").resolve(), (BUILD / "torch").resolve())
    here = contextlib.nullcontext(([], variables)) if way == "simulator" else simulated(variables)
    words = [sys.executable, PACKAGES / "run_case.py", folder, module, *cases, "--over", way]
    with here as (before, environ), journal.open("a") as rows, contextlib.suppress(subprocess.TimeoutExpired):
        ran = subprocess.run(
            [*before, *map(str, words)],
            env=environ, stdout=rows, stderr=subprocess.PIPE, text=True, check=False, timeout=seconds,
        )  # fmt: skip
        if ran.returncode and way != "simulator":
            return "\n".join(line for line in ran.stderr.splitlines() if line.startswith(("finding", "prlx:")))[-2000:]
    return ""


def compared(rows: dict[str, list[dict]]) -> dict[str, object]:
    """What the journals say together: a case is equal that ran in all three ways with the same kernels and the same bits."""
    found = {way: {(one["package"], one["case"]): one for one in rows[way]} for way in WAYS}
    ran = [key for key, one in found["simulator"].items() if one["outcome"] in ("ran", "finding")]
    missing = [key for key in ran if any(key not in found[way] for way in WAYS)]
    ran = [key for key in ran if key not in missing]
    different = {}
    for key in ran:
        own, *others = (found[way][key] for way in WAYS)
        if any(
            [one[what] for what in ("outcome", "kernels")] + [one.get("bits")]
            != [own["outcome"], own["kernels"], own["bits"]]
            for one in others
        ):
            different[" ".join(key)] = [
                {name: one.get(name) for name in ("outcome", "cause", "bits")} for one in (own, *others)
            ]
    equal = [key for key in ran if " ".join(key) not in different]
    recorded = [found["recorded"][key] for key in ran]
    return {
        "cases": len(ran),
        "equal": len(equal),
        "kernels": len(
            {(key[0].split("_")[1], kernel) for key in equal for kernel in found["simulator"][key]["kernels"]}
        ),
        "launches": sum(found["driver"][key]["launches"] for key in ran),
        "launches_recorded": sum(one["recorded"] for one in recorded),
        "losses": sorted({why for one in recorded for why in one["losses"]}),
        "different": different,
        "not_run": [" ".join(key) for key in missing],
    }


def main() -> int:
    """Run what the journals do not have, then compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--journals", type=Path, required=True)
    parser.add_argument("--seconds", type=int, default=1800, help="that the cases of a module may take in one way")
    parser.add_argument("--modules", nargs="*", default=CASES)
    given = parser.parse_args()
    given.journals.mkdir(parents=True, exist_ok=True)
    journals = {way: given.journals / f"packages-{way}.jsonl" for way in WAYS}
    said = []
    for module in given.modules:
        for way in WAYS:
            said.append(run(given.folder.resolve(), module, way, journals[way], given.seconds))
    found = compared({way: rows_of(journal) for way, journal in journals.items()}) | {
        "said": [one for one in said if one]
    }
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 1 if found["different"] or not found["kernels"] else 0


if __name__ == "__main__":
    sys.exit(main())
