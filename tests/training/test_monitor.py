"""The monitor: what it calls an anomaly, and what it keeps of one."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest

import prlx
from training.conftest import HERE


def found(folder, losses, **settings):
    """The anomalies of a list of losses."""
    with prlx.TrainingMonitor(folder, **settings) as monitor:
        for loss in losses:
            monitor.step(loss)
    return [(each.step, each.kind) for each in monitor.anomalies]


def test_what_is_an_anomaly(tmp_path):
    falling = [1.0 / (1 + step) for step in range(40)]
    cases = {
        "falling": (falling, []),
        "nan": ([1.0, float("nan"), 1.0], [(1, "loss-not-finite")]),
        "infinite": ([1.0, float("-inf")], [(1, "loss-not-finite")]),
        "jump": ([1.0] * 6 + [2.1, 1.0], [(6, "loss-jump")]),
        "below the threshold": ([1.0] * 6 + [1.9], []),
        "too early to tell": ([1.0, 1.0, 9.0], []),
        "negative": ([-1.0] * 10 + [-0.1], []),
    }
    for name, (losses, want) in cases.items():
        assert found(tmp_path / name, losses) == want, name


def test_it_is_silent_in_thirty_clean_runs_of_five_architectures(torch_environment, tmp_path):
    command = [sys.executable, HERE / "quiet.py", tmp_path]
    done = subprocess.run(command, env=torch_environment, capture_output=True, text=True, check=True)
    runs = json.loads(done.stdout)
    assert len(runs) == 30
    assert {name: anomalies for name, anomalies in runs.items() if anomalies} == {}


def test_a_jump_is_beyond_what_losses_vary_by(tmp_path):
    wide = [10 ** (step % 5 / 5) for step in range(50)]  # 1 to 6.3, spread 0.94 in logarithms
    assert found(tmp_path / "wide", [*wide, 40.0]) == []
    assert found(tmp_path / "beyond", [*wide, 10 ** (2 / 5) * 200]) == [(50, "loss-jump")]


def test_it_is_silent_in_clean_runs(tmp_path):
    for seed in range(30):
        draw = random.Random(seed)
        losses = [4 * 0.99**step * draw.uniform(0.8, 1.2) + 0.5 for step in range(300)]
        assert found(tmp_path / str(seed), losses) == []


def test_the_log_is_written_at_once_and_not_replaced(tmp_path):
    with prlx.TrainingMonitor(tmp_path) as monitor:
        monitor.step(float("nan"))
        lines = (tmp_path / "anomaly_log.jsonl").read_text().splitlines()
        assert [json.loads(line)["kind"] for line in lines] == ["loss-not-finite"]
    with pytest.raises(prlx.PrlxError, match="already exists"), prlx.TrainingMonitor(tmp_path):
        pass
    with pytest.raises(prlx.UsageError):
        monitor.step(1.0)


def test_the_anomalous_step_is_in_its_tape_and_the_maker_is_named(train, tmp_path):
    done = train("monitored", "watched", 3)
    assert done["kinds"][0] == "loss-not-finite"
    assert (done["clean"], done["equal"]) == (0, True)
    lines = [json.loads(line) for line in (tmp_path / "watched/anomaly_log.jsonl").read_text().splitlines()]
    assert (lines[0]["step"], lines[0]["tape"]) == (6, "step_6.tape")
    assert lines[0]["maker"].startswith("step 6, forward: aten.log.default outside of all modules made 128 NaN")
    from prlx._timeline import inspect_files

    tape = inspect_files([str(tmp_path / "watched/step_6.tape")], progress=False)["files"][0]["tape"]
    assert (tape["first_step"], tape["last_step"], tape["whole"]) == (4, 6, True)


def test_an_anomalous_step_is_run_again_bit_for_bit(train, tmp_path):
    done = train("replayed", "watched", False)
    assert done["anomalies"] == [[7, "loss-not-finite", "step_7.replay"]]
    assert done["bytes"] == done["saved"], "a parameter, and two states of each, before there are any"
    assert (done["reproduced"], done["step"], done["equal"]) == (True, 7, True)
    assert "aten.log.default" in done["maker"]
    assert done["text"].startswith("the step went as before, 2 steps after the snapshot")
    from prlx._timeline import inspect_files

    tape = inspect_files(
        [done["tape"] if done["tape"].startswith("/") else str(tmp_path / done["tape"])], progress=False
    )
    assert (tape["files"][0]["tape"]["steps"], tape["files"][0]["tape"]["whole"]) == (1, True)


def test_a_step_that_does_not_reproduce_is_said_to_be_one(train):
    done = train("replayed", "watched", True)
    assert not done["reproduced"]
    assert "does not reproduce: the loss of step 6 was" in done["text"]


def test_snapshots_that_are_too_large_are_refused_before_the_training(tmp_path):
    class Large:
        """Has a state without tensors of torch."""

        def state_dict(self) -> dict:
            class Tensor:
                """A tensor of 8 GiB."""

                def detach(self) -> Tensor:
                    return self

                def numel(self) -> int:
                    return 1 << 31

                def element_size(self) -> int:
                    return 4

            return {"weight": Tensor()}

    with pytest.raises(prlx.UsageError, match="snapshot takes 8"):
        prlx.TrainingMonitor(tmp_path, snapshot={"model": Large()})
    with pytest.raises(prlx.UsageError):
        prlx.TrainingMonitor(tmp_path, snapshot={}, snapshot_every=0)
    assert prlx.TrainingMonitor(tmp_path).snapshot_bytes == 0
