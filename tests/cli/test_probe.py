"""Probers as people run them: processes of their own, on loopback, with ports that the system gives."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import prlx as package

KEY = "a key that all processes of this job know"


def ports(count):
    """Free UDP ports of loopback."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    found = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return found


@pytest.fixture
def peers():
    return [f"127.0.0.1:{port}" for port in ports(2)]


def start(folder, *arguments, key=KEY):
    """A prober in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "prlx", "probe", "--json", *arguments],
        cwd=folder,
        env={**os.environ, "PRLX_JOB_KEY": key},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until(what, seconds=60):
    """Wait for what processes do; how long that takes is not what is tested."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def stamps(path):
    """The whole lines of a file of stamps but its meta lines."""
    if not path.exists():
        return []
    lines = path.read_text().split("\n")[:-1]
    return [row for row in map(json.loads, lines) if "meta" not in row]


def test_two_probers_measure_each_other_and_ctrl_c_ends_them(tmp_path, peers):
    listed = ",".join(peers)
    running = [
        start(tmp_path, "--peers", listed, "--node", str(node), "-o", "probes", "--rate", "200") for node in (0, 1)
    ]
    files = [tmp_path / f"probes/probes_node{node}.jsonl" for node in (0, 1)]
    until(lambda: all(len(stamps(file)) >= 60 for file in files))
    for one in running:
        one.send_signal(signal.SIGINT)
    for node, one in enumerate(running):
        out, err = one.communicate(timeout=60)
        assert one.returncode == 0, err
        document = json.loads(out)
        assert (document["status"], document["node"]) == ("measured", node)
        assert document["counters"]["recorded"] == document["stamps_written"] == len(stamps(files[node]))
        assert document["counters"]["rejected"] == 0
    solved = package.solve_offsets(files, progress=False)
    other = solved.nodes[1]
    assert abs(other.offset_ns) <= other.bound_max_ns  # one clock: the truth is 0


def test_what_was_recorded_survives_a_kill_and_the_next_prober_goes_on(tmp_path, peers):
    listed = ",".join(peers)
    first = [
        start(tmp_path, "--peers", listed, "--node", str(node), "-o", "probes", "--rate", "200") for node in (0, 1)
    ]
    file = tmp_path / "probes/probes_node1.jsonl"
    until(lambda: len(stamps(file)) >= 50)
    first[1].kill()
    first[1].communicate()
    before = stamps(file)
    with file.open("a") as f:
        f.write('{"src":1,"ds')  # a kill in the middle of a write
    again = start(tmp_path, "--peers", listed, "--node", "1", "-o", "probes", "--rate", "200")
    until(lambda: len(stamps(file)) >= len(before) + 50)
    for one in (first[0], again):
        one.send_signal(signal.SIGINT)
        out, err = one.communicate(timeout=60)
        assert one.returncode == 0, err
    assert stamps(file)[: len(before)] == before
    other = package.solve_offsets([file, tmp_path / "probes/probes_node0.jsonl"], progress=False).nodes[1]
    assert abs(other.offset_ns) <= other.bound_max_ns
    assert json.loads(out)["counters"]["answered"] >= 50


def test_another_key_measures_nothing_and_says_so(tmp_path, peers):
    listed = ",".join(peers)
    running = [
        start(
            tmp_path,
            "--peers",
            listed,
            "--node",
            str(node),
            "-o",
            f"probes{node}",
            "--rate",
            "200",
            key=f"{KEY} {node}",
        )
        for node in (0, 1)
    ]
    for one in running:
        one.stderr.readline()  # it probes
    time.sleep(1.5)
    for one in running:
        one.send_signal(signal.SIGINT)
    documents = [json.loads(one.communicate(timeout=60)[0]) for one in running]
    for node, document in enumerate(documents):
        assert document["counters"]["answered"] == document["counters"]["given"] == 0
        assert stamps(tmp_path / f"probes{node}/probes_node{node}.jsonl") == []
        assert any("never answered" in warning for warning in document["warnings"])
    assert any(document["counters"]["foreign"] for document in documents)


