"""``prlx nccl watch``: says when a job stops moving, and keeps metrics."""

from __future__ import annotations

import urllib.request

import pytest

from prlx.cli import _nccl_watch as watching

MOVING = {
    "status": "nothing",
    "verdict": "nothing is wrong with 7 operations",
    "progress": {"outcome": "passed", "why": "7 operations, the job goes on"},
    "findings": [],
    "looked": {"operations": 7, "complete": 7, "unfinished": 0, "unknown": 0},
    "ranks": [{"id": "0", "host": 'no"de', "state": "recording", "silent_ns": 500_000_000}],
    "recordings": [{"path": "/x/a.prlx-nccl", "lost": 3}],
}
STALLED = MOVING | {
    "status": "culprit",
    "verdict": "rank 0 never called it",
    "progress": {"outcome": "failed", "why": "rank 0 never called it"},
    "findings": [
        {
            "class": "never-arrived",
            "sentence": "rank 0 never called AllReduce #5",
            "ranks": ["0"],
            "operation": "AllReduce",
            "sequence": 5,
            "since_ns": 6_000_000_000,
        }
    ],
}
ENDED = MOVING | {"ranks": [MOVING["ranks"][0] | {"state": "ended"}]}


@pytest.fixture
def answers(monkeypatch):
    """What the core says, look by look."""
    found = []
    monkeypatch.setattr(watching._core, "run", lambda _operation, _asked: found.pop(0) if len(found) > 1 else found[0])
    monkeypatch.setattr(watching.time, "sleep", lambda _: None)
    return found


def test_it_ends_at_the_first_stall_and_names_it_once(prlx, answers):
    answers += [MOVING, MOVING, STALLED]
    ran = prlx("nccl", "watch", "dir", "--until-stall")
    assert ran.code == 1
    assert [line.split("  ", 1)[1] for line in ran.out.splitlines()] == [
        "7 operations, the job goes on",
        "rank 0 never called AllReduce #5",
    ]


def test_it_ends_with_the_job(prlx, answers):
    answers += [MOVING, STALLED, ENDED]
    ran = prlx("nccl", "watch", "dir")
    assert ran.code == 0
    assert ran.out.count("the job goes on") == 2


def test_metrics_are_a_file_that_is_replaced(prlx, answers, tmp_path):
    answers += [STALLED]
    path = tmp_path / "nccl.prom"
    assert prlx("nccl", "watch", "dir", "--rounds", "2", "--prometheus", str(path)).code == 1
    lines = path.read_text().splitlines()
    assert "prlx_nccl_stalled 1" in lines
    assert "prlx_nccl_stalled_seconds 6" in lines
    assert 'prlx_nccl_finding{class="never-arrived",rank="0",operation="AllReduce"} 1' in lines
    assert 'prlx_nccl_rank_silent_seconds{rank="0",host="no\\"de",state="recording"} 0.5' in lines
    assert 'prlx_nccl_records_lost{recording="a.prlx-nccl"} 3' in lines
    assert [entry.name for entry in tmp_path.iterdir()] == ["nccl.prom"]


def test_metrics_of_nothing_say_that_nothing_can_be_read():
    text = watching.metrics(None, 0.25)
    assert "prlx_nccl_up 0\n" in text
    assert "prlx_nccl_stalled" not in text


def test_a_port_answers_on_this_machine_alone():
    port = watching._Port(0)
    try:
        host, number = port.server.server_address[:2]
        assert host == "127.0.0.1"
        port.show("prlx_nccl_up 1\n")
        with urllib.request.urlopen(f"http://127.0.0.1:{number}/metrics", timeout=10) as answer:
            assert answer.read() == b"prlx_nccl_up 1\n"
    finally:
        port.close()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["merge", "dir", "-o", "x.json", "--interval", "3"], "--interval is of prlx nccl watch"),
        (["watch", "dir", "-o", "x.json"], "--output is of prlx nccl merge"),
        (["flight", "dir", "--stall-after", "3"], "--stall-after is of prlx nccl diagnose, watch"),
    ],
)
def test_options_of_other_verbs_are_refused(prlx, words, says):
    ran = prlx("nccl", *words)
    assert ran.code == 2
    assert says in ran.err


def test_what_cannot_be_told_is_not_said_to_move(prlx, answers):
    progress = {"outcome": "inconclusive", "why": "there is no recording of rank 1"}
    answers += [MOVING | {"status": "inconclusive", "progress": progress}]
    ran = prlx("nccl", "watch", "dir", "--rounds", "1")
    assert ran.code == 5
    assert "there is no recording of rank 1" in ran.out


def test_nothing_read_is_not_a_job_that_moves(prlx, tmp_path):
    ran = prlx("nccl", "watch", str(tmp_path), "--rounds", "1")
    assert ran.code == 5
    assert "moves" not in ran.out
    assert "no recording of NCCL events" in ran.err
