"""The questions themselves: on untouched recordings they pass, on damaged ones they notice.

Without these a green test elsewhere would only say that a consumer shrugged.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import recordings
import xspace_wire as wire
from aligned import errors_ns, node_number, raw_true_ns, view_events

GPU_FILE = "AMD-AGI+TraceLens__jax_conv_minimal_08__tw003.xplane.pb"


@pytest.fixture
def gpu_trace() -> Path:
    return recordings.directory() / "xplane" / GPU_FILE


def test_xprof_and_jax_refuse_a_truncated_xspace(ask_xspace: Callable, gpu_trace: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.xplane.pb"
    cut.write_bytes(gpu_trace.read_bytes()[:-1000])

    view, profile = ask_xspace({"view": [cut], "tool": "trace_viewer@"}, {"profile": cut})

    assert view is None
    assert "error" in profile


def test_independent_counts_of_events_agree(ask_xspace: Callable) -> None:
    for path in recordings.xspaces():
        (profile,) = ask_xspace({"profile": path})
        counted = wire.census(path.read_bytes())
        read = [line for plane in profile["planes"] for line in plane["lines"]]
        assert sum(len(line["events"]) for line in read) == counted["events"], path.name
        assert sum(line["event_stats"] for line in read) == counted["event stats"], path.name


def test_a_lost_event_changes_the_census() -> None:
    events = [wire.event(1, offset, 5) for offset in (0, 10, 20)]
    whole = wire.space([wire.plane(0, "/device:GPU:0", [wire.line(1, "Stream #1", 0, events)], ["kernel"])], "host")
    short = wire.space([wire.plane(0, "/device:GPU:0", [wire.line(1, "Stream #1", 0, events[1:])], ["kernel"])], "host")

    assert wire.census(whole)["events"] == 3
    assert wire.census(short) != wire.census(whole)


def test_the_viewer_hides_what_a_wrong_merge_would_collide(ask_xspace: Callable, tmp_path: Path) -> None:
    """Two planes with one id become one process, a negative time disappears: what the naming has to avoid."""
    line = wire.line(1, "Stream #1", 10, [wire.event(1, 0, 1000)])
    early = wire.line(1, "Stream #1", -10, [wire.event(1, 0, 1000)])
    files = {
        "apart": [wire.plane(0, "/device:GPU:0", [line], ["k"]), wire.plane(1, "/device:GPU:1", [line], ["k"])],
        "same_id": [wire.plane(0, "/device:GPU:0", [line], ["k"]), wire.plane(0, "/device:GPU:1", [line], ["k"])],
        "negative": [wire.plane(0, "/device:GPU:0", [early], ["k"]), wire.plane(1, "/device:GPU:1", [line], ["k"])],
    }
    for name, planes in files.items():
        (tmp_path / f"{name}.xplane.pb").write_bytes(wire.space(planes, "host"))

    views = ask_xspace(*({"view": [tmp_path / f"{name}.xplane.pb"], "tool": "trace_viewer@"} for name in files))
    apart, same_id, negative = views

    assert (len(apart["processes"]), len(apart["events"])) == (2, 2)
    assert len(same_id["processes"]) == 1
    assert len(negative["events"]) == 1


def test_unaligned_clocks_are_measured_as_wrong(ask_xspace: Callable) -> None:
    """The two processes of p2 recorded at once; their raw files side by side are 38 ms apart, less their session starts."""
    recording = recordings.Skewed("p2")
    *profiles, view = ask_xspace(
        *({"profile": path} for path in recording.traces), {"view": recording.traces, "tool": "trace_viewer@"}
    )
    nodes = {pid: node_number(name) for pid, name in view["processes"].items()}

    errors = errors_ns(raw_true_ns(recording, profiles), view_events(view, nodes))

    assert max(map(abs, errors[0])) <= 2
    assert min(map(abs, errors[1])) > 100_000


def test_perfetto_counts_slices_and_refuses_garbage(ask_perfetto: Callable, tmp_path: Path) -> None:
    events = [{"ph": "X", "pid": 1, "tid": 1, "name": "a", "ts": 10 * k, "dur": 5} for k in range(100)]
    text = '{"traceEvents": [\n' + ",\n".join(map(json.dumps, events)) + "\n]}\n"
    (tmp_path / "whole.json").write_text(text)
    (tmp_path / "cut.json").write_text(text[: len(text) // 2])
    (tmp_path / "garbage.json").write_text("no trace at all")
    count = "select count(*) from slice"

    assert ask_perfetto(tmp_path / "whole.json", slices=count) == {"slices": [[100]]}
    assert "incomplete" in ask_perfetto(tmp_path / "cut.json", slices=count)["error"]
    assert "error" in ask_perfetto(tmp_path / "garbage.json", slices=count)


def test_perfetto_reads_integers_in_full(ask_perfetto: Callable, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('[{"ph":"X","pid":1,"tid":1,"name":"a","ts":1760000000000000,"dur":1}]')

    rows = ask_perfetto(tmp_path / "t.json", row="select ts, 0.5, null, name from slice")["row"]

    assert rows == [[1_760_000_000_000_000_000, 0.5, None, "a"]]


def test_kineto_readers_notice_a_truncated_trace(ask_kineto: Callable, tmp_path: Path) -> None:
    ranks = recordings.dlrm(tmp_path)
    broken = tmp_path / "broken"
    broken.mkdir()
    data = ranks[0].read_bytes()
    (broken / ranks[0].name).write_bytes(data[: len(data) // 2])
    whole = tmp_path / "whole"
    whole.mkdir()
    with gzip.open(whole / f"{ranks[0].name}.gz", "wb") as compressed:
        compressed.write(data)

    bad_hta, bad_tensorboard, hta, tensorboard = ask_kineto(
        {"hta": broken}, {"tensorboard": broken}, {"hta": whole}, {"tensorboard": whole}
    )

    assert "error" in bad_hta
    assert "error" in bad_tensorboard or not bad_tensorboard["workers"]
    assert hta["rows"] > 2000
    assert tensorboard["kernel_calls"] > 200
