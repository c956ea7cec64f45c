"""Recordings from Python: columns are exactly the events that were written, filters are exactly those that fit."""

from __future__ import annotations

import gzip
from dataclasses import replace

import numpy as np
import pytest

import prlx as package

from .recordings import ADD, ALL, ATOMIC, BRANCH, GUARD, LOOP, SITES, STORE, Recording, Shot, site_map, softmax

NAMES = {BRANCH: "branch", ATOMIC: "atomic", 6: "global-store"}


def test_columns_are_the_events_that_were_written(tmp_path):
    recording = softmax()
    trace = package.read_trace(recording.write(tmp_path / "a.prlx"))
    truth = [(w, k, event) for w, events in enumerate(recording.warps) for k, event in enumerate(events)]
    events = trace.events
    assert len(events) == len(truth) == trace.total_events
    assert events["warp"].tolist() == [w for w, _, _ in truth]
    assert events["event"].tolist() == [k for _, k, _ in truth]
    assert events["site"].tolist() == [f"0x{event.site:08x}" for _, _, event in truth]
    assert events["kind"].tolist() == [NAMES[event.kind] for _, _, event in truth]
    assert events["dir"].tolist() == [event.dir for _, _, event in truth]
    assert events["active"].tolist() == [event.mask for _, _, event in truth]
    assert events["value"].tolist() == [event.value for _, _, event in truth]
    assert set(events["type"].tolist()) == {"bits"}
    assert events["taken"].mask.all()  # v1 does not say which lanes took a branch


def test_masks_and_values_are_unsigned_and_not_copied(tmp_path):
    events = package.read_trace(softmax().write(tmp_path / "a.prlx")).events
    for name in ("active", "value"):
        assert events[name].dtype == np.uint64
    assert events.column("active").values.base is not None  # a view of what the core filled
    of_warp = events.of_warp(2)
    assert np.shares_memory(of_warp["active"], events["active"])
    assert np.shares_memory(of_warp["event"], events["event"])


def test_the_header_is_what_was_launched(tmp_path):
    trace = package.read_trace(softmax(8).write(tmp_path / "a.prlx"))
    h = trace.header
    assert (h.kernel, h.grid, h.block, h.wave_size) == ("softmax_kernel", (4, 1, 1), (64, 1, 1), 32)
    assert (h.warps_per_block, h.warp_slots, h.arch, h.format) == (2, 8, "sm_80", "prlx v1")
    assert (h.total_blocks, h.threads_per_block) == (4, 64)
    assert h.timestamp_ns == 1_700_000_000 * 10**9
    assert (h.kernel_name, h.grid_dim, h.block_dim) == (h.kernel, h.grid, h.block)


def test_losses_are_counted_and_said(tmp_path):
    whole = package.read_trace(softmax().write(tmp_path / "whole.prlx"))
    assert not whole.losses
    lossy = package.read_trace(replace(softmax(), dropped={1: 30, 2: 6}).write(tmp_path / "lossy.prlx"))
    assert lossy.losses
    assert (lossy.losses.dropped, lossy.losses.warps_with_drops) == (36, 2)
    assert lossy.losses.dropped_share == pytest.approx(36 / (36 + lossy.total_events))
    assert lossy.losses.notes
    assert lossy.warps["dropped"].tolist() == [0, 30, 6, 0]
    sampled = package.read_trace(replace(softmax(), sample_rate=4).write(tmp_path / "sampled.prlx"))
    assert sampled.losses.sample_rate == 4


def test_a_warp_is_a_view_when_events_are_there_and_read_alone_when_not(tmp_path):
    recording = softmax()
    path = recording.write(tmp_path / "a.prlx")
    alone, loaded = package.read_trace(path), package.read_trace(path)
    assert len(loaded.events) == sum(map(len, recording.warps))
    for trace in (alone, loaded):
        warp = trace.warp(2)
        assert warp.num_events == len(recording.warps[2])
        assert warp.events["value"].tolist() == [event.value for event in recording.warps[2]]
    assert np.shares_memory(loaded.warp(2).events["value"], loaded.events["value"])


