"""What stands for functions and classes of ``torch.cuda``, on a torch of a few lines: needs neither torch nor Triton."""

from __future__ import annotations

import inspect
import pickle
import sys
import types

import pytest

from prlx._errors import UsageError
from prlx.hooks import cuda
from prlx.hooks.cuda_places import Places
from prlx.hooks.simulator import Clock, device_interface

SOURCES = {
    "torch._C": """
        stack = []
        def _len_torch_function_stack(): return len(stack)
        def _accelerator_getDeviceIndex(): raise RuntimeError("no driver")
        def _cuda_getCurrentRawStream(device): raise RuntimeError("no driver")
    """,
    "torch.cuda.memory": """
        def memory_allocated(device=None):
            "Bytes."
            raise RuntimeError("no driver")
        def memory_cached(device=None): raise RuntimeError("no driver")
        def _internal(): return 3
    """,
    "torch.cuda": """
        from torch.cuda.memory import memory_allocated, memory_cached
        default_generators = ()
        def is_available() -> bool: return False
        def synchronize(device: int | None = None) -> None: raise RuntimeError("no driver")
        def manual_seed(seed): raise RuntimeError("no driver")
        def unknown_to_us(): return 7
        class Stream:
            def __init__(self, device=None): raise RuntimeError("no driver")
        class Event:
            def __init__(self, enable_timing=False): raise RuntimeError("no driver")
        class FloatTensor:
            def __init__(self, *args): raise RuntimeError("no driver")
    """,
    "torch.amp": "",
    "torch.amp.autocast_mode": """
        class autocast:
            def __init__(self, device, dtype=None, enabled=True, cache_enabled=True):
                self.device, self.fast_dtype, self._enabled, self._cache_enabled = device, dtype, enabled, cache_enabled
            def __enter__(self): entered.append((self.device, self._enabled)); return self
            def __exit__(self, *error): entered.pop()
        entered = []
    """,
    "torch.overrides": """
        import functools
        from torch import _C
        class TorchFunctionMode:
            def __enter__(self): _C.stack.append(self)
            def __exit__(self, *error): _C.stack.pop()
        def _pop_mode(): return _C.stack.pop()
        def _push_mode(mode): _C.stack.append(mode)
        @functools.lru_cache
        def cached(): return object()
    """,
    "torch.serialization": "def default_restore_location(storage, location): return storage, location",
    "torch.optim": "",
    "torch.optim.optimizer": "def _get_capturable_supported_devices(more=True): return ['cuda']",
    "torch.other": "from torch.cuda import is_available, synchronize as wait",
}


def fake() -> types.ModuleType:
    """A torch of a few lines."""
    torch = types.ModuleType("torch")

    class Methods:
        """What tensors and storages have."""

        is_cuda = property(lambda self: False)

        def cuda(self):
            raise RuntimeError("no driver")

        def to(self, device):
            return self, device

        cpu = pin_memory = record_stream = cuda

    class Generator:
        def __init__(self, device="cpu"):
            self.device = device

        def manual_seed(self, seed):
            self.seed = seed

    class DataParallel:
        def forward(self, x):
            raise RuntimeError(f"no driver for {x}")

    Generator.__module__ = "torch"
    Generator.__qualname__ = "Generator"
    for name in ("Tensor", "UntypedStorage", "TypedStorage"):
        setattr(torch, name, type(name, (Methods,), {"pin_memory": Methods.cuda, "record_stream": Methods.cuda}))
    torch.__dict__.update(
        Generator=Generator, default_generator=Generator(), float16="f16", bfloat16="bf16", FloatTensor=list, device=str,
        dtype=int, set_default_device=lambda device: device, nn=types.SimpleNamespace(DataParallel=DataParallel),
    )  # fmt: skip
    return torch


