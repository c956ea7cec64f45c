"""The doors of frameworks, with stand-ins for the frameworks: what they write, under which names, and what they leave alone.

``test_frameworks`` runs the same with JAX and PyTorch where they are installed.
"""

from __future__ import annotations

import gzip
import itertools
import json
import re
import socket
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest

import prlx
import prlx.jax
import prlx.torch
from prlx import _clocks, _peers

TRACE = {"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "op", "pid": 1, "tid": 1, "ts": 5, "dur": 2}]}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*_clocks._RANKS, *_clocks._SIZES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(prlx.torch, "_handlers", itertools.count())
    monkeypatch.setattr(prlx.torch, "_LOOK_S", 3600)


# torch


class Profiler:
    """Stands for a profiler whose recording has ended."""

    def export_chrome_trace(self, path: str) -> None:
        text = json.dumps(TRACE)
        if path.endswith(".gz"):
            Path(path).write_bytes(gzip.compress(text.encode()))
        else:
            Path(path).write_text(text)


def group(rank: int, size: int) -> types.SimpleNamespace:
    """Stands for torch.distributed."""
    return types.SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: size > 0,
        get_backend=lambda: "gloo",
        get_rank=lambda: rank,
        get_world_size=lambda: size,
    )


class Store:
    """Stands for the store of a process group."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def set(self, key: str, value: str) -> None:
        self.values[key] = value.encode()

    def get(self, key: str) -> bytes:
        return self.values[key]

    def check(self, keys: list[str]) -> bool:
        return all(key in self.values for key in keys)


def put(monkeypatch: pytest.MonkeyPatch, rank: int, size: int, store: Store | None = None) -> Store:
    """Make torch one of several processes."""
    store = store or Store()
    torch, c10d = types.ModuleType("torch"), types.ModuleType("torch.distributed.distributed_c10d")
    torch.distributed = group(rank, size)  # type: ignore[attr-defined]
    c10d._get_default_store = lambda: store  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.distributed.distributed_c10d", c10d)
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "9")
    return store


def read(path: Path) -> dict[str, Any]:
    """A trace."""
    content = path.read_bytes()
    found: dict[str, Any] = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
    return found


@pytest.mark.parametrize("size", [0, 1])
def test_a_process_on_its_own_writes_the_trace_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    put(monkeypatch, 0, size)
    handler = prlx.torch.trace_handler(tmp_path / "new")
    handler(Profiler())
    assert list((tmp_path / "new").iterdir()) == handler.paths
    assert read(handler.paths[0]) == TRACE
    assert handler.clocks is None


@pytest.mark.parametrize("use_gzip", [False, True])
def test_one_of_several_has_clocks_in_its_trace_and_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use_gzip: bool
) -> None:
    put(monkeypatch, 3, 8)
    handler = prlx.torch.trace_handler(tmp_path, worker_name="w", use_gzip=use_gzip, period_ms=3_600_000)
    handler(Profiler())
    handler(Profiler())
    handler.close()
    assert len(handler.paths) == 2
    for path in handler.paths:
        assert re.fullmatch(r"w\.\d+\.pt\.trace\.json" + (r"\.gz" if use_gzip else ""), path.name)
        found = read(path)
        assert found["traceEvents"] == TRACE["traceEvents"]
        assert found["distributedInfo"] == {"backend": "gloo", "rank": 3, "world_size": 8}
        assert len(found["prlx_snapshots"]["pairs"]) >= 2
        assert found["prlx_snapshots"]["tracer_clock_name"] == "CLOCK_MONOTONIC_RAW"
    assert handler.clocks is not None
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["w.pairs.jsonl", *(path.name for path in handler.paths)]
    )
    assert handler.clocks.counters["snapshots_taken"] == 4
    assert json.loads((tmp_path / "w.pairs.jsonl").read_text().splitlines()[0])["rank"] == 3


def test_a_group_that_is_made_late_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, 0, 0)
    handler = prlx.torch.trace_handler(tmp_path)
    handler.look()
    assert handler.clocks is None
    put(monkeypatch, 1, 2)
    handler.look()
    assert handler.clocks is not None
    handler.look()
    handler.close()
    assert len(list(tmp_path.glob("*.pairs.jsonl"))) == 1


def test_the_launcher_tells_before_the_group_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    handler = prlx.torch.trace_handler(tmp_path)
    assert handler.clocks is not None
    assert prlx.torch.trace_handler(tmp_path, snapshots=False).clocks is None
    handler.close()


def test_ranks_measure_each_others_clocks_once_all_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_peers, "Probes", Prober)
    monkeypatch.setattr(_clocks, "Probes", Prober)
    monkeypatch.setattr(Prober, "asked", None)
    store = put(monkeypatch, 1, 3)
    handler = prlx.torch.trace_handler(tmp_path, probes=True)
    mine = store.get("prlx/0/peer/1").decode()
    assert re.fullmatch(rf"{_peers.host_clock()}/\S+/127\.0\.0\.1 127\.0\.0\.1:\d+", mine)
    store.set("prlx/0/key", "secret of the job")
    store.set("prlx/0/peer/0", "first 10.0.0.1:7")
    handler.look()
    assert Prober.asked is None  # one is missing, and nobody waits for it
    store.set("prlx/0/peer/2", "second 10.0.0.2:7")
    handler.look()
    assert Prober.asked["peers"] == ["10.0.0.1:7", mine.split()[1], "10.0.0.2:7"]
    assert str(Prober.asked["node"]) == "1"
    assert Prober.asked["ranks"] == [[0], [1], [2]]
    assert Prober.asked["environment"] == {"PRLX_JOB_KEY": "secret of the job"}
    monkeypatch.setattr(Prober, "asked", {**Prober.asked, "again": True})
    handler.look()
    assert "again" in Prober.asked  # it was started once
    handler.close()
    assert handler.clocks is not None
    assert handler.clocks.probes == tmp_path / "probes_node1.jsonl"


def test_a_handler_by_itself_finds_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody calls it before a trace is ready; the second handler of a process meets the second ones of the others."""
    monkeypatch.setattr(_peers, "Probes", Prober)
    monkeypatch.setattr(_clocks, "Probes", Prober)
    monkeypatch.setattr(prlx.torch, "_LOOK_S", 0.01)
    store = put(monkeypatch, 1, 2)
    for number in range(2):
        monkeypatch.setattr(Prober, "asked", None)
        handler = prlx.torch.trace_handler(tmp_path)
        mine = store.get(f"prlx/{number}/peer/1").decode()
        store.set(f"prlx/{number}/key", f"secret {number} of the job")
        store.set(f"prlx/{number}/peer/0", f"first 10.0.0.{number}:7")
        until = time.monotonic() + 60
        while Prober.asked is None and time.monotonic() < until:
            time.sleep(0.01)
        handler.close()
        assert Prober.asked["peers"] == [f"10.0.0.{number}:7", mine.split()[1]]
        assert Prober.asked["environment"] == {"PRLX_JOB_KEY": f"secret {number} of the job"}


