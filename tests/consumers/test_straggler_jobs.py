"""Jobs of which one process is slow on purpose (examples/straggler_job): prlx stragglers names it, and when it was slow.

They run here, so what is slow is slow by far more than what a busy machine does to processes. Where one of the others was
held up more than that all the same, the times at which the ranks called their collectives say so, and the job runs again.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path

import environments
import pytest
from test_xprof_server import free_port

JOB = environments.REPOSITORY / "examples" / "straggler_job" / "job.py"
RECORDED = JOB.parent / "recorded"
ATTEMPTS = 3


def interpreter(framework: str) -> str:
    if framework == "jax":
        if not environments.JOBS.ready:
            pytest.skip("JAX for this Python is not installed")
        return str(environments.JOBS.python)
    python = os.environ.get("PRLX_TORCH_PYTHON")
    if not python:
        pytest.skip("PRLX_TORCH_PYTHON names no Python that has PyTorch")
    return python


def late_ns(truth: dict) -> list[int]:
    """By how much each rank called the collectives of a step later than the middle one of the others, of all steps."""
    called = truth["called_ns"]
    sums = []
    for rank, own in enumerate(called):
        others = [one for k, one in enumerate(called) if k != rank]
        sums.append(sum(max(0, at - round(statistics.median(o[n] for o in others))) for n, at in enumerate(own)))
    return sums


def recorded(prlx: Callable, framework: str, folder: Path, ranks: int, slow: str) -> tuple[Path, dict, dict]:
    """A job in which the rank that was to be slow was so, more than any other by far, its truth and what prlx says of it.

    Where the machine held another one up for twice as long as the slow one at once, nothing is asked: the job runs again.
    """
    python, asked_ns = interpreter(framework), float(slow.split(":")[2]) * 1e6
    for attempt in range(ATTEMPTS):
        out = folder / f"try{attempt}"
        asked = [python, JOB, framework, "-o", out, f"--ranks={ranks}", "--steps=30", f"--slow={slow}"]
        done = subprocess.run(
            [*map(str, asked), f"--port={free_port()}"], capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        truth = json.loads((out / "truth.json").read_text())
        late = late_ns(truth)
        rank = truth["slow"]["rank"]
        document = json.loads(prlx("stragglers", out, "--json", expect=(0, 1, 5)).stdout)
        others = [one["cost_ns"] for one in document["worst"] if one["rank"] not in ("", f"rank{rank}")]
        if late[rank] > 3 * max(late[:rank] + late[rank + 1 :]) and max(others, default=0) < 2 * asked_ns:
            return out, truth, document
    return pytest.skip(f"this machine held up other processes more than the job its slow one, {ATTEMPTS} times")


@pytest.mark.parametrize(
    ("framework", "ranks", "slow"),
    [
        ("jax", 6, "4:sleep:60:10-19"),
        ("jax", 6, "1:compute:60"),
        ("torch", 4, "2:compute:40"),
        ("torch", 4, "0:sleep:60:5-14"),
    ],
)
def test_the_rank_that_was_slowed_is_blamed_in_its_steps(
    prlx: Callable, tmp_path: Path, framework: str, ranks: int, slow: str
) -> None:
    _, truth, document = recorded(prlx, framework, tmp_path, ranks, slow)
    first = document["ranks"][0]
    assert (first["id"], first["blamed"]) == (f"rank{truth['slow']['rank']}", True), document["verdict"]
    assert document["status"] == "blamed"
    assert document["operations"]["told"] > 0
    steps = sum(truth["slow"]["first"] <= n <= truth["slow"]["last"] for n in range(30))
    worst = sorted((step for step in document["steps"]), key=lambda step: -step["cost_ns"])[:steps]
    assert sum(step["critical"] == first["id"] for step in worst) >= 0.8 * steps
    # It cost about what it was later than the others: no more, and most of it.
    asked_ns = steps * float(slow.split(":")[2]) * 1e6
    late = late_ns(truth)[truth["slow"]["rank"]]
    assert 0.5 * min(asked_ns, late) < first["cost_ns"] < 1.5 * max(asked_ns, late)


@pytest.mark.parametrize(("framework", "ranks"), [("jax", 6), ("torch", 4)])
def test_a_gate_fails_a_job_that_has_a_slow_rank(prlx: Callable, tmp_path: Path, framework: str, ranks: int) -> None:
    out, _, _ = recorded(prlx, framework, tmp_path, ranks, "3:sleep:60")
    assert "rank3" in prlx("stragglers", out, "--fail-on", "rank-loss>20%", expect=1).stderr
    prlx("stragglers", out, "--fail-on", "rank-loss>99%")


def test_perfetto_shows_the_tracks(prlx: Callable, ask_perfetto: Callable, tmp_path: Path) -> None:
    """trace_processor reads every slice, counter and instant; what the document says is found by queries."""
    tracks = tmp_path / "late.trace.json"
    document = json.loads(prlx("stragglers", RECORDED, "--json", "--overlay", tracks, expect=1).stdout)
    written = json.loads(tracks.read_text())["traceEvents"]
    answer = ask_perfetto(
        tracks,
        errors="select name, value from stats where value > 0 and severity in ('error', 'data_loss')",
        slices="select count(*) from slice where dur >= 0",
        counters="""select count(*) from counter c join process_counter_track t on c.track_id = t.id
                    where t.name like 'late by%'""",
        waited="""select p.name, sum(s.dur) from slice s join thread_track t on s.track_id = t.id join thread using (utid)
                  join process p using (upid) where s.category = 'prlx waiting' group by p.name""",
        deepest="select max(depth) from slice where category != 'prlx blame'",
        instants="select count(*) from slice where category = 'prlx blame'",
    )
    assert "error" not in answer, answer
    assert answer["errors"] == []
    kinds = [event["ph"] for event in written]
    assert answer["slices"] == [[kinds.count("X") + kinds.count("i")]]
    assert answer["counters"] == [[kinds.count("C")]]
    assert answer["instants"] == [[kinds.count("i")]]
    assert answer["deepest"] == [[1]]  # parts lie in their operation, and nothing in them
    want = {rank["id"]: rank["time"]["waiting_ns"] for rank in document["ranks"]}
    got = {name.removeprefix("prlx stragglers: ").split(" on ")[0]: ns for name, ns in answer["waited"]}
    assert got == {name: ns for name, ns in want.items() if ns}
