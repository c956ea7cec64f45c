"""As much of torch as Triton's driver for AMD asks for where no tensor is passed."""

import types

Tensor = type("Tensor", (), {})
version = types.SimpleNamespace(hip="7.1", cuda=None)


def _nothing(*_):
    """There is one device, and it is the current one."""


cuda = types.SimpleNamespace(
    is_available=lambda: True,
    current_device=lambda: 0,
    set_device=_nothing,
    get_device_capability=lambda *_: (9, 4),
)