def test_a_store_that_fails_ends_no_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Store):
        def set(self, key: str, value: str) -> None:
            raise RuntimeError(f"Broken pipe: {key}={value}")

    put(monkeypatch, 0, 2, Broken())
    with pytest.warns(UserWarning, match="clocks of the other ranks are not measured: Broken pipe"):
        handler = prlx.torch.trace_handler(tmp_path)
    handler.look()
    handler(Profiler())
    handler.close()
    assert "prlx_snapshots" in read(handler.paths[0])


def test_a_trace_is_kept_where_clocks_cannot_be_put_into_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Listed(Profiler):
        def export_chrome_trace(self, path: str) -> None:
            Path(path).write_text("[]")  # no object: there is no place for clocks

    put(monkeypatch, 0, 2)
    for use_gzip in (False, True):
        handler = prlx.torch.trace_handler(tmp_path, use_gzip=use_gzip)
        with pytest.warns(UserWarning, match="no clocks in it"):
            handler(Listed())
        handler.close()
        assert read(handler.paths[0]) == []


def test_clocks_that_cannot_be_read_end_no_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, 0, 2)
    with pytest.warns(UserWarning, match="no clocks are recorded"):
        handler = prlx.torch.trace_handler(tmp_path, tracer="cupti")
    handler(Profiler())
    assert read(handler.paths[0]) == TRACE
    with pytest.raises(prlx.UsageError, match="cuptiGetTimestamp"):
        prlx.torch.trace_handler(tmp_path, tracer="cupti", snapshots=True)


# JAX


