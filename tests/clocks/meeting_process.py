"""One of many processes without a framework: meeting_process.py DIRECTORY NODE PEER,... It records until its input ends."""

from __future__ import annotations

import json
import sys
import time

import prlx
from prlx._clocks import Probes

directory, node, peers = sys.argv[1], int(sys.argv[2]), sys.argv[3].split(",")
began = time.time_ns()
with prlx.clocks(directory, peers=peers, node=node, rank=node) as clocks:
    (prober,) = (one for one in clocks._recorders if isinstance(one, Probes))
    print("on", flush=True)
    sys.stdin.read()
assert prober.result is not None
print(json.dumps({"began": began, "links": prober.result.document["links"], "counters": clocks.counters}))
