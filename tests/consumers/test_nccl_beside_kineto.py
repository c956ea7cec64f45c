"""Recordings of NCCL combined with traces of PyTorch's profiler in Perfetto's trace_processor, and with each other in xprof.

Three processes play NCCL to the real recorder, and each writes what the profiler would have written of the same kernels:
a stand-in, whose truth is known.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

RANKS, OPERATIONS, TRACED = 3, 20, 15
LATE_NS = 3_700_000  # the clock of the last rank's profiler


@pytest.fixture(scope="module")
def combined(prlx: Callable, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    """A directory of recordings and traces, combined, with its document."""
    scratch = tmp_path_factory.mktemp("beside")
    (scratch / "job").mkdir()
    library = prlx("nccl", "plugin", "--path").stdout.strip()
    environment = os.environ | {"PRLX_NCCL_DIR": str(scratch / "job"), "PRLX_NCCL_LEVEL": "3"}
    begin_ns = time.time_ns() + 1_500_000_000
    script = Path(__file__).parent / "nccl_rank.py"
    ranks = []
    for rank in range(RANKS):
        late_ns = LATE_NS if rank == RANKS - 1 else 0
        numbers = [str(number) for number in (rank, RANKS, OPERATIONS, begin_ns, 0)]
        kineto = [scratch / "job" / f"rank{rank}.json", str(late_ns)]
        ranks.append(subprocess.Popen([sys.executable, script, library, *numbers, *kineto], env=environment))
    assert [rank.wait(timeout=120) for rank in ranks] == [0] * RANKS
    done = prlx(
        "combine", scratch / "job", "-o", scratch / "all.json", "--json", expect=5
    )  # one clock contradicts another
    return scratch / "all.json", json.loads(done.stdout)


def test_each_recording_is_that_of_a_trace(combined: tuple[Path, dict]) -> None:
    """Process, rank and clock are those of the trace; a profiler whose clock is late is told from one that agrees."""
    _, document = combined
    nodes = {node["id"]: node for node in document["nodes"]}
    assert set(nodes) == {f"rank{rank}{beside}" for rank in range(RANKS) for beside in ("", "-nccl")}
    for same in document["same_kernels"]:
        rank = int(same["trace"].removeprefix("rank"))
        late_ns = LATE_NS if rank == RANKS - 1 else 0
        assert same["recording"] == f"rank{rank}-nccl"
        assert nodes[same["recording"]]["rank"] == nodes[same["trace"]]["rank"] == rank
        assert same["kernels"] == TRACED
        assert abs(same["offset_ns"] - late_ns) <= same["bound_ns"] < 1_000_000, same
        assert same["verdict"] == ("contradict" if late_ns else "agree"), same
        assert same["moved_ns"] == (same["offset_ns"] if late_ns else 0)
    assert any("contradict each other, and rank2-nccl is moved" in text for text in document["warnings"])


def test_trace_processor_has_both_and_the_flows(ask_perfetto: Callable, combined: tuple[Path, dict]) -> None:
    path, document = combined
    answer = ask_perfetto(
        path,
        errors="select name, value from stats where value > 0 and severity in ('error', 'data_loss')",
        kernels="select count(*) from slice where name like 'ncclDevKernel%'",
        calls="select count(*) from slice where name = 'ncclAllReduce'",
        deep="select s.name, p.name from slice s join slice p on s.parent_id = p.id group by s.name, p.name order by 1, 2",
        ways="select substr(a.name, 1, 9), substr(b.name, 1, 9), count(*), sum(pa.upid != pb.upid) from flow "
        "join slice a on flow.slice_out = a.id join slice b on flow.slice_in = b.id "
        "join thread_track ta on ta.id = a.track_id join thread pa on pa.utid = ta.utid "
        "join thread_track tb on tb.id = b.track_id join thread pb on pb.utid = tb.utid group by 1, 2",
    )

    assert "error" not in answer, answer
    assert answer["errors"] == []
    assert answer["kernels"] == [[RANKS * TRACED]]
    assert answer["calls"] == [[RANKS * OPERATIONS]]
    assert [name for name, parent in answer["deep"] if parent == "group"] == ["launch", "ncclAllReduce"]
    ways = {(out, into): (count, crossing) for out, into, count, crossing in answer["ways"]}
    each = RANKS * OPERATIONS
    assert ways["ncclAllRe", "launch"] == (each, 0)
    assert ways["launch", "AllReduce"][1] == ways["AllReduce", "send AllR"][1] == 0
    count, crossing = ways["send AllR", "recv AllR"]
    assert crossing == count > 0  # always to another rank
    said = " ".join((*document["notes"], *document["warnings"]))
    drawn = int(re.search(r"(\d+) flows lead from calls", said)[1])
    left_out = re.search(r"(\d+) flows of NCCL are left out", said)  # three processes on a busy machine come late
    assert drawn == sum(count for count, _ in ways.values())
    assert drawn + (int(left_out[1]) if left_out else 0) == 4 * each


def test_xprof_has_the_recordings_and_their_chains(
    prlx: Callable, ask_xspace: Callable, combined: tuple[Path, dict]
) -> None:
    """Each recording is an input of its own, and a chain leads through what a peer receives all the same."""
    scratch = combined[0].parent
    prlx("combine", *sorted((scratch / "job").glob("*.prlx-nccl")), "-o", scratch / "job.xplane.pb")
    (shown,) = ask_xspace({"report": [scratch / "job.xplane.pb"], "tool": "trace_viewer@"})

    chained = [event for event in shown["traceEvents"] if "bind_id" in event]
    begins = [event for event in chained if event.get("flow_out") and not event.get("flow_in")]
    assert {event["name"] for event in begins} == {"ncclAllReduce"}
    assert len({event["bind_id"] for event in begins}) == len(begins) == RANKS * OPERATIONS
    ends = [event for event in chained if event.get("flow_in") and not event.get("flow_out")]
    assert all(event["name"].startswith("recv AllReduce") for event in ends)
    home = {event["bind_id"]: event["pid"] for event in begins}
    assert all(event["pid"] != home[event["bind_id"]] for event in ends)  # always another rank's
    assert len(ends) == RANKS * OPERATIONS
