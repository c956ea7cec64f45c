"""Steps with a collective of all ranks, profiled on one clock: train_torch.py TRACES, started by torchrun."""

import sys

import torch
from torch import distributed

import prlx.torch

distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
x = torch.ones(1024, 64)

with prlx.torch.profile(sys.argv[1], schedule=torch.profiler.schedule(wait=5, warmup=1, active=20)) as profiler:
    for _ in range(26):
        distributed.all_reduce(x)
        x /= distributed.get_world_size()
        profiler.step()

distributed.destroy_process_group()