class Service:
    """Stands for JAX's coordination service."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def key_value_set(self, key: str, value: str) -> None:
        assert key not in self.values
        self.values[key] = value

    def blocking_key_value_get(self, key: str, _timeout_ms: int) -> str:
        return self.values[key]


class Prober:
    """Stands for a prober of the core: it notes what it is asked, and leaves a file."""

    asked: Any = None
    answered = 5

    def __init__(self, asked: dict[str, Any]) -> None:
        type(self).asked = asked
        self.running = True
        self.result: Any = None

    def counters(self) -> dict[str, int]:
        return {"probes_answered": self.answered}

    def stop(self) -> None:
        self.running = False
        path = Path(self.asked["output"]) / f"probes_node{self.asked['node']}.jsonl"
        path.touch()
        self.result = types.SimpleNamespace(path=path)


class FakeJax:
    """Stands for one process of JAX: its profiler writes a file named after the host, as JAX's does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, process: int, processes: int, service: Service | None) -> None:
        self.registered: list[object] = []
        self.started: list[dict[str, object]] = []
        self.fails = False
        jax, distributed, extension = (
            types.ModuleType("jax"),
            types.ModuleType("jax._src.distributed"),
            types.ModuleType("p"),
        )
        jax.process_index, jax.process_count = lambda: process, lambda: processes  # type: ignore[attr-defined]
        jax.profiler = types.SimpleNamespace(start_trace=self.start, stop_trace=self.stop)  # type: ignore[attr-defined]
        distributed.global_state = types.SimpleNamespace(client=service, coordinator_address="127.0.0.1:9")  # type: ignore[attr-defined]
        extension.register_plugin_profiler = self.registered.append  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "jax", jax)
        monkeypatch.setitem(sys.modules, "jax._src.distributed", distributed)
        monkeypatch.setitem(sys.modules, "jaxlib._profiler", extension)

    def start(self, log_dir: str, **options: object) -> None:
        if self.fails:
            raise RuntimeError("only one profile at a time")
        self.directory = Path(log_dir)
        self.started.append(options)

    def stop(self) -> None:
        run = self.directory / "plugins" / "profile" / "2026_01_01_00_00_00"
        run.mkdir(parents=True)
        (run / f"{socket.gethostname()}.xplane.pb").write_bytes(b"xspace")
        (run / f"{socket.gethostname()}.trace.json.gz").write_bytes(b"json")


@pytest.fixture
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prlx.jax, "_runs", 0)
    monkeypatch.setattr(prlx.jax, "_registered", False)
    monkeypatch.setattr(prlx.jax, "_running", None)


@pytest.mark.usefixtures("_fresh")
def test_a_single_process_of_jax_is_traced_as_jax_does_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jax = FakeJax(monkeypatch, 0, 1, None)
    with prlx.jax.trace(tmp_path, create_perfetto_link=False) as traced:
        pass
    host = socket.gethostname()
    assert traced.xplane == tmp_path / "plugins" / "profile" / "2026_01_01_00_00_00" / f"{host}.xplane.pb"
    assert traced.snapshots is None
    assert jax.started == [{"create_perfetto_link": False}]
    assert jax.registered == []
    assert not (tmp_path / ".prlx").exists()


@pytest.mark.usefixtures("_fresh")
def test_processes_of_one_host_write_one_run_under_names_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, host = Service(), socket.gethostname()
    FakeJax(monkeypatch, 0, 2, service)
    first = prlx.jax.start_trace(tmp_path, probes=False)
    assert first.run_dir is not None
    prlx.jax.stop_trace()
    assert service.values["prlx/trace/1/name"] == first.run_dir.name

    monkeypatch.setattr(prlx.jax, "_runs", 0)
    jax = FakeJax(monkeypatch, 1, 2, service)
    with prlx.jax.trace(tmp_path, period_ms=3_600_000, probes=False) as second:
        assert second.processes == 2
    assert second.run_dir == first.run_dir
    assert sorted(path.name for path in first.run_dir.iterdir()) == sorted(
        f"{host}.rank{rank}.{ending}"
        for rank in range(2)
        for ending in ("xplane.pb", "trace.json.gz", "snapshot_pairs.pb")
    )
    assert second.xplane == second.run_dir / f"{host}.rank1.xplane.pb"
    assert second.snapshots is not None
    assert second.counters["snapshots_taken"] == 2
    assert _clocks.finished(second.snapshots)["pairs"] == 2
    assert second.command == f"prlx combine {second.run_dir}"
    assert len(jax.registered) == 0  # this process has a profiler of ours already
    assert list(tmp_path.iterdir()) == [tmp_path / "plugins"]


@pytest.mark.usefixtures("_fresh")
def test_runs_of_one_second_are_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service, runs = Service(), []
    jax = FakeJax(monkeypatch, 0, 2, service)
    monkeypatch.setattr(prlx.jax.time, "strftime", lambda _: "2026_03_01_12_00_00")
    for _ in range(3):
        with prlx.jax.trace(tmp_path, probes=False) as traced:
            pass
        assert traced.run_dir is not None
        runs.append(traced.run_dir.name)
    assert runs == ["2026_03_01_12_00_00", "2026_03_01_12_00_00_2", "2026_03_01_12_00_00_3"]
    assert len(jax.registered) == 1


