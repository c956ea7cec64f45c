"""Compare what two builds of prlx print and write, byte for byte.

    python tests/golden/compare_builds.py OLD_TREE NEW_TREE [--only PATTERN] [--keep FOLDER]

Each tree is a checkout with its development environment (``build/venv``, ``make build``). Every case of ``cases.py`` runs with
both, in a folder of the same name, so that paths in documents agree. Prints each case that differs, with the first lines that
do, and exits with 1; with 0 when nothing differs. What the old build said is kept in --keep and not computed again.
"""

from __future__ import annotations

import argparse
import difflib
import fnmatch
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cases import all_cases

ROOT = Path(__file__).resolve().parents[2]
# What changes from run to run: how long something took, and the process that was asked.
VOLATILE = re.compile(r'("[a-z_]*(?:elapsed|duration|wall|cpu)_(?:s|seconds)": *)[0-9.e+-]+')
# Larger outputs are kept as digests alone.
SHOWN_BYTES = 4 << 20


def main() -> int:
    """Compare, print and say whether all is equal."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("old", type=Path)
    arguments.add_argument("new", type=Path)
    arguments.add_argument("--only", default="*", help="the cases whose names match, such as 'job/*'")
    arguments.add_argument("--keep", type=Path, help="a folder that keeps what the old build said")
    options = arguments.parse_args()
    data = Path(os.environ.get("PRLX_TEST_DATA") or ROOT.parent / "shared" / "data").resolve()
    cases = {name: lines for name, lines in all_cases(data).items() if fnmatch.fnmatchcase(name, options.only)}
    differing = 0
    for name, lines in cases.items():
        old = kept(options.keep, name, lines, lambda n=name, c=lines: run(options.old.resolve(), n, c, data))
        new = run(options.new.resolve(), name, lines, data)
        changes = differences(old, new)
        differing += bool(changes)
        print(f"{'DIFFERS' if changes else 'equal  '} {name} ({len(new)} outputs)", flush=True)
        for change in changes:
            print(change)
    print(f"{len(cases)} cases, {differing} differ")
    return 1 if differing else 0


def kept(folder: Path | None, name: str, lines: list[str], compute) -> dict[str, str]:
    """What the old build said, from the folder where it is there."""
    if folder is None:
        return compute()
    key = hashlib.sha256(json.dumps([name, lines]).encode()).hexdigest()[:16]
    path = folder / f"{key}.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(compute()))
    return json.loads(path.read_text())


def run(tree: Path, name: str, lines: list[str], data: Path) -> dict[str, str]:
    """Every output of a case: what it printed and how it ended, and its files, as text or as a digest."""
    play = Path(tempfile.gettempdir()) / "prlx-golden" / hashlib.sha256(name.encode()).hexdigest()[:8] / "play"
    shutil.rmtree(play, ignore_errors=True)
    play.mkdir(parents=True)
    triton = max((p for p in (ROOT / "build/triton").glob("3.9*") if (p / "triton").is_dir()), default=None)
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(play.parent), "COLUMNS": "120",
        "TRITON_CACHE_DIR": str(play.parent / f"cache-{os.getpid()}"), "PYTHONPATH": str(triton or ""),
        "SOURCE_DATE_EPOCH": "1700000000",
    }  # fmt: skip
    links = {"data": play.parent / "data", "examples": play.parent / "examples"}
    for link, target in ((links["data"], data), (links["examples"], ROOT / "examples")):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    said: dict[str, str] = {}
    for number, line in enumerate(lines):
        text = line.format(**{key: f"../{path.name}" for key, path in links.items()})
        text = re.sub(r"^prlx\b", f"{tree}/build/venv/bin/python -m prlx", text)
        done = subprocess.run(["bash", "-c", text], cwd=play, env=environment, capture_output=True, timeout=600)
        shown = f"exit {done.returncode}\n{done.stdout.decode(errors='replace')}\n--\n{done.stderr.decode(errors='replace')}"
        said[f"{number} {line}"] = shorten(
            VOLATILE.sub(r"\1T", shown.replace(str(tree), "TREE").replace(str(ROOT), "TREE"))
        )
    for path in sorted(p for p in play.rglob("*") if p.is_file()):
        said[str(path.relative_to(play))] = shorten(content(path))
    shutil.rmtree(play.parent, ignore_errors=True)
    return said


def content(path: Path) -> str:
    """A file as text where it is text, else its digest; spans of time that reports show are taken out."""
    raw = path.read_bytes()
    try:
        return VOLATILE.sub(r"\1T", raw.decode())
    except UnicodeDecodeError:
        return f"{len(raw)} bytes, sha256 {hashlib.sha256(raw).hexdigest()}"


def shorten(text: str) -> str:
    """Long outputs as their digest, so that what is kept stays small."""
    if len(text) <= SHOWN_BYTES:
        return text
    return f"{len(text)} characters, sha256 {hashlib.sha256(text.encode()).hexdigest()}"


def differences(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """What to print of each output that is not the same."""
    changes = []
    for key in sorted(old.keys() | new.keys()):
        a, b = old.get(key), new.get(key)
        if a == b:
            continue
        if a is None or b is None:
            changes.append(f"  {'only new' if a is None else 'only old'}: {key}")
            continue
        lines = list(difflib.unified_diff(a[:200000].splitlines(), b[:200000].splitlines(), lineterm="", n=0))[2:8]
        changes.append("\n".join([f"  {key}", *(f"    {line[:300]}" for line in lines)]))
    return changes


if __name__ == "__main__":
    sys.exit(main())