@pytest.mark.parametrize(("warp", "why"), [(4, "does not exist"), (-1, "does not exist"), (1, "recorded nothing")])
def test_warps_that_are_not_there_are_refused(tmp_path, warp, why):
    trace = package.read_trace(softmax().changed(1, []).write(tmp_path / "a.prlx"))
    assert trace.num_warps == 3
    with pytest.raises(package.UsageError, match=why):
        trace.warp(warp)


@pytest.mark.parametrize("warps", [-1, [-1], [-2, -1, 0], "-1", []])
def test_filters_of_warps_below_0_are_refused(tmp_path, warps):
    path = softmax().write(tmp_path / "a.prlx")
    with pytest.raises(package.UsageError, match="warps: "):
        package.read_trace(path, warps=warps)
    with pytest.raises(package.UsageError, match="warps: "):
        package.diff_traces(path, path, warps=warps)


def test_filters_while_reading_and_filters_afterwards_agree(tmp_path):
    path = softmax().write(tmp_path / "a.prlx")
    site_map(tmp_path / "prlx-sites.json", SITES)
    whole = package.read_trace(path)
    cases = [
        ({"warps": "1-2"}, {"warp_idx": "1-2"}),
        ({"warps": [0, 3]}, {"warp_idx": [0, 3]}),
        ({"sites": GUARD}, {"site_id": GUARD}),
        ({"sites": "softmax.py:11"}, {"site_id": "softmax.py:11"}),
        ({"sites": [ADD, "kind:global-store"]}, {"site_id": [ADD, "kind:global-store"]}),
        ({"sites": "func:soft*"}, {"site_id": "func:soft*"}),
        ({"kinds": "atomic"}, {"event_type": 2}),
        ({"kinds": "branch", "warps": 2}, {"event_type": "branch", "warp_idx": 2}),
    ]
    for asked, afterwards in cases:
        read = package.read_trace(path, **asked).events
        chosen = whole.filter_events(**afterwards)
        assert 0 < len(read) <= len(whole.events), asked
        for name in ("warp", "event", "value"):
            assert read[name].tolist() == chosen[name].tolist(), asked


def test_described_names_do_what_they_say(tmp_path):
    recording = softmax()
    trace = package.read_trace(recording.write(tmp_path / "a.prlx"))
    flat = [event for events in recording.warps for event in events]
    assert len(trace.branches) == sum(event.kind == BRANCH for event in flat)
    assert len(trace.atomics) == sum(event.kind == ATOMIC for event in flat)
    assert len(trace.events_at_site(LOOP)) == sum(event.site == LOOP for event in flat)
    found = trace.compare_warps(0, 1)
    assert [row["fields"] for row in found] == [["value"]] * 5
    assert [recording.warps[0][row["index"]].site for row in found] == [GUARD] * 4 + [STORE]
    shorter = package.read_trace(recording.changed(1, recording.warps[1][:9]).write(tmp_path / "b.prlx"))
    assert shorter.compare_warps(1, 2)[-1] == {"index": 11, "fields": ["missing"]}
    summary = trace.summary()
    assert summary["events_by_type"] == {"branch": 36, "atomic": 8, "global-store": 4}
    assert (summary["num_warps"], summary["total_events"], summary["total_overflows"]) == (4, 48, 0)


def test_sites_are_named_by_the_map_that_is_found_or_named(tmp_path):
    path = softmax().write(tmp_path / "a.prlx")
    bare = package.read_trace(path)
    assert bare.site_map is None
    assert set(bare.sites["location"]) == {None}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    named = package.read_trace(path, site_map=site_map(elsewhere / "s.json", SITES))
    beside = site_map(tmp_path / "prlx-sites.json", SITES)
    found = package.read_trace(path)
    assert found.site_map == str(beside)
    for trace in (named, found):
        rows = dict(zip(trace.sites["site"], trace.sites["location"], strict=True))
        assert trace.events["location"].tolist() == [rows[name] for name in trace.events["site"]]
        assert rows[f"0x{GUARD:08x}"] == "softmax.py:softmax_kernel:11:12"
        assert trace.sites["events"].sum() == trace.total_events
    assert package.read_trace(path, site_map="").site_map is None