def test_machines_restored_from_one_snapshot_are_hosts_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have one boot id, perhaps one name, and addresses of their own; processes of one host have all three in common."""
    monkeypatch.setattr(_peers, "Probes", Prober)
    boot = "cdded398-0000"
    told = [f"{boot}/vm/10.0.0.1 10.0.0.1:1", f"{boot}/vm/10.0.0.1 10.0.0.1:2", f"{boot}/vm/10.0.0.2 10.0.0.2:1"]
    assert _peers.probes(told, 1, "a key of the job", tmp_path) is None
    for process, node in ((0, 0), (2, 1)):
        assert _peers.probes(told, process, "a key of the job", tmp_path) is not None
        assert Prober.asked["ranks"] == [[0, 1], [2]]
        assert Prober.asked["node"] == str(node) or Prober.asked["node"] == node
    monkeypatch.setattr(_peers, "host_clock", lambda: boot)
    first = _peers.introduction("127.0.0.1", 9)
    assert first.split()[0] == _peers.introduction("127.0.0.1", 9).split()[0]
    monkeypatch.setattr("socket.gethostname", lambda: "another name")
    assert first.split()[0] != _peers.introduction("127.0.0.1", 9).split()[0]


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize("answered", [5, 0])
def test_the_processes_measure_each_others_clocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answered: int
) -> None:
    service = Service()
    service.values |= {
        "prlx/trace/1/name": "run", "prlx/trace/1/key": "secret of the job", "prlx/trace/1/peer/0": "first 10.0.0.1:7",
        "prlx/trace/1/peer/1": "first [fe80::1]:7",
        "prlx/trace/1/peer/3": _peers.introduction("127.0.0.1", 9).split()[0] + " 10.0.0.2:8",
    }  # fmt: skip
    FakeJax(monkeypatch, 2, 4, service)
    monkeypatch.setattr(Prober, "answered", answered)
    monkeypatch.setattr(_peers, "Probes", Prober)
    monkeypatch.setattr(_clocks, "Probes", Prober)
    with prlx.jax.trace(tmp_path) as traced:
        mine = service.values["prlx/trace/1/peer/2"]
        assert re.fullmatch(rf"{_peers.host_clock()}/\S+/127\.0\.0\.1 127\.0\.0\.1:\d+", mine)
    asked = Prober.asked
    assert asked["peers"] == ["10.0.0.1:7", mine.split()[1]]  # a host measures once
    assert str(asked["node"]) == "1"
    assert asked["ranks"] == [[0, 1], [2, 3]]
    assert asked["environment"] == {"PRLX_JOB_KEY": "secret of the job"}
    assert traced.run_dir == tmp_path / "plugins" / "profile" / "run"
    if answered:
        assert traced.probes == traced.run_dir / "probes_node1.jsonl"
        assert traced.probes.exists()
    else:  # a file without stamps would stand in the way of combining
        assert traced.probes is None
        assert not list(tmp_path.rglob("probes_*"))


@pytest.mark.parametrize(
    ("process", "hosts", "node"),
    [(0, "aabb", 0), (1, "aabb", None), (2, "aabb", 1), (3, "abab", None), (1, "abab", 1), (0, "aaaa", None)],
)
def test_the_first_process_of_a_host_measures_for_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, process: int, hosts: str, node: int | None
) -> None:
    monkeypatch.setattr(_peers, "Probes", Prober)
    told = [f"clock-{host} 10.0.0.{rank}:7" for rank, host in enumerate(hosts)]
    prober = _peers.probes(told, process, "secret of the job", tmp_path)
    assert (prober is None) == (node is None)
    if prober is not None:
        assert int(Prober.asked["node"]) == node
        assert Prober.asked["peers"] == [told[hosts.index(host)].split()[1] for host in "ab"]


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize("key", ["", "a key of the job of SLURM"])
def test_processes_that_jax_does_not_relate_have_what_their_launcher_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    for name, value in {
        "SLURM_PROCID": "3",
        "SLURM_NTASKS": "8",
        "SLURM_JOB_NODELIST": "a,b",
        "PRLX_JOB_KEY": key,
    }.items():
        monkeypatch.setenv(name, value)
    FakeJax(monkeypatch, 0, 1, None)
    monkeypatch.setattr(prlx.jax, "Probes", Prober)
    monkeypatch.setattr(_clocks, "Probes", Prober)
    monkeypatch.setattr(Prober, "asked", None)
    with prlx.jax.trace(tmp_path) as traced:
        pass
    assert traced.xplane is not None
    assert traced.xplane.name == f"{socket.gethostname()}.rank3.xplane.pb"
    assert (Prober.asked is None) == (not key)
    if key:
        assert Prober.asked["peers"] is None
        assert Prober.asked["environment"]["SLURM_JOB_NODELIST"] == "a,b"


@pytest.mark.usefixtures("_fresh")
def test_a_job_whose_processes_do_not_answer_is_traced_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeJax(monkeypatch, 0, 2, Service())
    with (
        pytest.warns(UserWarning, match="clocks of the other processes are not measured"),
        prlx.jax.trace(tmp_path) as traced,
    ):
        pass
    assert traced.xplane is not None
    assert traced.snapshots is not None
    assert traced.probes is None


@pytest.mark.usefixtures("_fresh")
def test_the_options_of_the_profiler_may_say_the_cadence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeJax(monkeypatch, 0, 1, None)
    monkeypatch.setenv("PRLX_SNAPSHOT_PERIOD_MS", "40")
    monkeypatch.setenv("XLA_ROCM_SNAPSHOT_PERIOD_MS", "50")
    options = types.SimpleNamespace(advanced_configuration={"snapshot_pair_period_ms": 250})
    for arguments, want in (({}, 250), ({"period_ms": 30}, 30)):
        with prlx.jax.trace(tmp_path, snapshots=True, profiler_options=options, **arguments) as traced:  # type: ignore[arg-type]
            assert traced._clocks is not None
            assert traced._clocks.period_ms == want


@pytest.mark.usefixtures("_fresh")
def test_options_that_cannot_be_read_do_not_stop_a_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Options:
        @property
        def advanced_configuration(self) -> object:
            raise TypeError("Unable to convert function return value to a Python type!")  # JAX 0.6

    FakeJax(monkeypatch, 0, 1, None)
    with prlx.jax.trace(tmp_path, snapshots=True, profiler_options=Options()) as traced:
        assert traced._clocks is not None
        assert traced._clocks.period_ms == 4000


@pytest.mark.usefixtures("_fresh")
def test_process_0_combines_what_it_can_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service, asked = Service(), []
    service.values["prlx/trace/1/done/1"] = "another"
    FakeJax(monkeypatch, 0, 2, service)
    monkeypatch.setattr(
        "prlx._combine.combine_traces", lambda path, **named: asked.append((path, named["output"])) or "combined"
    )
    said = "1 of 2 traces are not in .*then: prlx combine"
    with pytest.warns(UserWarning, match=said), prlx.jax.trace(tmp_path, probes=False, combine=True) as traced:
        pass
    assert traced.combined is None
    assert traced.run_dir is not None

    service.values["prlx/trace/2/done/1"] = "another"
    with prlx.jax.trace(tmp_path, probes=False, combine=True) as traced:
        assert traced.run_dir is not None
        traced.run_dir.mkdir(parents=True)
        (traced.run_dir / "another.xplane.pb").touch()
    assert traced.combined == "combined"  # type: ignore[comparison-overlap]
    assert asked == [(traced.run_dir, traced.run_dir.with_name(f"{traced.run_dir.name}_aligned"))]


@pytest.mark.usefixtures("_fresh")
def test_a_trace_that_does_not_start_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jax = FakeJax(monkeypatch, 0, 1, None)
    jax.fails = True
    with pytest.raises(RuntimeError, match="one profile"), prlx.jax.trace(tmp_path, snapshots=True):
        pass
    assert list(tmp_path.rglob("*.jsonl")) == []
    jax.fails = False
    with prlx.jax.trace(tmp_path, snapshots=True) as traced, pytest.raises(prlx.UsageError, match="already"):
        prlx.jax.start_trace(tmp_path)
    assert traced.snapshots is not None
    with pytest.raises(prlx.UsageError, match="no trace"):
        prlx.jax.stop_trace()


@pytest.mark.usefixtures("_fresh")
def test_clocks_that_cannot_be_read_end_no_tracing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeJax(monkeypatch, 0, 2, Service())
    with pytest.warns(UserWarning, match="no clocks are recorded"), prlx.jax.trace(tmp_path, tracer="hsa") as traced:
        pass
    assert traced.xplane is not None
    assert traced.snapshots is None


def test_importing_prlx_or_a_door_imports_no_framework() -> None:
    show = "print([name for name in ('jax', 'torch', 'numpy') if name in sys.modules])"
    program = f"import prlx, prlx.jax, prlx.torch, sys; prlx.torch, prlx.jax; {show}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
