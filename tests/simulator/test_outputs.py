"""Recordings say what launches wrote: the same of equal runs, in another process with other addresses, garbage and workers."""

from __future__ import annotations

import json
import os

import pytest

from .conftest import HERE, VERSIONS, python, require

SEEDS = int(os.environ.get("PRLX_OUTPUT_SEEDS", "0"))  # all of the corpus, so often; else some of it, once
SOME = ("masked", "split_k", "halves", "pointers", "atomics", "histogram", "softmax")


def outputs(version: str, process: int) -> dict[tuple[str, int], dict]:
    """What every recording of a process says, by case and seed."""
    chosen = ("--seeds", str(SEEDS)) if SEEDS else SOME
    done = python(require(version), HERE / "run_outputs.py", "--process", str(process), *chosen)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"case"')]
    return {(row["case"], row["seed"]): row["outputs"] for row in rows}


@pytest.fixture(scope="module")
def processes() -> list[dict[tuple[str, int], dict]]:
    return [outputs(VERSIONS[2], process) for process in range(2)]


def test_equal_runs_write_the_same(processes):
    first, second = processes
    assert len(first) >= len(SOME)
    different = [key for key in first if first[key] != second[key]]
    assert not different, (different, first[different[0]], second[different[0]])


def test_what_was_written_is_counted(processes):
    of = processes[0]
    (out,) = of["masked", 0]["arrays"]
    assert (out["name"], out["bytes"]) == ("out", 4 * sum(at % 3 != 1 for at in range(1000)))
    (store,) = of["masked", 0]["stores"]
    assert (store["array"], store["elements"]) == ("out", out["bytes"] // 4)
    assert of["halves", 0]["arrays"][0]["bytes"] == 10, "neighbours of 2-byte atomics are not written"
    names = [array["name"] for array in of["pointers", 0]["arrays"]]
    assert names == ["links", *(f"rows[{i}]" for i in range(6))]


CONTENTS = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import numpy as np
import kernels
import prlx

x = np.ones(5000, np.float32)
for outputs in (None, "8kB", 1 << 20):
    o = np.zeros(5000, np.float32)
    with prlx.record("a.prlx", outputs=outputs, overwrite=True) as recording:
        kernels.add[(5,)](x, x, o, 5000, BLOCK=1024)
    written = recording.simulations[0].document["recording"]["written"]
    print(written["bytes"], written["kept_bytes"], recording.read().document["losses"]["notes"])
for wrong in (-1, True, "8 lemons", 1.5):
    try:
        prlx.enable(device="simulator", output="b.prlx", outputs=wrong)
        print("taken", wrong)
    except prlx.UsageError as error:
        print(str(error).split(":")[0])
"""


def test_outputs_keeps_contents_up_to_a_size(tmp_path):
    (tmp_path / "contents.py").write_text(CONTENTS)
    done = python(require(VERSIONS[2]), "contents.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "20000 0 []",
        "20000 7168 ['the contents of 7168 of 20000 written bytes were kept']",
        "20000 20000 []",
        *["outputs"] * 4,
    ]


def test_the_command_line_keeps_contents_and_inspect_says_what_there_is(tmp_path):
    (tmp_path / "script.py").write_text(
        f"import sys\nsys.path.insert(0, {str(HERE)!r})\nimport numpy as np\nimport kernels\n"
        "kernels.add[(5,)](*np.ones((3, 5000), np.float32), 5000, BLOCK=1024)\n"
    )
    folder = require(VERSIONS[2])
    refused = python(folder, "-m", "prlx", "simulate", "--outputs", "1MB", "script.py", cwd=tmp_path)
    assert refused.returncode == 2 and "--record" in refused.stderr
    done = python(folder, "-m", "prlx", "simulate", "--record", "a.prlx", "--outputs", "1MB", "script.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = python(folder, "-m", "prlx", "inspect", "a.prlx", cwd=tmp_path)
    assert "20,000 bytes of 1 array, by 1 store; the contents of 20,000 are kept" in shown.stdout, shown.stdout
