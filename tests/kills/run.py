"""Kills combine, diff, cycles and recordings with SIGKILL at random moments, and looks at what they left under their names.

    python tests/kills/run.py --kills 1000 --journal build/kills.jsonl

Every output must be absent, or have the bytes that a run has which nobody killed; of a recording the hidden file that is left
must be readable or refused. Every seventh time the command is run again: it succeeds and removes what the killed one left.
Half of the kills come at any time of the run, half while outputs are being written. The journal has a line for each kill;
started again, the script goes on behind its last one. The commands are children of this process, which has imported the Python
part of prlx: a thousand processes that start it anew would take hours.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import prlx
from prlx import _combine, _compare, _cycles, _kernel_trace, cli

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
IMPORTED = (_combine, _compare, _cycles, _kernel_trace)  # none of them loads the core
TRITON = Path(os.environ.get("PRLX_TRITON", ROOT / "build/triton")) / "3.9.0"
RECORDED = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests/simulator")!r})
import numpy as np
import kernels
x, y, o = np.ones(70000, np.float32), np.ones(70000, np.float32), np.zeros(70000, np.float32)
for n in (70000, 50000, 30000):
    kernels.add[(70,)](x, y, o, n, BLOCK=1024)
"""


def commands() -> dict[str, list[str]]:
    """What is killed, by name: the words of a command that writes into the current directory."""
    nodes = sorted(str(path) for path in (EXAMPLES / "jax_p4").glob("node?"))
    probes = ["--probes", *sorted(str(path) for path in (EXAMPLES / "jax_p4").glob("probes_*.jsonl"))]
    pair = [str(EXAMPLES / "two_runs" / name) for name in ("a.prlx", "b.prlx")]
    reports = "--html d.html --csv d.csv --junit d.xml --sarif d.sarif --markdown d.md --perfetto d.pftrace"
    written = "--html c.html --csv c.csv --markdown c.md --overlay c.trace.json"
    found = {
        "combine": ["combine", *nodes, *probes, "-o", "run"],
        "combine chrome": ["combine", *nodes, *probes, "-o", "all.json.gz", "--format", "chrome", "--report", "c.html"],
        "diff": ["diff", *pair, "--explain", *reports.split(), "--export-flamegraph", "d.json"],
        "cycles": ["cycles", str(EXAMPLES / "serving/before.json.gz"), *written.split()],
    }
    if (TRITON / "triton").is_dir():
        found["record"] = ["simulate", "--record", "run", "--outputs", "1MB", "recorded.py"]
    return found


