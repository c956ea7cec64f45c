"""Measures prlx cycles on a database of Nsight Systems of any size, beside the time in which sqlite3 sums its kernels.

  python bench/formats.py FILE.sqlite            1 GB under build/bench, a minute or two
  python bench/formats.py FILE.sqlite --mb 20    small: shows that everything here still runs

FILE is a real export. Its kernels, calls, copies and ranges are written again and again, each time later and with other
correlations, until the database has that size. Time is the wall clock of the command, memory the peak of its process.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import sys
from pathlib import Path
from time import perf_counter

REPOSITORY = Path(__file__).resolve().parents[1]
SCRATCH = REPOSITORY / "build" / "bench" / "formats"
MB = 1_000_000
TABLES = (
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "NVTX_EVENTS",
)


def lengthen(source: Path, target: Path, size: int) -> int:
    """Write the rows of a recording again until the file has a size; returns how many kernels it has."""
    shutil.copyfile(source, target)
    target.chmod(0o644)
    db = sqlite3.connect(target)
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("PRAGMA synchronous = OFF")
    there = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    tables = [name for name in TABLES if name in there]
    shifts = {}
    span = most = 0
    for table in tables:
        columns = [name for _, name, *_ in db.execute(f'PRAGMA table_info("{table}")')]
        first, last = db.execute(f'SELECT min(start), max(coalesce("end", start)) FROM "{table}"').fetchone()
        span = max(span, (last or 0) - (first or 0))
        if "correlationId" in columns:
            most = max(most, db.execute(f'SELECT max(correlationId) FROM "{table}"').fetchone()[0] or 0)
        shifts[table] = (columns, db.execute(f'SELECT max(rowid) FROM "{table}"').fetchone()[0] or 0)
    times = 0
    while target.stat().st_size < size:
        times += 1
        moved = {"start": times * span, "end": times * span, "correlationId": times * most}
        for table, (columns, rows) in shifts.items():
            taken = ", ".join(f'"{name}" + {moved[name]}' if name in moved else f'"{name}"' for name in columns)
            db.execute(f'INSERT INTO "{table}" SELECT {taken} FROM "{table}" WHERE rowid <= {rows}')
        db.commit()
    kernels = db.execute(f"SELECT count(*) FROM {TABLES[0]}").fetchone()[0]
    db.close()
    return int(kernels)


def run(words: list[str]) -> tuple[float, float, int]:
    """Wall and processor seconds of a command, and the peak of its memory in bytes."""
    began = perf_counter()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    actions = [(os.POSIX_SPAWN_DUP2, nowhere, 1), (os.POSIX_SPAWN_DUP2, nowhere, 2)]
    pid = os.posix_spawn(words[0], words, dict(os.environ), file_actions=actions)
    _, status, used = os.wait4(pid, 0)
    os.close(nowhere)
    if os.waitstatus_to_exitcode(status) not in (0, 5):  # 5: what repeats does not explain the run
        raise SystemExit(f"failed: {' '.join(words)}")
    return perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def main() -> None:
    """Lengthen a recording, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--mb", type=int, default=1000)
    given = parser.parse_args()
    SCRATCH.mkdir(parents=True, exist_ok=True)
    target = SCRATCH / "long.sqlite"
    try:
        for part in (given.mb // 4, given.mb):
            kernels = lengthen(given.file, target, part * MB)
            began = perf_counter()
            db = sqlite3.connect(target)
            db.execute(f'SELECT sum(start + "end" + shortName) FROM {TABLES[0]}').fetchone()
            db.close()
            counted = perf_counter() - began
            wall, processor, peak = run([sys.executable, "-m", "prlx", "cycles", str(target)])
            print(
                f"{target.stat().st_size / MB:,.0f} MB, {kernels:,} kernels: {wall:.1f} s, {processor:.1f} s of processors, "
                f"{peak / MB:,.0f} MB; sqlite3 sums the kernels in {counted:.1f} s"
            )
    finally:
        shutil.rmtree(SCRATCH)


if __name__ == "__main__":
    main()
