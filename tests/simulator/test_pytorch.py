"""torch.compile on the simulator, where torch is (``make corpus`` installs it): a few checks always, all in ``make corpus``."""

from __future__ import annotations

import json
import os
import re
from functools import cache

import pytest

from .conftest import HERE, ROOT, python, require, torch_environment

CHECKS = re.findall(r"^def (check_\w+)", (HERE / "pytorch_checks.py").read_text(), re.MULTILINE)
# What every run of the tests looks at; the rest takes minutes.
SAMPLE = [
    "check_a_kernel_knows_what_it_computes",
    "check_findings_name_graph_and_line",
    "check_regions_name_launches",
    "check_caches_are_apart",
    "check_everything_is_put_back",
]
CHOSEN = CHECKS if os.environ.get("PRLX_TRITON_ALL") else SAMPLE


@cache
def results(version: str) -> dict[str, str | None]:
    """What became of every check on one Triton."""
    folder = require(version)
    done = python(folder, HERE / "pytorch_checks.py", *CHOSEN, seconds=1800, **torch_environment(folder))
    assert done.returncode == 0, done.stderr
    found: dict[str, str | None] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("check", CHOSEN)
def test_pytorch(check):
    problem = results("3.9.0")[check]
    assert problem is None, problem


def test_what_the_page_shows_runs(tmp_path):
    text = (ROOT / "docs/pytorch.md").read_text()
    model, test, origin = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "model.py").write_text(model)
    (tmp_path / "use.py").write_text(
        f"{model}{test}\ntest_block()\nwith prlx.enable_pytorch() as seen:\n    model(torch.ones(1, 2, 64))\n{origin}"
    )
    folder = require("3.9.0")
    done = python(folder, "use.py", cwd=tmp_path, **torch_environment(folder))
    assert done.returncode == 0, done.stderr


def test_the_command_runs_a_script(tmp_path):
    (tmp_path / "model.py").write_text(
        "import sys\n"
        "import torch\n"
        "model = torch.compile(torch.nn.LayerNorm(50))\n"
        "print(sys.argv[1:], model(torch.ones(4, 50)).abs().max().item() < 1e-3)\n"
    )
    folder = require("3.9.0")
    words = ["-m", "prlx", "pytorch", "run", "--record", "runs", "model.py", "--steps", "1"]
    done = python(folder, *words, cwd=tmp_path, **torch_environment(folder))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("['--steps', '1'] True\n1 kernel, 1 launch, "), done.stdout
    assert "wrote runs" in done.stderr
    manifest = json.loads((tmp_path / "runs/session.json").read_text())
    assert "aten.native_layer_norm.default" in manifest["launches"][0]["origin"]["text"]


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("torch.nn.Linear(4, 4).cuda()", 1, "the script asks torch for a GPU: leave models and tensors on the CPU"),
        ("torch.nn.Linear(4, 4)(torch.ones(2, 4))", 5, "call what torch.compile returned"),
    ],
)
def test_a_script_that_launches_nothing_is_told_what_to_do(tmp_path, line, code, said):
    (tmp_path / "model.py").write_text(f"import torch\n{line}\n")
    folder = require("3.9.0")
    done = python(folder, "-m", "prlx", "pytorch", "run", "model.py", cwd=tmp_path, **torch_environment(folder))
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert "nothing was checked" in done.stdout
