"""What code that Inductor generates for a GPU finds under the names by which it asks for memory, devices and streams."""

from __future__ import annotations

from typing import Any

import torch

empty_strided_cuda = torch._C._dynamo.guards._empty_strided_cpu


def device(*args: Any, **kwargs: Any) -> torch.device:
    """The CPU, whatever the code says: there the tensors are."""
    del args, kwargs
    return torch.device("cpu")


def get_raw_stream(device: object) -> int:
    """There is one stream."""
    del device
    return 0