@pytest.fixture
def torch(monkeypatch):
    """A small torch in the place of the real one."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    made = fake()
    monkeypatch.setitem(sys.modules, "torch", made)
    for name in sorted(SOURCES):
        module = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        parent, _, last = name.rpartition(".")
        setattr(sys.modules[parent], last, module)
    for name, text in SOURCES.items():
        exec(inspect.cleandoc(text), vars(sys.modules[name]))
    return made


def install():
    return cuda.install(device_interface(Clock()))


def everything(torch):
    modules = {name: vars(module) for name, module in sys.modules.items() if name.partition(".")[0] == "torch"}
    kinds = (torch.Tensor, torch.UntypedStorage, torch.amp.autocast_mode.autocast, torch.nn.DataParallel)
    return {name: dict(names) for name, names in (modules | {kind.__name__: vars(kind) for kind in kinds}).items()}


def test_every_name_has_a_function_of_its_own(torch):
    before = everything(torch)
    install()
    mapped = [name for name, value in vars(torch.cuda).items() if value is not before["torch.cuda"][name]]
    assert {"is_available", "synchronize", "manual_seed", "memory_allocated", "memory_cached", "Stream"} <= set(mapped)
    assert torch.cuda.unknown_to_us() == 7
    values = [getattr(torch.cuda, name) for name in mapped]
    assert len({id(value) for value in values}) == len(values), "torch._dynamo takes functions for keys"


def test_functions_look_like_those_that_they_stand_for(torch):
    before = everything(torch)
    install()
    for name in ("is_available", "synchronize", "manual_seed", "memory_allocated"):
        function, original = getattr(torch.cuda, name), before["torch.cuda"][name]
        assert function is not original
        for what in ("__name__", "__qualname__", "__module__", "__doc__"):
            assert getattr(function, what) == getattr(original, what)
        assert inspect.signature(function) == inspect.signature(original)
    assert pickle.loads(pickle.dumps(torch.cuda.memory_allocated)) is torch.cuda.memory.memory_allocated
    assert torch.cuda.Stream.__module__ == before["torch.cuda"]["Stream"].__module__
    assert torch.cuda.Stream.__qualname__ == torch.cuda.Stream.__name__ == "Stream"


def test_what_is_asked_is_answered_in_every_module(torch):
    undo = install()
    assert torch.other.is_available() is torch.cuda.is_available() is True
    assert torch.other.wait is torch.cuda.synchronize
    assert torch.other.wait() is None
    assert torch.cuda.memory.memory_allocated(0) == 0
    assert torch._C._accelerator_getDeviceIndex() == 0
    torch.cuda.manual_seed(5)
    assert torch.default_generator.seed == 5
    assert torch.serialization.default_restore_location("s", "cuda:3") == ("s", "cpu")
    assert torch.optim.optimizer._get_capturable_supported_devices(more=False) == ["cuda", "cpu"]
    assert torch.cuda.default_generators == (torch.default_generator,)
    generator = torch.Generator("cuda:0")
    assert generator.device == "cpu"
    assert isinstance(generator, torch.Generator)
    tensor = torch.Tensor()
    assert tensor.pin_memory() is tensor
    assert torch.cuda.FloatTensor("ab") == ["a", "b"]
    undo()


def test_everything_is_put_back(torch):
    before = everything(torch)
    cached = torch.overrides.cached()
    undo = install()
    assert torch.overrides.cached() is not cached, "caches are emptied"
    late = types.ModuleType("torch.late")
    sys.modules["torch.late"] = late
    exec("from torch.cuda import is_available, Stream\nfrom torch import Generator", late.__dict__)
    kept, stream = torch.cuda.is_available, torch.cuda.Stream
    try:
        undo()
    finally:
        del sys.modules["torch.late"]
    assert everything(torch) == before
    assert (late.is_available, late.Stream) == (torch.cuda.is_available, torch.cuda.Stream)
    assert late.Generator is torch.Generator
    assert kept() is False, "who kept ours gets the answer of the original"
    with pytest.raises(RuntimeError, match="no driver"):
        stream()
    undo()
    assert everything(torch) == before


def test_the_mode_leaves_from_below_another_one(torch):
    undo = install()
    other = torch.overrides.TorchFunctionMode()
    other.__enter__()
    undo()
    assert torch._C.stack == [other]


def test_a_mapping_that_fails_leaves_nothing(torch, monkeypatch):
    before = everything(torch)
    monkeypatch.delattr(torch.serialization, "default_restore_location")
    with pytest.raises(AttributeError):
        install()
    del before["torch.serialization"]["default_restore_location"]
    assert everything(torch) == before
    assert not torch._C.stack


def test_streams_are_entered_and_left(torch):
    undo = install()
    a, b = torch.cuda.Stream(), torch.cuda.Stream()
    assert isinstance(a, torch.cuda.Stream)
    with a:
        with b, a:
            pass
        with b:
            b.synchronize()
    event = a.record_event()
    assert isinstance(event, torch.cuda.Event)
    assert not isinstance(event, torch.cuda.Stream)

    class Mine(torch.cuda.Stream):
        """Somebody's own."""

    assert isinstance(Mine(), Mine)
    assert not isinstance(a, Mine)
    undo()


