"""What the core is asked for: the same whether typed or called from Python, and nothing that was left open."""

from __future__ import annotations

import inspect
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import prlx as package
from prlx import _config
from prlx.cli.align import xprof_main


def test_a_bare_command_line_and_a_bare_call_ask_the_same(prlx, core):
    prlx("combine", "a.pb", "b.pb")
    package.combine_traces(["a.pb", "b.pb"])
    typed, called = (request for _, request in core.asked)
    assert typed == called


@pytest.mark.parametrize(("name", "command"), [("combine_traces", "combine"), ("align_trace", "align")])
def test_defaults_of_functions_are_those_of_the_settings(name, command):
    for parameter in inspect.signature(getattr(package, name)).parameters.values():
        setting = _config.BY_KEY.get(f"{command}.{parameter.name.replace('_', '-')}")
        if setting is not None and parameter.default is not None:
            assert parameter.default == setting.default


def test_the_signature_is_the_interface():
    names = list(inspect.signature(package.combine_traces).parameters)
    assert names[0] == "inputs"
    assert names[-2:] == ["executor", "progress"]
    assert (set(names[1:-2]) - {"clocks"}) | set(package.combine_traces.accepts) == {
        "output",
        "apply_alignment",
        "format",
        "snapshots",
        "offsets",
        "probes",
        "declared",
        "reference",
        "method",
        "policy",
        "round_bound_ns",
        "naming",
        "timebase",
        "time_range",
        "correction_stat",
        "bound_stat",
        "device_clocks",
        "skip_unreadable",
        "salvage",
        "strict",
        "repair",
        "explain",
        "workers",
        "memory_limit",
        "report",
        "overwrite",
    }


def test_paths_become_absolute_and_nodes_are_named(prlx, core, tmp_path):
    (tmp_path / "x=y.pb").touch()
    prlx(
        "combine",
        "0=a.pb",
        "rank-3=b.pb",
        "x=y.pb",
        "-",
        "--snapshots",
        "0=s.jsonl",
        "--probes",
        "p0",
        "p1",
        "-o",
        "out",
    )
    asked = core.request
    here = str(tmp_path)
    assert asked["inputs"] == [
        {"id": "0", "path": f"{here}/a.pb"},
        {"id": "rank-3", "path": f"{here}/b.pb"},
        {"path": f"{here}/x=y.pb"},
        {"path": "-"},
    ]
    assert asked["snapshots"] == [{"id": "0", "path": f"{here}/s.jsonl"}]
    assert asked["probes"] == [f"{here}/p0", f"{here}/p1"]
    assert asked["output"] == f"{here}/out"
    assert "declared" not in asked
    assert "reference" not in asked


def test_a_mapping_names_the_nodes(core, tmp_path):
    package.combine_traces(
        {0: "a.pb", "1": Path("b.pb")}, reference=1, memory_limit="1MiB", workers=2, time_range="1s:2s"
    )
    assert core.request["inputs"] == [{"id": "0", "path": f"{tmp_path}/a.pb"}, {"id": "1", "path": f"{tmp_path}/b.pb"}]
    assert core.request["reference"] == "1"
    assert core.request["memory_limit"] == 2**20
    assert core.request["workers"] == 2
    assert core.request["time_range"] == [10**9, 2 * 10**9]


def test_none_means_as_the_command_line(core, monkeypatch):
    monkeypatch.setenv("PRLX_COMBINE_FORMAT", "xplane")
    monkeypatch.setenv("PRLX_WORKERS", "1")
    package.combine_traces("a.pb")
    assert core.request["format"] == "xplane"
    assert core.request["workers"] == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: package.combine_traces([]),
        lambda: package.validate_collectives([]),
        lambda: package.solve_offsets([]),
        lambda: package.combine_traces("a", memory_limit="lots"),
        lambda: package.combine_traces("a", time_range="later"),
        lambda: package.combine_traces("a", progress="loud"),
    ],
)
def test_wrong_arguments_are_usage_errors(core, call):
    with pytest.raises(package.UsageError):
        call()
    assert not core.asked


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (package.combine_traces, name)
        for name in ("format", "reference", "method", "policy", "naming", "timebase", "device_clocks", "explain")
    ]
    + [(package.align_trace, name) for name in ("node", "reference", "method", "policy", "timebase", "device_clocks")]
    + [(package.solve_offsets, "reference")]
    + [(package.find_cycles, name) for name in ("keys", "streams", "phase_mode")]
    + [(lambda a, **more: package.diff_traces(a, a, **more), "nan")]
    + [(lambda a, **more: package.convert_trace(a, output="out", **more), "to")]
    + [
        (lambda _, **more: package.probe_clocks(output="out", duration=1, **more), name)
        for name in ("node", "interface")
    ],
)
def test_empty_text_is_a_mistake_and_not_the_default(core, call, name):
    with pytest.raises(package.UsageError, match=f"^{name} is empty"):
        call("a.pb", **{name: ""})
    assert not core.asked


