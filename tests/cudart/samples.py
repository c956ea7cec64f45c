"""Programs that nobody here wrote on the simulator: ``python tests/cudart/samples.py FOLDER OUT.json [NAME...]``.

FOLDER is a checkout of NVIDIA/cuda-samples; each folder in it with a .cu file is a program, which is compiled and run. What
came of each goes into OUT.json: ``passed`` (by its own check), ``ended`` (with 0, without saying so), ``refused`` (by name),
``waived`` (it says itself that it does not run here), ``failed``, ``wrong`` (its own check says so), ``long`` (beyond the limit
of time, SECONDS, 60 without it) and ``not compiled``, each with why. One that takes longer is run again with the first launch
of each kernel in each process alone: ``cut: passed`` and so on.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.cudart.compilers import CUDA

from prlx._program import DRIVER

SECONDS = float(os.environ.get("SECONDS", "60"))
PASSED = re.compile(
    r"(?i)test passed|\bpassed\b|result *= *pass|test summary:? *0|returned ok|: ok\b|success|test results: 0|\bpass\b"
    r"|as expected"
)
WRONG = re.compile(r"(?i)\bfailed\b(?! as expected)|result *= *fail|mismatch|test summary:? *[1-9]|verification error")
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


def ran(program: Path, folder: Path, *options: str) -> dict[str, object]:
    """Run a program, and say what came of it."""
    begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        child = subprocess.Popen(
            [sys.executable, "-m", "prlx", "simulate", *options, "--", str(program)],
            cwd=folder, stdout=said, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            code = child.wait(SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            code = child.wait()
        said.seek(0)
        text = said.read()
    cpu = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin
    own = text.split("\n\nkernel ")[0]
    findings = re.findall(r"^([a-z-]+) at (\S+) in ", text, re.MULTILINE)
    if options:  # what was passed over is no refusal
        text = re.sub(r"^refused  .*passed over(.*\n  \S.*)*\n", "", text, flags=re.MULTILINE)
    refused = [" ".join(one.split()) for one in re.findall(r"^refused  (.*(?:\n  \S.*)*)", text, re.MULTILINE)]
    refused += re.findall(r"^prlx: (.*)$", text, re.MULTILINE)
    if code == -signal.SIGKILL:
        came = "long"
    elif refused:
        came = "refused"
    elif WRONG.search(own):
        came = "wrong"
    elif code in (0, 1, 5) and PASSED.search(own):
        came = "passed"
    elif WAIVED.search(own):
        came = "waived"
    elif code == 0 or (code in (1, 5) and findings):
        came = "ended"
    else:
        came = "failed"
    why = refused[0] if refused else "" if came == "passed" else own.strip()[-300:]
    return {
        "came": came,
        "code": code,
        "cpu_s": round(cpu, 1),
        "findings": sorted({" ".join(one) for one in findings}),
        "why": why,
    }


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
            results[name] = {"came": "not compiled", "why": why} if why else ran(program, folder)
            if results[name]["came"] == "long":
                results[name] = ran(program, folder, "--launches", "1")
                results[name]["came"] = f"cut: {results[name]['came']}"
            print(
                name,
                results[name]["came"],
                results[name].get("cpu_s", ""),
                str(results[name]["why"])[:160].replace("\n", " | "),
                flush=True,
            )
            out.write_text(json.dumps(results, indent=1))
            program.unlink(missing_ok=True)
    print(dict(Counter(one["came"] for one in results.values())))


if __name__ == "__main__":
    main()
