"""What prlx nccl merge writes, in Perfetto's trace_processor and in xprof.

Three processes play NCCL to the real recorder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

RANKS, OPERATIONS = 3, 20
# For each operation and rank: a group, a call, a launch, the operation, a kernel, a send and a receive.
SLICES = RANKS * OPERATIONS * 7
ALLREDUCES = RANKS * OPERATIONS * 2  # operations and kernels
# From a call to its launch, on to its kernel, to what it sends, and to what the peer receives.
FLOWS = RANKS * OPERATIONS * 4
VIEWER_PS = 2_000


@pytest.fixture(scope="module")
def merged(prlx: Callable, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, dict]]:
    """The job as Chrome JSON and as XSpace, each with its document."""
    scratch = tmp_path_factory.mktemp("nccl")
    recordings = scratch / "recordings"
    recordings.mkdir()
    library = prlx("nccl", "plugin", "--path").stdout.strip()
    environment = os.environ | {"PRLX_NCCL_DIR": str(recordings), "PRLX_NCCL_LEVEL": "3"}
    begin_ns = time.time_ns() + 1_500_000_000
    script = Path(__file__).parent / "nccl_rank.py"
    ranks = [
        subprocess.Popen(
            [sys.executable, script, library, str(rank), str(RANKS), str(OPERATIONS), str(begin_ns)], env=environment
        )
        for rank in range(RANKS)
    ]
    assert [rank.wait(timeout=120) for rank in ranks] == [0] * RANKS
    out = {}
    for name in ("job.json", "job.xplane.pb"):
        done = prlx("nccl", "merge", recordings, "-o", scratch / name, "--json")
        out[name] = scratch / name, json.loads(done.stdout)
    return out


def test_the_document_counts_what_was_drawn(merged: dict[str, tuple[Path, dict]]) -> None:
    for _, document in merged.values():
        assert (document["ranks"], document["slices"], document["clocked"]) == (RANKS, SLICES, "one host")
        assert document["flows"] + document["unordered"] == FLOWS
        assert document["unordered"] < FLOWS // 8  # three processes on a busy machine come late now and then


def test_trace_processor_has_every_slice_and_flow(ask_perfetto: Callable, merged: dict[str, tuple[Path, dict]]) -> None:
    path, document = merged["job.json"]
    answer = ask_perfetto(
        path,
        errors="select name, value from stats where value > 0 and severity in ('error', 'data_loss')",
        slices="select count(*) from slice",
        flows="select count(*) from flow",
        start="select min(ts) from slice",
        ranks="select count(distinct upid) from thread_track t join thread using (utid) join slice s on s.track_id = t.id",
        deep="select s.name, p.name from slice s join slice p on s.parent_id = p.id group by s.name, p.name order by 1, 2",
        ways="select a.category, b.category, count(*), sum(pa.upid != pb.upid) from flow "
        "join slice a on flow.slice_out = a.id join slice b on flow.slice_in = b.id "
        "join thread_track ta on ta.id = a.track_id join thread pa on pa.utid = ta.utid "
        "join thread_track tb on tb.id = b.track_id join thread pb on pb.utid = tb.utid group by 1, 2",
    )

    assert "error" not in answer, answer
    assert answer["errors"] == []
    assert answer["slices"] == [[SLICES]]
    assert answer["flows"] == [[document["flows"]]]
    assert answer["ranks"] == [[RANKS]]
    assert [name for name, parent in answer["deep"] if parent == "group"] == ["launch", "ncclAllReduce"]
    ways = {(out, into): (count, crossing) for out, into, count, crossing in answer["ways"]}
    each = RANKS * OPERATIONS
    assert ways["nccl_api", "nccl_launch"] == (each, 0)
    assert ways["nccl_launch", "nccl_kernel"][1] == ways["nccl_kernel", "nccl_proxy"][1] == 0
    count, crossing = ways["nccl_proxy", "nccl_proxy"]
    assert crossing == count > each // 2  # always to another rank
    assert sum(count for count, _ in ways.values()) == document["flows"]


def test_xprof_shows_every_event_of_every_rank(ask_xspace: Callable, merged: dict[str, tuple[Path, dict]]) -> None:
    path, document = merged["job.xplane.pb"]
    view, shown = ask_xspace({"view": [path], "tool": "trace_viewer@"}, {"report": [path], "tool": "trace_viewer@"})

    assert view is not None, "xprof could not convert the merged job"
    assert len(view["events"]) == SLICES
    assert len({name for name in view["processes"].values() if "NCCL rank" in name}) == RANKS
    names = Counter(event[4] for event in view["events"])
    assert names["ncclAllReduce"] == names["launch"] == RANKS * OPERATIONS
    assert sum(count for name, count in names.items() if name.startswith("AllReduce #")) == ALLREDUCES
    last = max(event[2] + event[3] for event in view["events"])
    assert abs(last - (document["stop_ns"] - document["start_ns"]) * 1000) <= VIEWER_PS
    chained = [event for event in shown["traceEvents"] if "bind_id" in event]
    begins = [event for event in chained if event.get("flow_out") and not event.get("flow_in")]
    assert {event["name"] for event in begins} == {"ncclAllReduce"}
    assert len({event["bind_id"] for event in begins}) == len(begins) == RANKS * OPERATIONS
    ends = [event for event in chained if event.get("flow_in") and not event.get("flow_out")]
    assert all(event["name"].startswith("recv AllReduce") for event in ends)
    home = {event["bind_id"]: event["pid"] for event in begins}
    assert all(event["pid"] != home[event["bind_id"]] for event in ends)  # always another rank's
    assert len(ends) > RANKS * OPERATIONS // 2


def test_both_forms_say_the_same_of_every_slice(ask_xspace: Callable, merged: dict[str, tuple[Path, dict]]) -> None:
    """JAX's own reader of XSpaces finds the slices of the JSON, to the nanosecond."""
    chrome = json.loads(merged["job.json"][0].read_text())["traceEvents"]
    want = Counter(
        (event["name"], round(event["ts"] * 1000), round(event["dur"] * 1000)) for event in chrome if event["ph"] == "X"
    )
    (profile,) = ask_xspace({"profile": merged["job.xplane.pb"][0]})

    got = Counter(
        (name, round(start), round(duration))
        for plane in profile["planes"]
        if "NCCL" in plane["name"]
        for line in plane["lines"]
        for name, start, duration, *_ in line["events"]
    )
    assert got == want