def test_one_process_of_a_host_measures_and_the_next_takes_over(tmp_path, peers):
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("\n".join(peers))  # both are this machine: the first one is taken
    running = [start(tmp_path, "--peers", "hosts.txt", "-o", "probes") for _ in range(2)]
    file = tmp_path / "probes/probes_node0.jsonl"
    for one in running:
        one.stderr.readline()  # it measures or waits
    until(lambda: file.exists() and file.read_text().count('"meta"') == 1)
    time.sleep(0.5)
    assert file.read_text().count('"meta"') == 1
    # which of the two measures is not known: whoever ends first, the other one does then
    running[0].send_signal(signal.SIGINT)
    first = json.loads(running[0].communicate(timeout=60)[0])
    if first["status"] != "elsewhere":
        until(lambda: file.read_text().count('"meta"') == 2)
    running[1].send_signal(signal.SIGINT)
    second = json.loads(running[1].communicate(timeout=60)[0])
    assert second["status"] == "inconclusive"  # it probed, and nobody runs at the other peer


def test_a_prober_says_whether_it_measures_or_waits(tmp_path, peers):
    words = ["--peers", ",".join(peers), "--node", "0", "-o", "probes", "--duration", "1min"]
    running = [start(tmp_path, *words) for _ in range(2)]
    said = sorted(one.stderr.readline() for one in running)  # at the latest when the minute ends
    for one in running:
        one.send_signal(signal.SIGINT)
        one.communicate(timeout=60)
    assert said == ["probing into probes\n", "waiting: another process of this host measures\n"]


@pytest.mark.parametrize(
    ("arguments", "environment", "says"),
    [
        (["--peers", "a:1,b:2"], {}, "--job-file"),
        (["--peers", "a:1,b:2"], {"PRLX_JOB_KEY": "short"}, "16"),
        (["--peers", "a:1,b:2"], {"PRLX_JOB_KEY": KEY}, "--node"),
        (["--peers", "a:1,b:2", "--node", "2"], {"PRLX_JOB_KEY": KEY}, "--node is 2"),
        (["--peers", "a:1,b:2", "--node", "x"], {"PRLX_JOB_KEY": KEY}, "node"),
        (["--peers", "a:1,a:1"], {"PRLX_JOB_KEY": KEY}, "twice"),
        (["--peers", "a:1"], {"PRLX_JOB_KEY": KEY}, "1 peers"),
        (["--peers", "a:0,b:1"], {"PRLX_JOB_KEY": KEY}, "65535"),
        (["--peers", "./nothing.txt"], {"PRLX_JOB_KEY": KEY}, "nothing.txt"),
        ([], {"PRLX_JOB_KEY": KEY}, "--peers"),
        ([], {"PRLX_JOB_KEY": KEY, "MASTER_ADDR": "a"}, "MASTER_ADDR"),
        (["--peers", "a:1,b:2", "--duration", "soon"], {"PRLX_JOB_KEY": KEY}, "10min"),
        (["--peers", "a:1,b:2", "--keep", "-1s"], {"PRLX_JOB_KEY": KEY}, "keep"),
    ],
)
def test_mistakes_are_explained(tmp_path, arguments, environment, says):
    clean = {name: value for name, value in os.environ.items() if name not in ("PRLX_JOB_KEY", "MASTER_ADDR")}
    ran = subprocess.run(
        [sys.executable, "-m", "prlx", "probe", "-o", "probes", *arguments],
        cwd=tmp_path,
        env={**clean, **environment},
        capture_output=True,
        text=True,
    )
    assert ran.returncode in (2, 3), ran.stderr
    assert says in ran.stderr
    assert "probing" not in ran.stderr, "a refusal comes before any word of success"
    assert not Path(tmp_path / "probes").exists()


def test_a_port_that_is_taken_is_named(tmp_path, peers):
    host, port = peers[0].split(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind((host, int(port)))
        one = start(tmp_path, "--peers", ",".join(peers), "--node", "0", "-o", "probes")
        _, err = one.communicate(timeout=60)
    assert one.returncode == 3
    assert f"port {port} is taken" in err
    assert "probing" not in err