def child(words: list[str], folder: Path) -> int:
    """Start a command in a folder."""
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        os.chdir(folder)
        log = os.open("../log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        code = cli.main(words)
    finally:
        os._exit(code)


def sums(folder: Path) -> dict[str, str]:
    """The files under a folder and what is in them."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def hidden(name: str) -> bool:
    """Whether a file is a temporary one, or lies in a temporary folder."""
    return any(part.startswith(".") and part.endswith(".prlx-part") for part in Path(name).parts)


@dataclass
class Command:
    """A command, and what it is without a kill."""

    name: str
    words: list[str]
    code: int = 0
    whole: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    begins: float = 0.0  # when its first output appears

    def fresh(self, scratch: Path) -> Path:
        """An empty folder to run in."""
        folder = scratch / "out"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if self.name == "record":
            (folder / "recorded.py").write_text(RECORDED)
        return folder

    def learn(self, scratch: Path) -> None:
        """Run it undisturbed, twice: what it writes does not change, and how long it takes."""
        seen: list[dict[str, str]] = []
        for _ in range(2):
            folder = self.fresh(scratch)
            begin, appeared = time.monotonic(), 0.0
            pid = child(self.words, folder)
            before = len(list(folder.iterdir()))
            while True:
                ended, status = os.waitpid(pid, os.WNOHANG)
                if not appeared and len(list(folder.iterdir())) > before:
                    appeared = time.monotonic() - begin
                if ended:
                    break
                time.sleep(0.0005)
            self.seconds, self.begins = time.monotonic() - begin, appeared
            self.code = os.waitstatus_to_exitcode(status)
            seen.append(sums(folder))
        assert self.code in (0, 1), f"{self.name}: exit {self.code}: {(scratch / 'log').read_text()}"
        assert seen[0] == seen[1], f"{self.name}: two runs write other bytes"
        assert not any(hidden(name) for name in seen[0]), f"{self.name} leaves temporary files"
        self.whole = seen[0]

    def kill(self, rng: random.Random, scratch: Path, again: bool) -> dict[str, object]:
        """Run it, kill it, and say what was left; a wrong output raises."""
        folder = self.fresh(scratch)
        writing = rng.random() < 0.5
        pid = child(self.words, folder)
        if writing:
            before = len(list(folder.iterdir()))
            while len(list(folder.iterdir())) == before and not os.waitid(
                os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT
            ):
                time.sleep(0.0002)
            time.sleep(rng.uniform(0, 1.2 * (self.seconds - self.begins)))
        else:
            time.sleep(rng.uniform(0, 1.2 * self.seconds))
        os.kill(pid, signal.SIGKILL)  # a child that has ended is still ours: nobody has waited for it
        _, status = os.waitpid(pid, 0)
        left = sums(folder)
        wrong = [name for name, sum in left.items() if not hidden(name) and self.whole.get(name) != sum]
        assert not wrong, f"{self.name}: half outputs: {wrong}"
        if (folder / "run").is_dir() and self.name == "combine":
            missing = [name for name in self.whole if name.startswith("run/") and name not in left]
            assert not missing, f"{self.name}: a run without {missing}"
        self._read(folder, left)
        if again:
            self._again(folder)
        outputs = [name for name in left if name != "recorded.py"]
        return {
            "command": self.name,
            "killed": os.WIFSIGNALED(status),
            "writing": writing,
            "whole": sum(not hidden(name) for name in outputs),
            "of": sum(name != "recorded.py" for name in self.whole),
            "hidden": sum(hidden(name) for name in outputs),
            "again": again,
        }

    def _read(self, folder: Path, left: dict[str, str]) -> None:
        """Read the recordings that are hidden: in a child, because this process must not load the core."""
        parts = [folder / name for name in left if hidden(name) and name.endswith(".prlx.prlx-part")]
        if not parts:
            return
        pid = os.fork()
        if not pid:
            code = 70
            try:
                for part in parts:
                    with contextlib.suppress(prlx.TraceFormatError):
                        len(prlx.read_trace(part, progress=False).events)
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, f"{parts} is neither readable nor refused"

    def _again(self, folder: Path) -> None:
        """The next run succeeds and leaves what an undisturbed one leaves."""
        _, status = os.waitpid(child([*self.words[:1], "--overwrite", *self.words[1:]], folder), 0)
        said = (folder.parent / "log").read_text()
        assert os.waitstatus_to_exitcode(status) == self.code, f"{self.name}: the next run fails: {said}"
        assert sums(folder) == self.whole, f"{self.name}: the next run leaves {sorted(sums(folder))}"


def kills(first: int, count: int, seed: int) -> Iterator[dict[str, object]]:
    """Kill until there are so many; yields the line of each kill."""
    with tempfile.TemporaryDirectory(prefix="kills_") as scratch:
        known = [Command(name, words) for name, words in commands().items()]
        for command in known:
            command.learn(Path(scratch))
        for number in range(first, count):
            command = known[number % len(known)]
            rng = random.Random(f"{seed} {number}")
            yield {"kill": number, **command.kill(rng, Path(scratch), again=number % 7 == 0)}


def main() -> int:
    """Kill as often as asked, beside what the journal has, and print the sums."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--journal", type=Path, default=ROOT / "build/kills.jsonl")
    chosen = parser.parse_args()
    if (TRITON / "triton").is_dir() and str(TRITON) not in sys.path:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(TRITON), os.environ.get("PYTHONPATH")]))
        os.environ["TRITON_CACHE_DIR"] = str(TRITON.parent / "cache" / f"3.9.0-{sys.implementation.cache_tag}")
        os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    if (TRITON / "triton").is_dir():
        import triton.compiler  # noqa: F401
    lines = chosen.journal.read_text().splitlines() if chosen.journal.exists() else []
    with chosen.journal.open("a") as journal:
        for line in kills(len(lines), chosen.kills, chosen.seed):
            lines.append(json.dumps(line))
            journal.write(lines[-1] + "\n")
            journal.flush()
    done = [json.loads(line) for line in lines]
    for name in sorted({line["command"] for line in done}):
        rows = [line for line in done if line["command"] == name]
        left = Counter("all" if row["whole"] == row["of"] else "some" if row["whole"] else "none" for row in rows)
        running, again = sum(row["killed"] for row in rows), sum(row["again"] for row in rows)
        print(f"{name}: {len(rows)} kills, {running} of a running process, {again} times run again")
        print(f"  outputs complete: all {left['all']}, some {left['some']}, none {left['none']}")
        print(f"  left a hidden file: {sum(row['hidden'] > 0 for row in rows)}")
    print(f"{len(done)} kills, no half output")
    return 0


if __name__ == "__main__":
    sys.exit(main())
