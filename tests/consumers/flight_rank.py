"""One rank of a job of torch.distributed on gloo, which dumps PyTorch's Flight Recorder. Runs with PyTorch's Python.

Usage: flight_rank.py RANK RANKS PORT DIRECTORY CASE. gloo writes no members of its groups into dumps, as NCCL does, and leaves
all states as they were: what is dumped gets both, so that PyTorch's own reader takes it. gloo aborts on sizes and types that
differ, where NCCL hangs: these are changed in the last rank's dump.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from pathlib import Path

os.environ["TORCH_FR_BUFFER_SIZE"] = "2000"


def main(rank: int, ranks: int, port: str, directory: str, case: str) -> None:
    """Do some collectives, go wrong as the case says, and dump."""
    import torch
    import torch.distributed as dist
    from torch._C._distributed_c10d import _dump_fr_trace, _dump_fr_trace_json

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    pair = dist.new_group([0, 1])
    x = torch.ones(128)
    for _ in range(3):
        dist.all_reduce(x)
    if rank < 2:
        dist.broadcast(x, 0, group=pair)
    dist.barrier()
    odd = rank == ranks - 1
    if case == "missing" and not odd:
        dist.all_reduce(x, async_op=True)
    elif case == "operation":
        (dist.broadcast(x, 0, async_op=True) if odd else dist.all_reduce(x, async_op=True))
    elif case in ("size", "type"):
        dist.all_reduce(x)
    elif case == "pair" and rank == 0:
        dist.all_reduce(x, group=pair, async_op=True)
    time.sleep(0.5)
    out = Path(directory)
    (out / f"raw_{rank}").write_bytes(_dump_fr_trace())
    text = _dump_fr_trace_json()
    (out / f"json_{rank}").write_bytes(text if isinstance(text, bytes) else text.encode())
    dump = pickle.loads((out / f"raw_{rank}").read_bytes())
    dump["pg_config"] = {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(ranks)))}}
    if rank < 2:
        dump["pg_config"]["1"] = {"name": "1", "desc": "undefined", "ranks": "[0, 1]"}
    for entry in dump["entries"]:
        entry["state"] = "completed" if entry["retired"] else "started"
    if odd and case == "size":
        dump["entries"][-1]["input_sizes"] = dump["entries"][-1]["output_sizes"] = [[64]]
    elif odd and case == "type":
        dump["entries"][-1]["input_dtypes"] = dump["entries"][-1]["output_dtypes"] = ["Double"]
    (out / f"trace_{rank}").write_bytes(pickle.dumps(dump, protocol=2))
    (out / f"done_{rank}").touch()
    while len(list(out.glob("done_*"))) < ranks:
        time.sleep(0.05)
    os._exit(0)  # some wait for what never comes


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:6])
