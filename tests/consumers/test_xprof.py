"""xprof shows every node of what prlx writes, at the right time, with nothing lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import recordings
import xspace_wire as wire
from aligned import Aligned, errors_ns, node_number, raw_true_ns, view_events

TOOLS = ("overview_page", "framework_op_stats", "hlo_stats", "op_profile", "pod_viewer")
GPU_FILES = ("AMD-AGI+TraceLens__jax08_attention__tw003", "AMD-AGI+TraceLens__jax_conv_minimal_08__tw003")
MAX_ERROR_NS = 4_000  # of the probes in the recording; see shared/data/jax_skew
VIEWER_NS = 2  # the viewers print microseconds with six decimals, truncated


@pytest.fixture(scope="module", params=["p2", "p4"])
def recording(request: pytest.FixtureRequest) -> recordings.Skewed:
    return recordings.Skewed(request.param)


@pytest.fixture(scope="module")
def run_directory(prlx: Callable, recording: recordings.Skewed, tmp_path_factory: pytest.TempPathFactory) -> Aligned:
    path = tmp_path_factory.mktemp(recording.name) / "run_aligned"
    document = prlx.combine(*recording.traces, "--probes", *recording.probes, "--format", "run", "-o", path)
    return Aligned(recording, document, path)


@pytest.fixture(scope="module")
def single_file(prlx: Callable, recording: recordings.Skewed, tmp_path_factory: pytest.TempPathFactory) -> Aligned:
    path = tmp_path_factory.mktemp(recording.name) / "combined.xplane.pb"
    document = prlx.combine(*recording.traces, "--probes", *recording.probes, "-o", path)
    return Aligned(recording, document, path)


@pytest.fixture(scope="module")
def raw_profiles(ask_xspace: Callable, recording: recordings.Skewed) -> list[dict]:
    return ask_xspace(*({"profile": path} for path in recording.traces))


def test_run_directory_has_one_readable_file_a_node(run_directory: Aligned, recording: recordings.Skewed) -> None:
    assert [node_number(path.name) for path in run_directory.files] == recording.nodes


def test_run_directory_shows_every_node_at_the_right_time(
    ask_xspace: Callable, run_directory: Aligned, raw_profiles: list[dict]
) -> None:
    (view,) = ask_xspace({"view": run_directory.files, "tool": "trace_viewer@"})

    assert view is not None, "xprof could not convert the run directory"
    nodes = {pid: node_number(name) for pid, name in view["processes"].items()}
    check_times(run_directory, raw_profiles, view_events(view, nodes))


def test_combined_file_shows_every_node_at_the_right_time(
    ask_xspace: Callable, single_file: Aligned, raw_profiles: list[dict]
) -> None:
    (view,) = ask_xspace({"view": [single_file.path], "tool": "trace_viewer@"})

    assert view is not None, "xprof could not convert the combined file"
    stem = single_file.path.name.split(".")[0]
    planes = {pid: name.removeprefix(stem).strip() for pid, name in view["processes"].items()}
    nodes = {pid: 0 if name == "/host:CPU" else node_number(name) for pid, name in planes.items()}
    check_times(single_file, raw_profiles, view_events(view, nodes))


def check_times(aligned: Aligned, raw_profiles: list[dict], shown: dict[int, list[tuple[str, float]]]) -> None:
    errors = errors_ns(raw_true_ns(aligned.recording, raw_profiles), shown)
    bounds = aligned.bounds_ns()
    for node, values in errors.items():
        worst = max(map(abs, values))
        assert worst <= (VIEWER_NS if node == 0 else MAX_ERROR_NS), f"node {node}: {worst} ns"
        assert worst <= bounds[node] + VIEWER_NS, f"node {node}: {worst} ns, but the document admits {bounds[node]}"


def test_nothing_is_lost_in_the_viewer(
    ask_xspace: Callable, run_directory: Aligned, single_file: Aligned, recording: recordings.Skewed
) -> None:
    """Names and their numbers, as the viewer shows them, are those of the untouched files."""
    *raw, run, single = ask_xspace(
        *({"view": [path], "tool": "trace_viewer@"} for path in recording.traces),
        {"view": run_directory.files, "tool": "trace_viewer@"},
        {"view": [single_file.path], "tool": "trace_viewer@"},
    )
    want = Counter(event[4] for view in raw for event in view["events"])

    assert Counter(event[4] for event in run["events"]) == want
    assert {name: Counter(e[4] for e in single["events"])[name] for name in want} == want


def test_plain_trace_viewer_shows_the_reference_host(
    ask_xspace: Callable, single_file: Aligned, recording: recordings.Skewed
) -> None:
    raw, combined = ask_xspace(
        {"view": [recording.traces[0]], "tool": "trace_viewer"}, {"view": [single_file.path], "tool": "trace_viewer"}
    )

    assert combined is not None, "xprof could not convert the combined file"
    assert "/host:CPU" in combined["processes"].values()
    assert len(combined["events"]) == len(raw["events"])


def test_op_statistics_know_every_node(
    ask_xspace: Callable, run_directory: Aligned, recording: recordings.Skewed
) -> None:
    reports = dict(
        zip(TOOLS, ask_xspace(*({"report": run_directory.files, "tool": tool} for tool in TOOLS)), strict=True)
    )

    for tool, report in reports.items():
        assert report is not None, f"xprof's {tool} could not convert the run directory"
    properties = {key: value for table in reports["overview_page"] for key, value in table.get("p", {}).items()}
    assert properties["host_count"] == str(len(recording.nodes))
    steps = reports["pod_viewer"]["podStatsSequence"]["podStatsMap"]
    hosts = {core["hostName"] for step in steps for core in step["podStatsPerCore"].values()}
    assert {node_number(host) for host in hosts} == set(recording.nodes)


@pytest.fixture(scope="module")
def gpu_traces() -> list[Path]:
    return [recordings.directory() / "xplane" / f"{name}.xplane.pb" for name in GPU_FILES]


def test_every_gpu_of_every_node_is_shown(
    prlx: Callable, ask_xspace: Callable, gpu_traces: list[Path], tmp_path: Path
) -> None:
    """Two MI300X hosts with the same host name and the same device numbers."""
    out = tmp_path / "gpus.xplane.pb"
    prlx.combine(*(f"{node}={path}" for node, path in enumerate(gpu_traces)), "--no-align", "-o", out)

    *raw, streamed, plain = ask_xspace(
        *({"view": [path], "tool": "trace_viewer@"} for path in gpu_traces),
        {"view": [out], "tool": "trace_viewer@"},
        {"view": [out], "tool": "trace_viewer"},
    )

    def gpus(view: dict) -> list[str]:
        return [pid for pid, name in view["processes"].items() if "/device:GPU:" in name]

    def recorded(view: dict) -> Counter:
        """Events on streams. The viewer makes up further rows from HLO, but only from the first node's in a file."""
        rows = {(pid, tid) for pid, tid, name in view["threads"] if name.startswith("Stream")}
        return Counter(event[4] for event in view["events"] if (event[0], event[1]) in rows)

    want = sum(len(gpus(view)) for view in raw)
    assert len(gpus(streamed)) == want
    assert len(gpus(plain)) >= want  # it also lists GPUs without an event
    kernels = sum(map(recorded, raw), Counter())
    assert sum(kernels.values()) > 300
    assert recorded(streamed) == kernels
    assert recorded(plain) == kernels
    hosts = [name for name in streamed["processes"].values() if "/host:CPU" in name]
    assert len(hosts) == len(gpu_traces)
    ids = [plane["id"] for plane in wire.planes(out.read_bytes()) if plane["name"].startswith("/device:GPU:")]
    assert len(ids) == len(set(ids))
    assert max(ids) <= 499


