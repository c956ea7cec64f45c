"""Jobs that were traced through prlx.jax and prlx.torch, for the tools that their users open them with.

The jobs run here, in several processes on hosts whose clocks are wrong (tests/clocks/known.py); PyTorch's in the Python that
PRLX_TORCH_PYTHON names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import environments
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))
from test_perfetto import look
from test_xprof_server import free_port, get, server

from clocks import known

__all__ = ["server"]
HOSTS = [0, 1, 2, 3]


@pytest.fixture(scope="module")
def jax_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of a job of JAX."""
    if not environments.JOBS.ready:
        pytest.skip("JAX for this Python is not installed")
    folder = tmp_path_factory.mktemp("jax")
    job = known.run(str(environments.JOBS.python), "jax", folder / "log", folder, HOSTS)
    return Path(job.answers[0]["run"])


@pytest.fixture(scope="module")
def torch_traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The traces of a job of PyTorch."""
    python = os.environ.get("PRLX_TORCH_PYTHON")
    if not python:
        pytest.skip("PRLX_TORCH_PYTHON names no Python that has PyTorch")
    folder = tmp_path_factory.mktemp("torch")
    known.run(python, "torch", folder / "traces", folder, HOSTS)
    return folder / "traces"


def test_xprof_lists_the_run_and_shows_every_host(server: str, jax_run: Path) -> None:
    log = jax_run.parents[2]
    where = {"session_path": jax_run, "run": jax_run.name}
    assert get(server, "runs", session_path=jax_run) == [jax_run.name]
    hosts = [host["hostname"] for host in get(server, "hosts", **where, tag="trace_viewer@")]
    assert hosts == [f"node{host}.rank{host}" for host in HOSTS]
    assert len(list(log.rglob("*.snapshot_pairs.pb"))) == len(HOSTS)


def test_xprof_shows_every_host_of_the_aligned_run(prlx: Callable, server: str, jax_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "aligned"
    document = prlx.combine(jax_run, "-o", out)
    assert document["status"] == "aligned"
    assert document["collectives"]["after"]["violated"] == 0
    where = {"session_path": out, "run": out.name}
    hosts = [host["hostname"] for host in get(server, "hosts", **where, tag="trace_viewer@")]
    trace = get(server, "data", **where, tag="trace_viewer@", hosts=",".join(hosts))
    names = [e["args"]["name"] for e in trace["traceEvents"] if e.get("ph") == "M" and e["name"] == "process_name"]
    assert {f"{host} /host:CPU" for host in hosts} <= set(names)
    assert len(hosts) == len(HOSTS)


def test_what_xprof_captures_of_a_server_has_the_clocks(prlx: Callable, ask_xspace: Callable, tmp_path: Path) -> None:
    """After prlx.jax.trace in the process: TensorBoard's capture, and XProf's continuous profiling."""
    if not environments.JOBS.ready:
        pytest.skip("JAX for this Python is not installed")
    port = free_port()
    program = Path(known.__file__).with_name("jax_sessions.py")
    asked = [environments.JOBS.python, program, tmp_path / "own", str(port)]
    paths = {**os.environ, "PYTHONPATH": str(environments.REPOSITORY / "python")}
    with subprocess.Popen(asked, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=paths) as process:
        assert process.stdout is not None
        while process.stdout.readline() != "serving\n":
            assert process.poll() is None
        (traces,) = ask_xspace({"capture": f"127.0.0.1:{port}", "into": tmp_path})
        process.communicate("", timeout=60)
    assert len(traces) == 2
    for trace in traces:
        (file,) = json.loads(prlx("inspect", trace, "--json").stdout)["files"]
        assert {plane["name"]: plane["events"] for plane in file["planes"]}["/host:snapshots"] >= 2


def test_hta_and_tensorboard_see_what_they_see_without_clocks(
    ask_kineto: Callable, torch_traces: Path, tmp_path: Path
) -> None:
    """PyTorch exports a trace once, so its own handler's directory is ours without what ours adds."""
    plain = tmp_path / "plain"
    plain.mkdir()
    for path in torch_traces.glob("*.pt.trace.json"):
        document = json.loads(path.read_text())
        assert document.pop("prlx_snapshots")["pairs"]
        (plain / path.name).write_text(json.dumps(document))
    questions = [{tool: folder} for tool in ("hta", "tensorboard") for folder in (torch_traces, plain)]
    with_clocks, want, shown, wanted = ask_kineto(*questions)
    assert with_clocks == want
    assert shown == wanted
    assert with_clocks["ranks"] == HOSTS
    assert with_clocks["rows"] > 0
    assert len(shown["workers"]) == len(HOSTS)
    assert shown["operator_calls"] > 0


def test_perfetto_opens_the_combined_trace(
    prlx: Callable, ask_perfetto: Callable, torch_traces: Path, tmp_path: Path
) -> None:
    out = tmp_path / "combined.json"
    document = prlx.combine(torch_traces, "-o", out)
    assert document["status"] == "aligned"
    raw = [look(ask_perfetto, path) for path in sorted(torch_traces.glob("*.pt.trace.json"))]
    merged = look(ask_perfetto, out)
    assert merged["slices"] == sum(one["slices"] for one in raw)
    assert not merged["errors"] - sum((one["errors"] for one in raw), merged["errors"].__class__())