def test_autocast_is_on_for_the_cpu_too(torch):
    undo = install()
    autocast, entered = torch.amp.autocast_mode.autocast, torch.amp.autocast_mode.entered
    with autocast("cuda", "f16") as outer:
        assert entered == [("cuda", True), ("cpu", True)]
        with autocast("cuda", "f16", enabled=False), outer:
            assert entered[2:] == [("cuda", False), ("cpu", False), ("cuda", True), ("cpu", True)]
        with autocast("cpu", "bf16"):
            assert entered[2:] == [("cpu", True)]
    assert not entered
    undo()


def test_arguments_that_name_a_device():
    for value in ("cuda", "cuda:1"):
        assert cuda.mapped(value) == "cpu"
    assert cuda.mapped("torch.cuda.FloatTensor") == "torch.FloatTensor"
    for value in ("cudalike", "cpu", 0, None, 1.5, ["cuda"]):
        assert cuda.mapped(value) is value


class Storage:
    """Memory of tensors."""


class Moving:
    """A tensor: a view of a storage."""

    def __init__(self, storage=None):
        self.storage = storage or Storage()

    def untyped_storage(self):
        if self.storage == "none":
            raise NotImplementedError
        return self.storage

    def clone(self):
        return Moving()


def test_moving_makes_a_copy_where_a_gpu_would():
    places = Places(types.SimpleNamespace(Tensor=Moving, as_tensor=len))
    here = Moving()
    there = places.moved(None, (here,), {}, here, to="cuda")
    assert there is not here
    assert places.has(there)
    assert not places.has(here)
    assert places.moved(None, (there,), {}, there, to="cuda") is there
    back = places.moved(None, (there,), {}, there, to="cpu")
    assert back is not there
    assert not places.has(back)
    assert places.moved(None, (back,), {}, back, to="cpu") is back
    shared = Moving(here.storage)
    assert places.moved(len, ([1.0],), {}, shared, to="cuda") is not shared, "as_tensor takes over memory of others"


def test_what_is_made_of_memory_on_the_device_is_there():
    places = Places(types.SimpleNamespace(Tensor=Moving))
    there = places.moved(None, (), {}, Moving(), to="cuda")
    assert places.has(Moving(there.storage)), "a view"
    for args, kwargs in (((there,), {}), (([Moving(), (there,)],), {}), ((), {"other": there})):
        made = places.moved(None, args, kwargs, [Moving(), Moving("none"), 3], to="")
        assert [places.has(value) for value in made[:2]] == [True, False]
    kept = Moving()
    assert not places.has(places.moved(None, (kept, there), {}, kept, to="")), "it takes values and stays"
    made = places.moved(None, (kept,), {}, Moving(), to="")
    assert not places.has(made)


def test_memory_that_is_gone_is_forgotten():
    places = Places(types.SimpleNamespace(Tensor=Moving))
    for _ in range(100):
        places.moved(None, (), {}, Moving(), to="cuda")
    assert not places._there


def test_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UsageError, match="map_cuda needs torch"):
        install()


def test_statistics_of_memory_have_the_keys_of_torch():
    from prlx.hooks.cuda_answers import memory_stats

    stats = memory_stats()
    assert set(stats.values()) == {0}
    assert {"allocated_bytes.all.peak", "active_bytes.large_pool.current", "num_ooms"} <= set(stats)