def test_rings_are_tables(tmp_path):
    shots = [Shot(GUARD, seq=k, lhs=[10 * k + lane for lane in range(32)], rhs=[5] * 32) for k in range(3)]
    recording = replace(softmax(), history={1: [(LOOP, 41, 0), (LOOP, 42, 1)]}, snapshots={1: shots})
    warp = package.read_trace(recording.write(tmp_path / "a.prlx")).warp(1)
    assert warp.history["value"].tolist() == [41, 42]
    assert len(warp.snapshots) == 3 * 32
    assert set(warp.snapshots["compare"]) == {"slt"}
    assert warp.snapshots["lhs"].tolist() == [value for shot in shots for value in shot.lhs]
    assert warp.snapshots["lane"].tolist() == [*range(32)] * 3


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_events_become_data_frames(tmp_path, library):
    frames = pytest.importorskip(library)
    mask = 0xFFFFFFFF00000001 & ALL
    recording = softmax()
    path = recording.changed(0, [replace(recording.warps[0][0], mask=mask)]).write(tmp_path / "a.prlx")
    events = package.read_trace(path, warps=0).events
    if library == "pandas":
        assert events.to_pandas()["active"].tolist() == [mask]
        assert events.to_pandas()["active"].dtype == np.uint64
    elif library == "polars":
        assert events.to_polars()["active"].to_list() == [mask]
    else:
        assert frames.table(events)["active"].type == frames.uint64()


def test_a_compressed_file_is_read_through(tmp_path):
    path = tmp_path / "a.prlx.gz"
    path.write_bytes(gzip.compress(softmax().pack()))
    assert package.read_trace(path).total_events == 48


def test_opening_tells_what_it_is_by_content(tmp_path, data):
    recording = softmax().write(tmp_path / "a.bin")
    assert isinstance(package.open(recording), package.KernelTrace)
    session = tmp_path / "session"
    session.mkdir()
    softmax().write(session / "softmax_0.prlx")
    assert isinstance(package.open(session), package.Session)
    assert isinstance(package.open(data / "jax_skew/p2/node0.trace.json.gz"), package.Timeline)


def test_too_many_rows_are_refused_with_what_to_do(tmp_path):
    trace = package.read_trace(softmax().write(tmp_path / "a.prlx"), max_rows=47)
    with pytest.raises(package.LimitError, match=r"48 rows, and 47 fit") as caught:
        _ = trace.events
    assert "warps" in caught.value.hint
    assert len(trace.warp(1).events) == 12


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"warps": "3-1"}, "ranges"),
        ({"warps": ""}, "ranges"),
        ({"warps": []}, "none is named"),
        ({"kinds": "brnch"}, "did you mean branch"),
        ({"sites": "[bad"}, "pattern"),
        ({"memory_limit": "lots"}, "memory_limit"),
    ],
)
def test_wrong_filters_are_usage_errors(tmp_path, options, what):
    path = softmax().write(tmp_path / "a.prlx")
    with pytest.raises(package.UsageError, match=what):
        _ = package.read_trace(path, **options).events


def test_a_site_that_is_not_there_is_refused(tmp_path):
    trace = package.read_trace(softmax().write(tmp_path / "a.prlx"))
    with pytest.raises(package.UsageError, match="no site '0xdead'"):
        trace.at_site(0xDEAD)
    with pytest.raises(package.UsageError, match=r"softmax.py:11.*\n.*site map"):
        trace.at_site("softmax.py:11")


def test_a_trace_shows_itself(tmp_path):
    trace = package.read_trace(softmax().write(tmp_path / "a.prlx"))
    assert repr(trace).endswith("softmax_kernel, 2x1x1 blocks of 64x1x1, 4 warps, 48 events>")
    assert "0x00001002" in trace._repr_html_()
    assert repr(trace.warp(0)) == "<WarpTrace 0 of softmax_kernel: 12 events>"
    assert trace.to_json().startswith('{\n  "schema": "prlx.kernel-trace/1"')


def test_an_empty_recording_has_empty_tables(tmp_path):
    trace = package.read_trace(Recording([[], []], grid=(1, 1, 1)).write(tmp_path / "a.prlx"))
    assert (trace.num_warps, trace.total_events, len(trace.events), len(trace.sites)) == (0, 0, 0, 0)
    assert trace.summary()["events_by_type"] == {}
