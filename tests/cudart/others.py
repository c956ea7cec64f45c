"""Programs of other people on the simulator: ``python tests/cudart/others.py FOLDER OUT.json [NAME...]``.

FOLDER is a checkout of one of the three: PolyBench (sgrauerg/polybenchGpu), Rodinia (yuhc/gpu-rodinia), and the programs of the
book "Professional CUDA C Programming" (deeperlearning/professional-cuda-c-programming). Their sources are not changed.
Functions and properties that CUDA 13 has no more are named otherwise by the compiler's ``-D``; problems are small, by the
programs' own macros and arguments; inputs that Rodinia brings in an archive apart are made here, from numbers that a seed
draws.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.cudart.compilers import CUDA
from tests.cudart.samples import ran

GONE = (
    "-DcudaThreadSynchronize=cudaDeviceSynchronize",
    "-DcudaThreadExit=cudaDeviceReset",
    "-DclockRate=warpSize",  # which are printed
    "-DmemoryClockRate=warpSize",
    "-DdeviceOverlap=asyncEngineCount",
    "-DcomputeMode=computePreemptionSupported",
)
NO_INPUT = re.compile(
    r"cannot access|usage: |not opened|incorrect number of arguments|specify data file|could not be opened|can't open",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Program:
    """One of the programs: its sources, what they are compiled with, what it is given."""

    sources: str
    words: str = ""
    arguments: str = ""
    inputs: Callable[[Path], None] | None = None  # makes its files where it runs
    passed: str = ""  # what it prints at its end where its own check found nothing
    macros: dict[str, int] | None = None  # which headers of others must not see


def sizes(**bounds: int) -> dict[str, int]:
    """Macros of PolyBench; where N is defined by hand it defines none itself."""
    return {"N": 0, **bounds}


HEADERS = ("cuda.h", "cuda_runtime.h", "cmath", "cstdio", "cstdlib", "cstring", "ctime", "unistd.h", "sys/time.h")


POLYBENCH = {
    "2DCONV": Program("2DConvolution.cu", macros=sizes(NI=512, NJ=512)),
    "2MM": Program("2mm.cu", macros=sizes(NI=128, NJ=128, NK=128, NL=128)),
    "3DCONV": Program("3DConvolution.cu", macros=sizes(NI=64, NJ=64, NK=64)),
    "3MM": Program("3mm.cu", macros=sizes(NI=128, NJ=128, NK=128, NL=128, NM=128)),
    "ADI": Program("adi.cu", macros=sizes(N=256, TSTEPS=1)),
    "ATAX": Program("atax.cu", macros=sizes(NX=512, NY=512)),
    "BICG": Program("bicg.cu", macros=sizes(NX=512, NY=512)),
    "CORR": Program("correlation.cu", macros=sizes(M=256, N=256)),
    "COVAR": Program("covariance.cu", macros=sizes(M=256, N=256)),
    "DOITGEN": Program("doitgen.cu"),
    "FDTD-2D": Program("fdtd2d.cu", macros=sizes(TMAX=10, NX=256, NY=256)),
    "GEMM": Program("gemm.cu", macros=sizes(NI=256, NJ=256, NK=256)),
    "GEMVER": Program("gemver.cu", macros=sizes(N=512)),
    "GESUMMV": Program("gesummv.cu", macros=sizes(N=512)),
    "GRAMSCHM": Program("gramschmidt.cu", macros=sizes(NI=64, NJ=64)),
    "JACOBI1D": Program("jacobi1D.cu", macros=sizes(TSTEPS=50, N=4096)),
    "JACOBI2D": Program("jacobi2D.cu", macros=sizes(TSTEPS=10, N=256)),
    "LU": Program("lu.cu", macros=sizes(N=128)),
    "MVT": Program("mvt.cu", macros=sizes(N=512)),
    "SYR2K": Program("syr2k.cu", macros=sizes(NI=128, NJ=128)),
    "SYRK": Program("syrk.cu", macros=sizes(NI=128, NJ=128)),
}


def numbers(path: Path, count: int, low: float, high: float) -> None:
    """A file of numbers, one per line."""
    draw = random.Random(path.name)
    path.write_text("".join(f"{draw.uniform(low, high):.6f}\n" for _ in range(count)))


def graph(folder: Path) -> None:
    """4,096 nodes of six edges each."""
    draw, nodes, each = random.Random(7), 4096, 6
    lines = [str(nodes), *(f"{i * each} {each}" for i in range(nodes)), "", "0", "", str(nodes * each)]
    lines += [f"{draw.randrange(nodes)} {draw.randint(1, 10)}" for _ in range(nodes * each)]
    (folder / "graph.txt").write_text("\n".join(lines) + "\n")


def plate(folder: Path) -> None:
    """Temperatures and powers of a plate."""
    numbers(folder / "temp", 64 * 64, 320, 345)
    numbers(folder / "power", 64 * 64, 0, 0.01)


def block(folder: Path) -> None:
    """Those of eight plates."""
    numbers(folder / "temp", 64 * 64 * 8, 320, 345)
    numbers(folder / "power", 64 * 64 * 8, 0, 0.01)


def places(folder: Path) -> None:
    """Records of hurricanes, 49 bytes each."""
    draw = random.Random(3)
    lines = [
        f"1980  1  1  0  1 AAAAAAAAAA {draw.uniform(7, 60):5.1f} {draw.uniform(0, 358):5.1f}   80  400"[:48].ljust(48)
        for _ in range(4096)
    ]
    (folder / "places.db").write_text("\n".join(lines) + "\n")
    (folder / "list").write_text("places.db\n")


def bits(folder: Path) -> None:
    """Bytes of which some are more frequent."""
    draw = random.Random(5)
    (folder / "bits").write_bytes(bytes(min(draw.getrandbits(8), draw.getrandbits(8)) for _ in range(1 << 16)))


def keys(folder: Path) -> None:
    """Keys of a tree, and what is asked of it."""
    (folder / "keys").write_text("10000\n" + "".join(f"{i}\n" for i in range(10000)))
    (folder / "commands").write_text("j 200 30\nk 200\n")


def picture(folder: Path) -> None:
    """A picture of 192 by 192 points in three colours."""
    there = folder / "../../data/dwt2d"
    there.mkdir(parents=True)
    (there / "raw").write_bytes(random.Random(9).randbytes(192 * 192 * 3))


def scan(folder: Path) -> None:
    """A picture in shades of grey."""
    there, draw = folder / "../../../data/srad", random.Random(11)
    there.mkdir(parents=True)
    rows = "".join(" ".join(str(draw.randrange(256)) for _ in range(502)) + "\n" for _ in range(458))
    (there / "image.pgm").write_text(f"P2\n# drawn\n502 458\n255\n{rows}")


RODINIA = {
    "b+tree": Program(
        "main.c kernel/kernel_gpu_cuda_wrapper.cu kernel/kernel_gpu_cuda_wrapper_2.cu util/timer/timer.c"
        " util/num/num.c util/cuda/cuda.cu",
        arguments="file keys command commands", inputs=keys,
    ),
    "backprop": Program("backprop.c facetrain.c imagenet.c backprop_cuda.cu", "-DGPU -DCUDA", "1024"),
    "bfs": Program("bfs.cu", arguments="graph.txt", inputs=graph),
    "cfd/euler3d": Program("euler3d.cu", "-Dblock_length=192 -I../hybridsort"),
    "cfd/euler3d_double": Program("euler3d_double.cu", "-Dblock_length=128 -I../hybridsort"),
    "cfd/pre_euler3d": Program("pre_euler3d.cu", "-Dblock_length=192 -I../hybridsort"),
    "cfd/pre_euler3d_double": Program("pre_euler3d_double.cu", "-Dblock_length=128 -I../hybridsort"),
    "dwt2d": Program(
        "main.cu dwt.cu components.cu dwt_cuda/common.cu dwt_cuda/fdwt53.cu dwt_cuda/fdwt97.cu dwt_cuda/rdwt53.cu"
        " dwt_cuda/rdwt97.cu",
        "-Idwt_cuda", "raw -d 192x192 -f -5 -l 3", picture,
    ),
    "gaussian": Program("gaussian.cu", arguments="-s 32"),
    "heartwall": Program("main.cu AVI/avilib.c AVI/avimod.c", "-IAVI"),
    "hotspot": Program("hotspot.cu", arguments="64 2 4 temp power out", inputs=plate),
    "hotspot3D": Program("3D.cu", arguments="64 8 4 power temp out", inputs=block, passed=r"Accuracy: \S+e-0[4-9]"),
    "huffman": Program(
        "main_test_cu.cu cpuencode.cpp pack_kernels.cu scan.cu stats_logger.cpp vlc_kernel_sm64huff.cu hist.cu"
        " pabio_kernels_v2.cu",
        arguments="bits", inputs=bits,
    ),
    "hybridsort": Program("main.cu bucketsort.cu mergesort.cu", arguments="r"),
    "kmeans": Program("cluster.c getopt.c kmeans.c kmeans_clustering.c kmeans_cuda.cu rmse.c"),
    "lavaMD": Program(
        "main.c util/num/num.c util/timer/timer.c util/device/device.cu kernel/kernel_gpu_cuda_wrapper.cu",
        arguments="-boxes1d 2",
    ),
    "leukocyte": Program("CUDA/detect_main.c CUDA/find_ellipse_kernel.cu CUDA/track_ellipse_kernel.cu"),
    "lud": Program("cuda/lud.cu cuda/lud_kernel.cu common/common.c", "-Icommon", "-s 96 -v", passed=r">>>Verify<<<<$"),
    "mummergpu": Program("src/mummergpu.cu src/mummergpu_main.cpp", "-Isrc"),
    "myocyte": Program("main.cu"),
    "nn": Program("nn_cuda.cu", arguments="list -r 5 -lat 30 -lng 90", inputs=places),
    "nw": Program("needle.cu", arguments="256 10"),
    "particlefilter/float": Program("ex_particle_CUDA_float_seq.cu", arguments="-x 32 -y 32 -z 4 -np 512"),
    "particlefilter/naive": Program("ex_particle_CUDA_naive_seq.cu", arguments="-x 32 -y 32 -z 4 -np 512"),
    "pathfinder": Program("pathfinder.cu", arguments="2048 32 4"),
    "srad/srad_v1": Program("main.cu", arguments="2 0.5 64 64", inputs=scan),
    "srad/srad_v2": Program("srad.cu", arguments="128 128 0 31 0 31 0.5 2"),
    "streamcluster": Program("streamcluster_cuda_cpu.cpp streamcluster_cuda.cu", arguments="5 10 16 512 512 50 none out 1"),
}  # fmt: skip


NO_LAUNCH = re.compile(r"<<<grid 0 |, \(1024,2\)>>>")  # an empty grid, a block of 2,048 threads: CUDA refuses both
LARGE = re.compile(r"int nx = 1 << 14;|freeMem \* 0\.9")  # arrays of a GB each, or all that the device has


def programs(root: Path) -> dict[str, tuple[Path, Program]]:
    """The programs of a checkout, each with its folder."""
    if (root / "CUDA" / "GEMM").is_dir():
        return {f"polybench/{name}": (root / "CUDA" / name, one) for name, one in POLYBENCH.items()}
    if (root / "examples" / "chapter02").is_dir():
        sources = sorted((*root.glob("examples/chapter*/*.cu"), *root.glob("solutions/chapter*/*.cu")))
        return {
            f"textbook/{one.relative_to(root).with_suffix('')}": (one.parent, Program(one.name, "-I../common"))
            for one in sources
        }
    folders = {name: root / "cuda" / name for name in RODINIA}
    return {
        f"rodinia/{name}": (folder if folder.is_dir() else folder.parent, RODINIA[name])
        for name, folder in folders.items()
    }


def compiled(folder: Path, program: Program, out: Path) -> str:
    """Compile a program; why not, where it cannot be."""
    words = [CUDA / "bin" / "nvcc", "-gencode", "arch=compute_80,code=compute_80", "-lineinfo", "-cudart", "shared"]
    if program.macros:
        header = out.parent / "sizes.h"
        lines = [f"#include <{one}>" for one in HEADERS]
        header.write_text("\n".join([*lines, *(f"#define {name} {n}" for name, n in program.macros.items())]) + "\n")
        words += ["-include", header]
    words += ["-O2", "-w", "-Xcompiler", "-w,-fopenmp,-fcommon,-fpermissive", *GONE, "-I", ".", "-I", "../util"]
    done = subprocess.run(
        [*map(str, words), *program.words.split(), "-o", str(out), *program.sources.split(), "-lm", "-lgomp"],
        cwd=folder, capture_output=True, text=True, check=False, timeout=240, errors="replace",
    )  # fmt: skip
    said = [line for line in (done.stderr + done.stdout).splitlines() if "error" in line or "undefined" in line]
    return "" if done.returncode == 0 else (said[0] if said else "it does not say why")[:200]


def judged(result: Mapping[str, object], program: Program) -> object:
    """What came of a program, by what it said and by what was found in it."""
    found, why, came = " ".join(map(str, result.get("findings", ()))), str(result["why"]), result["came"]
    wrong = came in ("wrong", "failed")
    if came != "long" and "P2P" in program.sources:
        return "devices"
    if NO_INPUT.search(why):
        return "no input"
    if wrong and NO_LAUNCH.search(why):
        return "no launch"
    if wrong and "race" in found:
        return "raced"
    if "out-of-bounds" in found or "null-pointer" in found:
        return "bounds"
    if came == "failed" and not program.arguments:
        return "no input"
    return "passed" if came == "ended" and program.passed and re.search(program.passed, why) else came


def tried(folder: Path, program: Program, build: Path) -> dict[str, object]:
    """Compile and run a program."""
    if LARGE.search((folder / program.sources.split()[0]).read_text(errors="replace")):
        return {"came": "large", "why": "arrays of 1 GB, or as large as the device"}
    binary = build / "program"
    if why := compiled(folder, program, binary):
        return {"came": "not compiled", "why": why}
    here = build / "a" / "b" / "c"
    here.mkdir(parents=True)
    if program.inputs is not None:
        program.inputs(here)
    result = ran(binary, here, arguments=program.arguments.split())
    result["came"] = judged(result, program)
    if result["came"] == "wrong":
        again = ran(binary, here, "--global-races", arguments=program.arguments.split())
        if any(str(one).startswith("global-race") for one in again.get("findings", ())):
            result["came"] = "raced"
    return result


CAME = {
    "passed": "agree with their own check",
    "ended": "end with exit code 0 and check nothing",
    "raced": "differ from their own check by a race of their own, which is named by line",
    "bounds": "access memory beyond their arrays or by a null pointer, which is named by line",
    "no launch": "launch an empty grid or a block of 2,048 threads, which CUDA refuses, and their check says so",
    "wrong": "are wrong by their own check",
    "long": "take more than 60 s of processor time",
    "large": "have arrays of 1 GB each, or as large as the device, and are not tried",
    "devices": "are for two devices",
    "no input": "look for a file that is not in their repository",
    "not compiled": "do not compile with nvcc 13: texture references, a header, or a function that nobody declares",
}


RUN = ("passed", "ended", "raced", "bounds", "no launch")
"""What comes of programs that run; what they do wrong themselves is named."""


def table(programs: dict[str, dict[str, dict[str, object]]]) -> list[str]:
    """The rows of docs/cuda.md: how many programs of each source came to what."""
    counts = {source: Counter(one["came"] for one in rows.values()) for source, rows in programs.items()}
    return [
        f"| {' | '.join(programs)} | what came of them |",
        f"|{'---|' * (len(programs) + 1)}",
        *(f"| {' | '.join(str(counts[one][kind]) for one in programs)} | {said} |" for kind, said in CAME.items()),
    ]


def main() -> None:
    """Compile and run the programs of a checkout, or those that are named."""
    root, out, names = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), set(sys.argv[3:])
    results = json.loads(out.read_text()) if out.exists() else {}
    for name, (folder, program) in programs(root).items():
        if (names and name not in names) or (not names and name in results):
            continue
        with tempfile.TemporaryDirectory() as build:
            results[name] = tried(folder, program, Path(build))
        print(name, {key: str(value)[-200:] for key, value in results[name].items()}, flush=True)
        out.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
