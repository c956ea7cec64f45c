"""Combines traces with the executor of another engine, ``ENGINE INPUT OUTPUT ANSWERS``; answers with the sums of the files.

It runs in the engines' own environment, with the package of this repository. For MPI it is what ``mpi4py.futures`` runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def ray_executor() -> Iterator[Executor]:
    import ray

    class RayExecutor(Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            return ray.remote(fn).remote(*args, **kwargs).future()

    ray.init(num_cpus=2, include_dashboard=False, configure_logging=False, log_to_driver=False)
    try:
        yield RayExecutor()
    finally:
        ray.shutdown()


@contextlib.contextmanager
def mpi_executor() -> Iterator[Executor]:
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor(max_workers=2) as pool:
        yield pool


def process(_: int) -> int:
    """Who works."""
    return os.getpid()


def main() -> None:
    """Combine and answer."""
    engine, source, output, answers = sys.argv[1:]
    import prlx

    with {"ray": ray_executor, "mpi": mpi_executor}[engine]() as executor:
        workers = {executor.submit(process, n).result() for n in range(4)}
        combined = prlx.combine_traces(source, output=output, executor=executor, progress=False)
    document = {
        "status": combined.status,
        "sums": [one.sha256 for one in combined.outputs],
        "elsewhere": os.getpid() not in workers,
        "prlx": str(Path(prlx.__file__).parent),
    }
    Path(answers).write_text(json.dumps(document))


if __name__ == "__main__":
    main()
