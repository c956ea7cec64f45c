"""Real probers whom something happens to: kills, full disks, strangers' packets, a host that is suspended, unknown names."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import time

import pytest

import prlx as package

from .test_probe import ports, stamps, start, until

# How long strangers send packets: make corpus lets them do so for a minute.
SECONDS = 60 if os.environ.get("PRLX_PROBE_RUNS") == "all" else 2
ROOT = os.geteuid() == 0


@pytest.fixture
def peers():
    return [f"127.0.0.1:{port}" for port in ports(2)]


def both(folder, peers, *arguments):
    """Two probers of one job, in two folders."""
    listed = ",".join(peers)
    return [
        start(folder, "--peers", listed, "--node", str(node), "-o", f"probes{node}", "--rate", "200", *arguments)
        for node in (0, 1)
    ]


def files(folder):
    return [folder / f"probes{node}/probes_node{node}.jsonl" for node in (0, 1)]


def ended(running, *, code=0):
    """The documents of probers that Ctrl-C ends."""
    for one in running:
        one.send_signal(signal.SIGINT)
    documents = []
    for one in running:
        out, err = one.communicate(timeout=60)
        assert one.returncode == code, err
        documents.append(json.loads(out))
    return documents


def truth_is_inside(found):
    """Both probers are on one clock: the difference is 0."""
    other = package.solve_offsets(found, progress=False).nodes[1]
    assert abs(other.offset_ns) <= other.bound_max_ns


def test_a_kill_costs_the_last_moment(tmp_path, peers):
    running = both(tmp_path, peers)
    until(lambda: all(len(stamps(file)) >= 300 for file in files(tmp_path)))
    running[1].kill()
    killed = time.time_ns()
    running[1].communicate()
    last = max(row["t4"] for row in stamps(files(tmp_path)[1]))
    assert killed - last < 10 * 10**9, "a second, on a machine that is ten times as busy"
    ended(running[:1])
    truth_is_inside(files(tmp_path))


def test_an_interrupt_leaves_all_that_was_measured(tmp_path, peers):
    running = both(tmp_path, peers)
    until(lambda: all(len(stamps(file)) >= 100 for file in files(tmp_path)))
    for document, file in zip(ended(running), files(tmp_path), strict=True):
        assert document["stamps_lost"] == 0
        assert document["stamps_written"] == document["counters"]["recorded"] == len(stamps(file))
        assert document["counters"]["recorded"] >= document["counters"]["answered"] - 1


def test_a_full_disk_loses_stamps_and_the_prober_goes_on(tmp_path, peers):
    if not ROOT:
        pytest.skip("1 measurement left out: a small disk needs root")
    small = tmp_path / "probes1"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(small)], capture_output=True)
    if mounted.returncode:
        pytest.skip("1 measurement left out: nothing can be mounted here")
    try:
        running = both(tmp_path, peers)
        until(lambda: len(stamps(files(tmp_path)[0])) >= 1500)
        kept, lost = ended(running)
        assert kept["stamps_lost"] == 0
        assert lost["stamps_lost"] > 0
        assert any("disk" in warning for warning in lost["warnings"])
        assert lost["counters"]["given"] > 1000, "it goes on answering"
        there = files(tmp_path)[1]
        assert len(stamps(there)) == lost["stamps_written"]
        assert there.read_bytes().endswith(b"}\n")
        truth_is_inside(files(tmp_path))
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_packets_of_strangers_change_nothing(tmp_path, peers, request):
    seen = []
    listener = None
    if ROOT:  # who can see packets can send them again
        listener = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(0x0800))
        listener.bind(("lo", 0))
        listener.settimeout(0.2)
        request.addfinalizer(listener.close)
    running = both(tmp_path, peers)
    until(lambda: all(len(stamps(file)) >= 100 for file in files(tmp_path)))
    wanted = {int(peer.rsplit(":", 1)[1]) for peer in peers}
    while listener is not None and len(seen) < 200:
        packet = listener.recv(2048)
        if packet[23] == 17 and int.from_bytes(packet[36:38], "big") in wanted:
            seen.append(packet[42:])
    rng = random.Random(5)
    sent = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            for _ in range(20):
                packet = rng.randbytes(rng.randrange(1, 200))
                if seen and rng.random() < 0.7:
                    packet = bytearray(rng.choice(seen))
                    if rng.random() < 0.5:
                        packet[rng.randrange(len(packet))] ^= 1 << rng.randrange(8)
                for port in wanted:
                    stranger.sendto(bytes(packet), ("127.0.0.1", port))
                sent += 1
            time.sleep(0.002)
    before = [len(stamps(file)) for file in files(tmp_path)]
    until(lambda: all(len(stamps(file)) >= n + 50 for file, n in zip(files(tmp_path), before, strict=True)))
    for document in ended(running):
        counters = document["counters"]
        assert counters["rejected"] > sent / 4
        assert counters["answered"] <= counters["sent"]
        assert counters["recorded"] <= counters["answered"]
    truth_is_inside(files(tmp_path))


def test_a_suspended_host_goes_on(tmp_path, peers):
    running = both(tmp_path, peers)
    until(lambda: all(len(stamps(file)) >= 100 for file in files(tmp_path)))
    running[1].send_signal(signal.SIGSTOP)
    time.sleep(2)
    running[1].send_signal(signal.SIGCONT)
    before = [len(stamps(file)) for file in files(tmp_path)]
    until(lambda: all(len(stamps(file)) >= n + 100 for file, n in zip(files(tmp_path), before, strict=True)))
    first, _ = ended(running)
    assert first["counters"]["dropped"] + first["counters"]["late"] > 0
    truth_is_inside(files(tmp_path))


def test_a_name_that_nobody_knows_is_no_reason_to_wait(tmp_path, peers):
    unknown = "x" * 70 + ":47474"  # no name at all: no server is asked
    alone = start(tmp_path, "--peers", f"{peers[0]},{unknown}", "--node", "0", "-o", "probes")
    until(lambda: (tmp_path / "probes/probes_node0.jsonl").exists())
    time.sleep(0.5)
    (document,) = ended([alone], code=5)
    assert document["conclusion"]["outcome"] == "inconclusive"
    assert document["counters"]["sent"] == 0
    assert document["counters"]["unsent"] > 0
    assert any(unknown in warning for warning in document["warnings"]), document["warnings"]


def test_an_interface_is_used_or_refused(tmp_path, peers):
    refused = start(tmp_path, "--peers", ",".join(peers), "--node", "0", "-o", "probes", "--interface", "nothere0")
    _, err = refused.communicate(timeout=60)
    assert refused.returncode != 0
    assert "nothere0" in err
    if not ROOT:
        pytest.skip("1 measurement left out: binding to an interface needs root")
    running = both(tmp_path, peers, "--interface", "lo")
    until(lambda: all(len(stamps(file)) >= 50 for file in files(tmp_path)))
    ended(running)
    truth_is_inside(files(tmp_path))
