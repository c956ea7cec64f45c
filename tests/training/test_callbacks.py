"""The monitor as a callback: with Hugging Face's trainer and with Lightning's, where ``build/trainers`` has them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import prlx

from .conftest import HERE, ROOT

TRAINERS = ROOT / "build/trainers"


@pytest.fixture
def train(torch_environment, tmp_path):
    """Trains with one of the trainers; without them the test is skipped."""
    if not (TRAINERS / ".ready").is_file():
        pytest.skip(f"no transformers and no Lightning under {TRAINERS}: make build/trainers/.ready installs them")
    path = os.pathsep.join((torch_environment["PYTHONPATH"], str(TRAINERS)))
    environment = {**torch_environment, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}

    def run(name, *words):
        command = [
            sys.executable,
            "-W",
            "ignore",
            str(HERE / "programs.py"),
            f"callbacks.{name}",
            "w",
            *map(str, words),
        ]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.mark.parametrize("name", ["hugging_face", "lightning"])
@pytest.mark.parametrize("passes", [1, 2])
def test_a_step_that_turns_nan_is_found_with_its_maker(train, name, passes):
    done = train(name, 6, passes)
    step, kind, maker = done["anomalies"][0]
    assert (step, kind) == (6, "loss-not-finite")
    assert maker.startswith("step 6, forward: aten.log.default in ")
    assert "callbacks.py:" in maker
    assert done["text"].startswith("<TrainingMonitor: 9 steps")
    assert (done["running"], done["hooks"]) == (False, 0)


@pytest.mark.parametrize("name", ["hugging_face", "lightning"])
def test_a_right_training_is_not_disturbed(train, name):
    done = train(name, 99, 1)
    assert done["anomalies"] == []
    assert done["text"].startswith("<TrainingMonitor: 9 steps")


def test_a_trainer_that_is_not_there_is_named(tmp_path, monkeypatch):
    for name in ("transformers", "lightning", "lightning.pytorch", "pytorch_lightning"):
        monkeypatch.setitem(sys.modules, name, None)
    monitor = prlx.TrainingMonitor(tmp_path)
    with pytest.raises(prlx.UsageError, match="transformers"):
        monitor.hugging_face()
    with pytest.raises(prlx.UsageError, match="Lightning"):
        monitor.lightning()


def test_losses_of_several_passes_are_one_step(tmp_path):
    from prlx._callbacks import Losses

    monitor = prlx.TrainingMonitor(tmp_path)
    told = []
    monitor.step = told.append
    losses = Losses(monitor)
    losses.end()
    for first, second in ((1.0, 3.0), (5.0, None)):
        losses.begin(None)
        losses.add(first)
        losses.add(second)
        losses.end()
    assert (told, monitor.running) == ([2.0, 5.0], True)
    monitor.close()