@pytest.mark.parametrize("rate", [0, -1])
def test_a_rate_of_no_probes_is_a_mistake_and_not_the_default(rate):
    with pytest.raises(package.UsageError, match=f"rate is {rate}"):
        package.probe_clocks(output="out", duration=1, rate=rate)


def test_an_empty_list_of_kinds_is_a_mistake_and_not_all_of_them(core):
    with pytest.raises(package.UsageError, match="kinds: none is named"):
        package.diff_traces("a", "b", kinds=[])
    assert not core.asked


def test_mistakes_name_the_flag_that_was_typed(prlx):
    assert prlx("combine", "a.pb", "--reference", "").err.startswith("prlx combine: error: --reference is empty\n")
    assert prlx("diff", "a", "b", "--warps", "x").err.startswith("prlx diff: error: --warps: expected")
    with pytest.raises(package.UsageError, match=r"^warps: expected"):
        package.diff_traces("a", "b", warps="x")


def test_xprof_trace_align_asks_for_one_trace(core, tmp_path, capsys):
    words = [
        "--trace",
        "n.xspace",
        "--snapshot_pairs",
        "s.jsonl",
        "--offsets",
        "o.jsonl",
        "--output",
        "n.aligned.xspace",
    ]
    assert xprof_main(words) == 5  # the answer that stands in for the core is of a clock that stepped: degraded
    op, asked = core.asked[0]
    assert op == "align"
    assert asked["trace"] == f"{tmp_path}/n.xspace"
    assert asked["snapshots"] == [{"path": f"{tmp_path}/s.jsonl"}]
    assert asked["offsets"] == f"{tmp_path}/o.jsonl"
    assert asked["output"] == f"{tmp_path}/n.aligned.xspace"
    assert asked["timebase"] == "host"
    assert xprof_main(["--trace", "n.xspace"]) == 2
    assert "--output" in capsys.readouterr().err


@pytest.mark.usefixtures("core")
def test_progress_may_be_a_function():
    seen = []
    package.combine_traces("a.pb", progress=lambda *state: seen.append(state))
    assert seen == [("reading", 1, 2)]


def spread(core, failing=None):
    """Let the fake core play the five operations behind an executor."""
    document = core.run("combine", {})
    core.asked.clear()
    core.replies |= {
        "combine_inputs": {"inputs": [{"path": "/a"}, {"path": "/b"}], "request": {"inputs": []}, "notes": ["n"]},
        "combine_scan": {"path": "/a", "payload": ""},
        "combine_plan": {"tasks": [{"output": "a"}, {"output": "b"}], "output": "/run"},
        "combine_node": {"result": {}, "output": {}},
        "combine_finish": document,
        "combine_abandon": {},
    }
    if failing:
        core.replies[failing] = package.TraceFormatError("cut", path="/b")


def test_an_executor_reads_and_writes_each_node_in_a_task(core):
    spread(core)
    seen = []
    with ThreadPoolExecutor(2) as executor:
        result = package.combine_traces(
            ["a", "b"], executor=executor, workers=1, progress=lambda *state: seen.append(state)
        )
    ops = [op for op, _ in core.asked]
    assert sorted(ops) == sorted(
        ["combine_inputs", *["combine_scan"] * 2, "combine_plan", *["combine_node"] * 2, "combine_finish"]
    )
    assert core.asked[-1][1]["done"] == [{"result": {}, "output": {}}] * 2
    assert result.reference == "node0"
    assert result.path == Path("/run")
    assert ("write nodes", 2, 2) in seen
    scan = next(request for op, request in core.asked if op == "combine_scan")
    assert scan == {"input": {"path": "/a"}, "nodes": 2, "workers": 1}


@pytest.mark.parametrize(
    ("failing", "abandoned"), [("combine_scan", False), ("combine_node", True), ("combine_finish", True)]
)
def test_a_failing_task_leaves_no_half_output(core, failing, abandoned):
    spread(core, failing)
    with ThreadPoolExecutor(2) as executor, pytest.raises(package.TraceFormatError):
        package.combine_traces(["a", "b"], executor=executor)
    assert ("combine_abandon" in [op for op, _ in core.asked]) is abandoned


def test_what_strict_refuses_stays_with_an_executor(core):
    spread(core, "combine_finish")
    core.replies["combine_finish"] = package.PartialResultError("the result is degraded")
    with ThreadPoolExecutor(1) as executor, pytest.raises(package.PartialResultError):
        package.combine_traces(["a", "b"], executor=executor, strict=True)
    op, request = core.asked[-1]
    assert (op, request["strict"]) == ("combine_finish", True)  # and nothing was abandoned


@pytest.mark.usefixtures("core")
def test_a_report_does_not_vanish_with_an_executor():
    with ThreadPoolExecutor(1) as executor, pytest.raises(package.UsageError, match="report"):
        package.combine_traces("a", executor=executor, report="a.html")


def test_requests_are_json(core):
    package.combine_traces({0: Path("a")}, snapshots={"0": "s"}, probes=[Path("p")], time_range=(None, 5))
    json.dumps(core.request)
