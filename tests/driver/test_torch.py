"""A build of torch for CUDA as it is, over the driver and the runtime of the simulator: programs that say ``device="cuda"``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.driver.test_program import HERE, TRITON, simulate

TORCH = TRITON.parent / "torch"
REFUSED = {  # by torch on a real device as well, but for the first
    "sparse.mm.reduce",
    "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu",
    "tensor_split",
    "histogram",
    "histogramdd",
}


def environment(version="3.9.0"):
    if not (TORCH / "torch").is_dir():
        if os.environ.get("CI") == "true":
            pytest.fail("no torch: make build/torch/.ready installs it")
        pytest.skip("no torch (make build/torch/.ready)")
    path = os.pathsep.join(map(str, (TORCH, TRITON / version)))
    return {"PYTHONPATH": path, "LD_LIBRARY_PATH": str(TORCH / "stubs"), "TRITON_DEFAULT_FP_FUSION": "1"}


def on_the_cpu(*words):
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        env={**os.environ, **environment()},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("compiled", [[], ["compile"]], ids=["eager", "compiled"])
def test_a_script_for_a_gpu_trains_as_on_the_cpu(compiled, tmp_path):
    if compiled and not (TRITON / "3.9.0" / "triton").is_dir():
        pytest.skip("no Triton 3.9.0")
    script = HERE / "torch_training.py"
    done = simulate(
        "--json", "--", sys.executable, "-W", "ignore", script, *compiled, cwd=tmp_path, check=False, **environment()
    )
    report = json.loads(done.stdout)
    assert (report["exit_status"], report["findings"]) == (0, []), done.stderr[-2000:]
    assert done.returncode == (0 if compiled else 5)  # without a kernel nothing was checked
    (line,) = [line for line in done.stderr.splitlines() if line.startswith('{"fp32"')]
    seen, want = json.loads(line), on_the_cpu("-W", "ignore", script, "cpu")
    assert seen["fp32"] == pytest.approx(want["fp32"], rel=1e-4)
    assert seen["bf16"] == pytest.approx(want["bf16"], rel=2e-2)
    assert seen["recurrent"] == pytest.approx(want["recurrent"], rel=1e-4, abs=1e-3)
    assert seen["saved"] is True
    own = seen["own"]
    assert own["random"] == [True, True, True]
    assert (own["thread"], own["grown"], own["strided"]) == ([[3.0, 3.0, 3.0]], [3.0, 3.0, 3.0], 32.0)
    assert (own["half"][0], own["half"][2]) == ("torch.float16", "torch.float32")
    assert own["half"][1] < 1e-3
    assert own["rounded"] < 0.1  # the CPU's own sums of halves are 0.4 off
    assert own["refused"].startswith("aten::_flash_attention_forward is machine code of torch and has no twin")
    assert own["shown"] == "tensor([2., 2., 2.], device='cuda:0')"
    assert "operators of torch that the simulator's device refused: aten::_flash_attention_forward" in done.stderr
    assert bool(report["kernels"]) == bool(compiled)
    if compiled:
        assert seen["compiled"]
        assert all(seen["compiled"])


def test_an_access_one_element_beyond_a_tensor_is_named(tmp_path):
    script = HERE / "torch_overrun.py"
    done = simulate("--json", "--", sys.executable, "-W", "ignore", script, cwd=tmp_path, check=False, **environment())
    (found,) = json.loads(done.stdout)["findings"]
    line = 1 + next(i for i, text in enumerate(script.read_text().splitlines()) if "without its mask" in text)
    assert (found["check"], Path(found["file"]).name, found["line"]) == ("out-of-bounds", script.name, line)
    assert "4 bytes beyond the end of allocation 0 (4092 bytes)" in found["message"]
    assert "Triton Error [CUDA]: out-of-bounds torch_overrun.py" in done.stderr


def test_operators_of_torchs_own_list_are_right_or_refused(tmp_path):
    done = simulate(
        "--json",
        "--",
        sys.executable,
        "-W",
        "ignore",
        HERE / "torch_operators.py",
        cwd=tmp_path,
        check=False,
        **environment(),
    )
    (line,) = [line for line in done.stderr.splitlines() if line.startswith('{"right"')]
    seen = json.loads(line)
    assert seen["wrong"] == {}
    assert set(seen["refused"]) == REFUSED
    assert len(seen["right"]) >= 640


TUTORIALS = {  # of Triton, that need no newer GPU, with the launches that they make
    "01-vector-add": 1,
    "02-fused-softmax": 1,
    "03-matrix-multiplication": 218,
    "04-low-memory-dropout": 4,
    "05-layer-norm": 3,
    "08-grouped-gemm": 49,
}


@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorials_of_triton_run_unchanged(name, tmp_path):
    named = os.environ.get("PRLX_TRITON_TESTS")
    found = [one for one in ("3.9.0", "3.8.0") if named and (Path(named) / one / "python" / "tutorials").is_dir()]
    if not found:
        pytest.skip(f"PRLX_TRITON_TESTS names no checkout of Triton: {len(TUTORIALS)} tutorials are not tried")
    sources = Path(named) / found[0] / "python" / "tutorials"
    words = ["--json", "--", sys.executable, "-W", "ignore", HERE / "tutorial.py", sources / f"{name}.py"]
    done = simulate(*words, cwd=tmp_path, check=False, **environment(found[0]))
    report = json.loads(done.stdout)
    assert (report["exit_status"], report["findings"], report["refused"]) == (0, [], []), done.stderr[-2000:]
    assert report["launches"] == TUTORIALS[name]
