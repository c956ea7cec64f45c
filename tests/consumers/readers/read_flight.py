"""What PyTorch's own reader of Flight Recorder dumps finds, as JSON: read_flight.py DIRECTORY, with PyTorch's Python.

The first operation of each group that it does not pass: its number, who is missing, and what is said to differ on whom.
"""

from __future__ import annotations

import json
import sys

from torch.distributed.flight_recorder.components.builder import build_db
from torch.distributed.flight_recorder.components.config_manager import JobConfig
from torch.distributed.flight_recorder.components.loader import read_dir

config = JobConfig()
arguments = config.parse_args([sys.argv[1], "-p", "trace_"])
details, version = read_dir(arguments)
database = build_db(details, arguments, version)
failed: dict[str, dict] = {}
passed = 0
for call in database.collectives:
    wrong = call.missing_ranks or call.mismatch_collectives
    if call.pass_check and not wrong:
        passed += 1
        continue
    failed.setdefault(
        call.group_id,
        {
            "sequence": call.collective_seq_id,
            "operation": call.collective_name,
            "missing": sorted(call.missing_ranks or ()),
            "mismatch": {
                rank: other.type_of_mismatch.state.name for rank, other in (call.mismatch_collectives or {}).items()
            },
        },
    )
print(json.dumps({"passed": passed, "failed": failed}))