def test_op_statistics_add_up_over_nodes(
    prlx: Callable, ask_xspace: Callable, gpu_traces: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "run_aligned"
    prlx.combine(
        *(f"{node}={path}" for node, path in enumerate(gpu_traces)), "--no-align", "--format", "run", "-o", out
    )
    tool = "framework_op_stats"

    *raw, both = ask_xspace(
        *({"report": [path], "tool": tool} for path in gpu_traces),
        {"report": sorted(out.rglob("*.xplane.pb")), "tool": tool},
    )

    assert both is not None, "xprof could not convert the run directory"
    assert operations(both) == sum((operations(report) for report in raw), Counter())


def operations(report: list[dict]) -> Counter:
    """{(host or device, type, operation): occurrences} of framework_op_stats, idle time left out."""
    columns = [column["id"] for column in report[0]["cols"]]
    where = [columns.index(name) for name in ("host_or_device", "type", "operation", "occurrences")]
    rows = [[row["c"][index]["v"] for index in where] for row in report[0]["rows"]]
    return Counter({tuple(row[:3]): int(row[3]) for row in rows if row[2] != "IDLE"})


@pytest.mark.parametrize("naming", ["document", "tagged", "rocm"])
def test_other_namings_are_readable_too(
    prlx: Callable, ask_xspace: Callable, gpu_traces: list[Path], naming: str, tmp_path: Path
) -> None:
    """Names that other tools expect: the viewer shows less of them (that is why they are not ours), but it reads them."""
    out = tmp_path / "named.xplane.pb"
    nodes = [f"{node}={path}" for node, path in enumerate(gpu_traces)]
    prlx.combine(*nodes, "--no-align", "--naming", naming, "-o", out)

    *raw, named, view = ask_xspace(
        *({"profile": path} for path in gpu_traces), {"profile": out}, {"view": [out], "tool": "trace_viewer@"}
    )

    def events(profile: dict) -> int:
        return sum(len(line["events"]) for plane in profile["planes"] for line in plane["lines"])

    assert view is not None, "xprof could not convert the file"
    assert events(named) == sum(map(events, raw))
    assert len({plane["name"] for plane in named["planes"]}) == len(named["planes"])
