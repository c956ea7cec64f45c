"""Programs that nobody here wrote on the simulator: ``python tests/cudart/samples.py FOLDER OUT.json [NAME...]``.

FOLDER is a checkout of NVIDIA/cuda-samples; each folder in it with a .cu file is a program, which is compiled and run. What
came of each goes into OUT.json: ``passed`` (by its own check), ``ended`` (with 0, without saying so), ``refused`` (by name),
``waived`` (it says itself that it does not run here), ``failed``, ``wrong`` (its own check says so), ``long`` (beyond the limit
of time, SECONDS, 60 without it) and ``not compiled``, each with why. Launches that find what an earlier one found are repeated
instead of executed, which changes no result. One that takes longer is run again with the first launch
of each kernel in each process alone: ``cut: passed`` and so on.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.cudart.compilers import CUDA

from prlx._program import DRIVER

REPEAT = ("--rest", "repeat")
SECONDS = float(os.environ.get("SECONDS", "60"))
PASSED = re.compile(
    r"(?i)test passed|\bpassed\b|result *= *pass|test summary:? *0|returned ok|\bok\b|success|test results: 0|\bpass\b"
    r"|test succeeded|succesfully"
    r"|as expected"
    r"|Error Threshold of \S+ Percent: 0\b|misses: 0\b"
)
WRONG = re.compile(
    r"(?i)\bfailed\b(?! as expected)|result *= *fail|mismatch|test summary:? *[1-9]\d*(?![/\d])|verification error"
    r"|Error Threshold of \S+ Percent: [1-9]|misses: [1-9]"
)
WAIVED = re.compile(r"(?i)waiv|not supported|requires|no capable|cannot find|at least two|two gpus")


def sources(folder: Path) -> list[Path]:
    """The sources of a program."""
    return sorted(path for path in folder.iterdir() if path.suffix in (".cu", ".cpp"))


def compiled(folder: Path, root: Path, out: Path) -> str:
    """Compile a program; why not, where it cannot be."""
    words = [
        CUDA / "bin" / "nvcc",
        "-gencode",
        "arch=compute_80,code=compute_80",
        "-std=c++17",
        "-lineinfo",
        "-cudart",
        "shared",
    ]
    words += [
        "-O2",
        "-Xcompiler",
        "-fopenmp,-w",
        "-w",
        "-I",
        root / "Common",
        "-I",
        folder,
        "-I",
        folder / "inc",
        "-I",
        folder.parent / "inc",
        "-o",
        out,
    ]
    try:
        done = subprocess.run(
            [*map(str, words), *map(str, sources(folder)), "-lgomp", f"-L{DRIVER}", "-lcuda"],
            capture_output=True, text=True, check=False, timeout=240, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "the compiler takes long"
    if done.returncode == 0:
        return ""
    said = done.stderr + done.stdout
    for pattern in (r"fatal error: (\S+): No such file", r"undefined reference to `(\w+)'", r"error: (.*)"):
        if found := re.search(pattern, said):
            return found[0][:160]
    return said.strip()[-160:]


def ran(program: Path, folder: Path, *options: str, arguments: Sequence[str] = ()) -> dict[str, object]:
    """Run a program, and say what came of it."""
    with tempfile.TemporaryFile("w+", errors="replace") as said, tempfile.TemporaryFile("w+") as document:
        child = subprocess.Popen(
            [sys.executable, "-m", "prlx", "simulate", "--json", *options, "--", str(program), *arguments],
            cwd=folder, stdout=document, stderr=said, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        begin = time.monotonic()
        try:
            child.wait(SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            return {"came": "long", "why": ""}
        said.seek(0), document.seek(0)
        text, report = said.read(), json.load(document)
    code, why = report["exit_status"], text.strip()[-300:]
    refused = [one["message"] for one in report["refused"] if not one["message"].startswith("passed over")]
    refused += re.findall(r"^prlx: (.*)$", text, re.MULTILINE)
    if refused:
        came, why = "refused", refused[0]
    elif WRONG.search(text):
        came = "wrong"
    elif code == 0 and PASSED.search(text):
        came, why = "passed", ""
    elif WAIVED.search(text):
        came = "waived"
    else:
        came = "failed" if code else "ended"
    findings = sorted(
        {f"{one['check']} {Path(one.get('file', '')).name}:{one.get('line', 0)}" for one in report["findings"]}
    )
    return {"came": came, "code": code, "seconds": round(time.monotonic() - begin, 1), "findings": findings, "why": why}


CAME = {
    "passed": "say themselves that they passed",
    "ended": "end with exit code 0 and print no verdict",
    "cut: passed": "take longer, and pass with the first launch of each kernel alone (`--launches 1`)",
    "cut: ended": "take longer, and end so",
    "cut: failed": "take longer, and do not pass their check without the other launches",
    "cut: long": "take longer also with one launch of each kernel",
    "refused": "are refused by name",
    "waived": "say themselves that they do not run here",
    "failed": "look for a file that their build makes",
    "wrong": "are wrong by their own check",
    "not compiled": "do not compile with nvcc alone: they lack a library, a header or a build step, or launch from the device",
}


def table(came: dict[str, str]) -> list[str]:
    """The rows of docs/cuda.md: how many programs came to what."""
    counts = Counter("cut: failed" if one == "cut: wrong" else one for one in came.values())
    return [
        "| programs | what came of them |",
        "|---|---|",
        *(f"| {counts[one]} | {said} |" for one, said in CAME.items()),
    ]


def main() -> None:
    """Compile and run every program of a folder, or those that are named."""
    root, out, names = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), set(sys.argv[3:])
    folders = sorted({path.parent for path in (root / "Samples").rglob("*.cu")})
    results = json.loads(out.read_text()) if out.exists() else {}
    with tempfile.TemporaryDirectory() as build:
        for folder in folders:
            name = str(folder.relative_to(root / "Samples"))
            if (names and not names & {name, folder.name}) or (not names and name in results):
                continue
            program = Path(build) / folder.name
            why = compiled(folder, root, program)
            results[name] = {"came": "not compiled", "why": why} if why else ran(program, folder, *REPEAT)
            if results[name]["came"] == "long":
                results[name] = ran(program, folder, "--launches", "1")
                results[name]["came"] = f"cut: {results[name]['came']}"
            print(
                name,
                results[name]["came"],
                results[name].get("seconds", ""),
                str(results[name]["why"])[:160].replace("\n", " | "),
                flush=True,
            )
            out.write_text(json.dumps(results, indent=1))
            program.unlink(missing_ok=True)
    print(dict(Counter(one["came"] for one in results.values())))


if __name__ == "__main__":
    main()
