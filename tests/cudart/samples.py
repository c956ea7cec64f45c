"""Programs that nobody here wrote on the simulator: ``python tests/cudart/samples.py FOLDER OUT.json [NAME...]``.

FOLDER is a checkout of NVIDIA/cuda-samples; each folder in it with a .cu file is a program, which is compiled, with the fat
binaries that its CMakeLists.txt names, and run to its end by one worker. What came of each goes into OUT.json: ``passed`` (by
its own check), ``ended`` (with 0, without saying so), ``refused`` (by name), ``waived`` (it says that it does not run here),
``failed``, ``wrong`` (its own check says so), ``long`` (beyond the limit of processor time of all its processes, CPU_SECONDS,
600 without it) and ``not compiled``, each with why. Launches that find what an earlier one found are repeated instead of
executed, which changes no result. What stands in OUT.json already is not run again, unless it is named.
"""

from __future__ import annotations

import json
import os
import re
import shutil
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

OPTIONS = ("--rest", "repeat", "--workers", "1")
CPU_SECONDS = float(os.environ.get("CPU_SECONDS", "600"))
PASSED = re.compile(
    r"(?i)test passed|\bpassed\b|result *= *pass|test summary:? *0|returned ok|\bok\b|success|test results: 0|\bpass\b"
    r"|test succeeded|succesfully"
    r"|as expected|arrays match"
    r"|Error Threshold of \S+ Percent: 0\b|misses: 0\b"
)
WRONG = re.compile(
    r"(?i)\bfailed\b(?! as expected)|result *= *fail|mismatch|do(es)? not match"
    r"|test summary:? *[1-9]\d*(?![/\d])|verification error"
    r"|Error Threshold of \S+ Percent: [1-9]|misses: [1-9]"
)
WAIVED = re.compile(r"(?i)waiv|not supported|requires|no capable|cannot find|at least two|two gpus")


def sources(folder: Path) -> list[Path]:
    """The sources of a program."""
    return sorted(path for path in folder.iterdir() if path.suffix in (".cu", ".cpp"))


def compiled(folder: Path, root: Path, out: Path) -> str:
    """Compile a program; why not, where it cannot be."""
    includes = (root / "Common", folder, folder / "inc", folder.parent / "inc")
    words = [
        CUDA / "bin" / "nvcc", "-gencode", "arch=compute_80,code=compute_80", "-std=c++17", "-lineinfo", "-cudart", "shared",
        "-O2", "-Xcompiler", "-fopenmp,-w", "-w", *(f"-I{one}" for one in includes),
    ]  # fmt: skip
    why = said([*words, "-o", out, *sources(folder), "-lgomp", f"-L{DRIVER}", "-lcuda"])
    for fat, source in [] if why else fat_binaries(folder):
        why = why or said([*words, "-fatbin", "-o", folder / fat, folder / source])
    return why


def fat_binaries(folder: Path) -> list[tuple[str, str]]:
    """The fat binaries that a program loads by name, each with its source."""
    lists = folder / "CMakeLists.txt"
    text = lists.read_text() if lists.is_file() else ""
    made = re.findall(r"CUDA_FATBIN_FILE \S*/(\w+\.fatbin)", text)
    return list(zip(made, re.findall(r"CUDA_KERNEL_SOURCE \S*/(\w+\.cu)", text), strict=True))


def said(words: Sequence[object]) -> str:
    """What a compiler says of an error, in a line; nothing where there is none."""
    try:
        done = subprocess.run(
            [*map(str, words)], capture_output=True, text=True, check=False, timeout=900, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return "the compiler takes long"
    if done.returncode == 0:
        return ""
    text = done.stderr + done.stdout
    for pattern in (r"fatal error: (\S+): No such file", r"undefined reference to `(\w+)'", r"error: (.*)"):
        if found := re.search(pattern, text):
            return found[0][:160]
    return text.strip()[-160:]


def copied(root: Path, name: str, into: Path) -> Path:
    """A copy of a program's folder, beside what all of them share: programs write where they stand."""
    top = Path("Samples", *Path(name).parts[:2])
    shutil.copytree(root / top, into / top)
    (into / "Common").symlink_to(root / "Common")
    return into / "Samples" / name


TICKS = os.sysconf("SC_CLK_TCK")


def session(leader: int) -> dict[int, float]:
    """The processes of a session, each with the seconds of processor time that it and its ended children took."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:  # it ended
            continue
        if int(words[3]) == leader:
            found[int(path.parent.name)] = sum(map(int, words[11:15])) / TICKS
    return found


def ran(program: Path, folder: Path, *options: str, arguments: Sequence[str] = ()) -> dict[str, object]:
    """Run a program, and say what came of it."""
    with tempfile.TemporaryFile("w+", errors="replace") as said, tempfile.TemporaryFile("w+") as document:
        child = subprocess.Popen(
            [sys.executable, "-m", "prlx", "simulate", "--json", *options, "--", str(program), *arguments],
            cwd=folder, stdout=document, stderr=said, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        took = 0.0
        while child.poll() is None:
            took = max(took, sum((processes := session(child.pid)).values()))
            if took > CPU_SECONDS:
                for one in processes:
                    os.kill(one, signal.SIGKILL)
                child.wait()
                said.seek(0)
                return {"came": "long", "cpu_seconds": round(took), "why": said.read().strip()[-300:]}
            time.sleep(0.5)
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
    return {"came": came, "code": code, "cpu_seconds": round(took, 1), "findings": findings, "why": why}


CAME = {
    "passed": "say themselves that they passed",
    "ended": "end with exit code 0 and print no verdict",
    "wrong": "are wrong by their own check",
    "refused": "are refused by name",
    "failed": "end with another exit code",
    "long": "take more than 600 s of processor time",
    "untried": "took more than 60 s of time before, and were not run as long as that since",
    "waived": "say themselves that they do not run here",
    "not compiled": "do not compile with nvcc alone: they lack a library, a header or a window, or launch from the device",
}
ENDED = ("passed", "ended", "wrong", "failed", "refused")
"""What comes of samples that end within the limit and do not say themselves that they do not run here."""


def table(results: dict[str, dict[str, object]]) -> list[str]:
    """The rows of docs/cuda.md: how many programs came to what."""
    counts = Counter(one["came"] for one in results.values())
    return [
        "| programs | what came of them |",
        "|---|---|",
        *(f"| {counts[one]} | {said} |" for one, said in CAME.items()),
    ]


def main() -> None:
    """Compile and run every program of a folder, or those that are named."""
    root, out, names = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), sys.argv[3:]
    every = [
        str(one.relative_to(root / "Samples")) for one in sorted({p.parent for p in (root / "Samples").rglob("*.cu")})
    ]
    for name in names or every:
        results = json.loads(out.read_text()) if out.exists() else {}
        if not names and name in results:
            continue
        with tempfile.TemporaryDirectory() as build:
            folder = copied(root, name, Path(build))
            program = folder / Path(name).parts[1]
            why = compiled(folder, root, program)
            results[name] = {"came": "not compiled", "why": why} if why else ran(program, folder, *OPTIONS)
        shown = {key: str(value)[-160:].replace("\n", " | ") for key, value in results[name].items()}
        print(name, shown, flush=True)
        out.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
