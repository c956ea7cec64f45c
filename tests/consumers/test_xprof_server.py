"""The page that prlx names at the end opens: a real XProf server on the loopback serves the aligned run directory."""

from __future__ import annotations

import gzip
import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode

import environments
import pytest
import recordings

START_SECONDS = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an XProf server."""
    if not environments.XSPACE.ready:
        pytest.skip("xprof is not installed")
    port, log = free_port(), tmp_path_factory.mktemp("server") / "log"
    command = [environments.XSPACE.directory / "bin" / "xprof", "server", "--port", port, "--grpc_port", free_port()]
    with log.open("wb") as out:
        process = subprocess.Popen([str(part) for part in command], stdout=out, stderr=subprocess.STDOUT)
    try:
        yield wait_for(f"http://127.0.0.1:{port}", process, log)
    finally:
        process.terminate()
        process.wait(timeout=30)


def wait_for(address: str, process: subprocess.Popen, log: Path) -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/", timeout=5):
                return address
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    raise AssertionError(f"xprof server did not start: {log.read_text(errors='replace')[-2000:]}")


def get(server: str, what: str, **query: object) -> object:
    address = f"{server}/data/plugin/profile/{what}?{urlencode(query)}"
    with urllib.request.urlopen(address, timeout=60) as answer:
        body = answer.read()
    return json.loads(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)  # compressed, asked or not


def test_server_opens_the_run_directory(prlx: Callable, server: str, tmp_path: Path) -> None:
    recording = recordings.Skewed("p4")
    out = tmp_path / "run_aligned"
    done = prlx("combine", *recording.traces, "--probes", *recording.probes, "--format", "run", "-o", out)
    where = {"session_path": out, "run": out.name}

    assert f"session_path={out}" in done.stderr
    assert get(server, "runs", session_path=out) == [out.name]
    hosts = [host["hostname"] for host in get(server, "hosts", **where, tag="trace_viewer@")]
    assert hosts == [path.name.removesuffix(".xplane.pb") for path in recording.traces]
    trace = get(server, "data", **where, tag="trace_viewer@", hosts=",".join(hosts))
    names = [e["args"]["name"] for e in trace["traceEvents"] if e.get("ph") == "M" and e["name"] == "process_name"]
    assert sorted(names) == [f"{host} /host:CPU" for host in hosts]
    assert get(server, "data", **where, tag="overview_page", host="ALL_HOSTS")
