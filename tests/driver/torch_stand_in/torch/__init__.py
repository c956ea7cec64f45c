"""As much of torch as Triton's driver of 3.5 and 3.6 asks for where no tensor is passed."""

import types

Tensor = type("Tensor", (), {})
version = types.SimpleNamespace(hip=None, cuda="13.0")


def _nothing(*_):
    """There is one device, and it is the current one."""


cuda = types.SimpleNamespace(
    is_available=lambda: True,
    current_device=lambda: 0,
    set_device=_nothing,
    get_device_capability=lambda *_: (8, 0),
)
