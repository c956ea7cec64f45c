"""The benchmarks still run: every part of bench/run.py on a few MB. The figures are not looked at."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def test_quick_benchmark_measures_every_part() -> None:
    if shutil.which("go") is None:
        pytest.skip("go is not installed: it builds the generator of the inputs")
    command = os.environ.get("PRLX_CLI") or f"{shlex.quote(sys.executable)} -m prlx"
    script = [sys.executable, REPOSITORY / "bench" / "run.py", "--quick", "--prlx", command]

    done = subprocess.run(script, capture_output=True, text=True, check=False, timeout=300, cwd=REPOSITORY)

    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((REPOSITORY / "build" / "bench" / "report.json").read_text())
    labels = " ".join(figure["label"] for figure in report["figures"])
    for part in ("start-up", "XSpace -> run dir", "XSpace -> one file", "Kineto JSON", "nodes x"):
        assert part in labels, f"{part} is missing in: {labels}"
    assert all(figure["peak_rss_mib"] > 0 for figure in report["figures"])


@pytest.mark.nightly
def test_quick_benchmark_of_comparisons_measures_every_part() -> None:
    if shutil.which("go") is None:
        pytest.skip("go is not installed: it builds the generator of the inputs")
    oracle = REPOSITORY / "build" / "oracle" / "prlx" / "data" / "bin" / "prlx-diff"
    if not oracle.exists():
        message = "original prlx 0.5 is not here: make build/oracle/.ready fetches it"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    script = [sys.executable, REPOSITORY / "bench" / "kernels.py", "--quick"]

    done = subprocess.run(script, capture_output=True, text=True, check=False, timeout=300, cwd=REPOSITORY)

    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((REPOSITORY / "build" / "bench" / "kernels" / "report.json").read_text())
    measured = {(row["pair"], row["program"]) for row in report["figures"]}
    for kind in ("v1", "zstd"):
        assert {(kind, "original"), (kind, "call"), (kind, "command")} <= measured
    assert {("v1", "floor"), ("v2", "call"), ("sparse", "read"), ("sparse", "diff")} <= measured


def test_quick_benchmark_of_cycles_measures_every_part() -> None:
    if shutil.which("go") is None:
        pytest.skip("no Go: the benchmark generates its traces with it")
    done = subprocess.run(
        [sys.executable, REPOSITORY / "bench" / "cycles.py", "--quick"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    for part in (
        "inflate (zlib)",
        "gzip + json (CPython)",
        "prlx cycles",
        "memory:",
        "the call alone",
        "BenchmarkCompareTwoThousand",
    ):
        assert part in done.stdout


@pytest.mark.nightly
def test_quick_benchmark_of_the_machine_measures_every_part() -> None:
    if not any((REPOSITORY / "build" / "triton").glob("3.*/triton")):
        pytest.skip("no Triton under build/triton: make test-python installs it")
    done = subprocess.run(
        [sys.executable, REPOSITORY / "bench" / "simulate.py", "--quick"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for part in ("add", "softmax", "layernorm", "sort", "matmul", "matmul, everything", "mma.sync", "peak memory"):
        assert f"\n{part}" in done.stdout


def test_quick_benchmark_of_recording_measures_every_part() -> None:
    if not any((REPOSITORY / "build" / "triton").glob("3.*/triton")):
        pytest.skip("no Triton under build/triton: make test-python installs it")
    script = [sys.executable, REPOSITORY / "bench" / "recording.py", "--quick"]
    done = subprocess.run(script, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    for part in ("recorded, no digests of memory: ", "recorded: ", "left out by a filter: ", "importing the hooks: "):
        assert f"\n{part}" in done.stdout


def test_the_promised_times_are_measured() -> None:
    script = [sys.executable, REPOSITORY / "bench" / "contracts.py", "--quick"]
    done = subprocess.run(script, capture_output=True, text=True, check=False, timeout=300, cwd=REPOSITORY)
    assert done.returncode == 0, done.stdout + done.stderr
    for part in ("import prlx", "prlx version", "Ctrl-C"):
        assert part in done.stdout


def test_the_start_of_every_command_is_measured() -> None:
    script = [sys.executable, REPOSITORY / "bench" / "startup.py", "--quick"]
    done = subprocess.run(script, capture_output=True, text=True, check=False, timeout=300, cwd=REPOSITORY)
    assert done.returncode == 0, done.stdout + done.stderr
    for part in ("import prlx", "prlx doctor --help", "prlx diff, until its work begins", "packages of Go"):
        assert part in done.stdout


def test_the_cost_of_a_prober_is_measured() -> None:
    script = [sys.executable, REPOSITORY / "bench" / "probing.py", "--quick"]
    done = subprocess.run(script, capture_output=True, text=True, check=False, timeout=300, cwd=REPOSITORY)
    assert done.returncode == 0, done.stdout + done.stderr
    for part in ("2 hosts: ", "9 hosts: ", "% of a core", "kB/s"):
        assert part in done.stdout


@pytest.mark.nightly
def test_quick_benchmark_of_tapes_measures_every_part() -> None:
    if not (REPOSITORY / "build/torch/stubs").is_dir():
        message = "no torch: make build/torch/.ready installs it"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    script = [sys.executable, REPOSITORY / "bench" / "steps.py", "--quick"]
    done = subprocess.run(script, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    for part in ("batch 32", "batch 1024", "everything taken", "modules", "one step in 50", "the monitor alone"):
        assert part in done.stdout, part


def test_quick_benchmark_of_databases_measures_both_sizes(data) -> None:
    """A real export, lengthened to a few MB."""
    source = data / "other" / "GindaChen+nsys-ai__h100_2gpu_1s.sqlite"
    words = [sys.executable, REPOSITORY / "bench" / "formats.py", source, "--mb", "12"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    kernels = [int(line.split(" MB, ")[1].split(" ")[0].replace(",", "")) for line in done.stdout.splitlines()]
    assert len(kernels) == 2
    assert 3442 <= kernels[0] < kernels[1]
