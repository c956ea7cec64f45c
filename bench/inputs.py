"""Inputs for the benchmarks: XSpace by bench/genxspace, Kineto JSON by a few lines here. The same call, the same bytes."""

from __future__ import annotations

import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
MS = 1_000_000


def generator(into: Path) -> Path:
    """Builds bench/genxspace."""
    binary = into / "genxspace"
    subprocess.run(["go", "build", "-o", binary, "./bench/genxspace"], cwd=REPOSITORY, check=True)
    return binary


def xspace(binary: Path, directory: Path, *, nodes: int, megabytes: float, gpus: int = 8) -> list[Path]:
    """Traces of nodes with known clocks, and round_offsets.jsonl and truth.json beside them."""
    directory.mkdir(parents=True)
    options = ["-out", directory, "-nodes", nodes, "-mb", megabytes, "-gpus", gpus]
    subprocess.run([binary, *map(str, options)], check=True, stdout=subprocess.DEVNULL)
    return [directory / f"node{node}.xplane.pb" for node in range(nodes)]


def kineto(directory: Path, *, ranks: int, megabytes: float) -> list[Path]:
    """Traces shaped like PyTorch's: an operator, its launch, its kernel and the flow between them, again and again."""
    directory.mkdir(parents=True)
    paths = [directory / f"rank-{rank}.json" for rank in range(ranks)]
    for rank, path in enumerate(paths):
        _kineto_rank(path, rank, ranks, int(megabytes * 1e6))
    return paths


HEAD = """{{
  "schemaVersion": 1,
  "distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": {ranks}}},
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1759000000000000000,
  "traceEvents": [
  {{"ph": "M", "name": "process_name", "pid": {pid}, "tid": 0, "ts": 0.000, "args": {{"name": "python"}}}},
  {{"ph": "M", "name": "process_name", "pid": {rank}, "tid": 0, "ts": 0.000, "args": {{"name": "GPU {rank}"}}}}"""

STEP = """,
  {{
    "ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": {pid}, "tid": {pid},
    "ts": {op:.3f}, "dur": 21.517,
    "args": {{
      "External id": {k},"Record function id": 0, "Sequence number": {k}, "Fwd thread id": 0, "Ev Idx": {k}
    }}
  }},
  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": {pid}, "tid": {pid},
    "ts": {launch:.3f}, "dur": 6.204,
    "args": {{
      "External id": {k}, "cbid": 211, "correlation": {k}
    }}
  }},
  {{
    "ph": "s", "id": {k}, "pid": {pid}, "tid": {pid}, "ts": {launch:.3f}, "cat": "ac2g", "name": "ac2g"
  }},
  {{
    "ph": "X", "cat": "kernel", "name": "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_tn", "pid": {rank}, "tid": 7,
    "ts": {kernel:.3f}, "dur": 14.336,
    "args": {{
      "External id": {k}, "queued": 0, "device": {rank}, "context": 1, "stream": 7, "correlation": {k},
      "registers per thread": 128, "shared memory": 49152, "blocks per SM": 2.962963, "warps per SM": 11.851851,
      "grid": [64, 5, 1], "block": [128, 1, 1], "est. achieved occupancy %": 19
    }}
  }},
  {{
    "ph": "f", "id": {k}, "pid": {rank}, "tid": 7, "ts": {kernel:.3f}, "cat": "ac2g", "name": "ac2g", "bp": "e"
  }}"""


def _kineto_rank(path: Path, rank: int, ranks: int, size: int) -> None:
    pid = 40_000 + rank
    with path.open("w") as file:
        written = file.write(HEAD.format(rank=rank, ranks=ranks, pid=pid))
        k = 0
        while written < size:
            op = 1_000_000.125 + 37.001 * k
            written += file.write(STEP.format(pid=pid, rank=rank, k=k + 1, op=op, launch=op + 9.75, kernel=op + 15.25))
            k += 1
        file.write("\n  ]\n}\n")


def declared(path: Path, nodes: int) -> Path:
    """A declared-offsets file: clocks half a millisecond apart that drift."""
    tables = [
        f"[nodes.{node}]\noffset_ns = {node * 500_000}\ndrift_ppm = {node * 3}\nbound_ns = 1000\nat_ns = 1759000001000000000\n"
        for node in range(nodes)
    ]
    path.write_text("reference = 0\n\n" + "\n".join(tables))
    return path
