"""Checks of training code that says device="cuda", as people write it. Run as ``torch_checks.py`` is."""

import concurrent.futures
import copy
import gc
import inspect
import io
import json
import pickle
import sys
import threading
import traceback
import types
import warnings

import torch
from torch import nn
from torch.nn import functional

import prlx

CUDA = "cuda"


class Net(nn.Module):
    """Convolution, normalisation, dropout and a product."""

    def __init__(self):
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4)
        self.dropout, self.product = nn.Dropout(0.1), nn.Linear(4 * 6 * 6, 10)

    def forward(self, x):
        return self.product(self.dropout(functional.relu(self.norm(self.convolution(x)))).flatten(1))


def batch(n=5):
    return torch.randn(n, 1, 8, 8, device=CUDA), torch.randint(0, 10, (n,), device=CUDA)


def trained(optimizer, steps=2):
    """The loss after some steps from one seed."""
    torch.manual_seed(0)
    model = Net().cuda()
    chosen = optimizer(model.parameters())
    for _ in range(steps):
        x, y = batch()
        chosen.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        chosen.step()
    return loss.item()


def check_optimizers_as_they_select_by_default():
    for kind in ("AdamW", "SGD", "Adam", "RMSprop", "Adagrad", "NAdam", "RAdam", "Adamax", "Adadelta"):
        trained(lambda parameters, kind=kind: getattr(torch.optim, kind)(parameters, lr=1e-2))


def check_variants_of_optimizers_agree():
    for kind in (torch.optim.AdamW, torch.optim.SGD):
        plain = trained(lambda parameters, kind=kind: kind(parameters, lr=1e-2, foreach=False))
        for variant in ({"foreach": True}, {"fused": True}, {}):
            other = trained(lambda parameters, kind=kind, variant=variant: kind(parameters, lr=1e-2, **variant))
            assert abs(other - plain) < 1e-4, (kind, variant, plain, other)
    trained(lambda parameters: torch.optim.AdamW(parameters, lr=1e-2, capturable=True))


def check_schedulers_and_averages():
    model = nn.Linear(2, 2).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    optimizer.step()
    scheduler.step()
    torch.optim.swa_utils.AveragedModel(model)
    nn.DataParallel(nn.Linear(2, 2)).cuda()(torch.randn(3, 2, device=CUDA))


def check_autocast_lowers_the_precision():
    model, (x, _) = Net().cuda(), batch()
    for context, dtype in (
        (torch.autocast(CUDA), torch.float16),
        (torch.autocast(device_type=torch.device(CUDA).type, dtype=torch.bfloat16), torch.bfloat16),
        (torch.amp.autocast(CUDA, dtype=torch.float16), torch.float16),
        (torch.autocast(CUDA, enabled=False), torch.float32),
    ):
        for _ in range(2):  # one context may be entered again
            with context:
                y = model(x)
                assert y.dtype == dtype, (y.dtype, dtype)
                assert torch.is_autocast_enabled(CUDA) == (dtype != torch.float32)
                with torch.autocast(CUDA, enabled=False):
                    assert model(x).dtype == torch.float32
        y.float().sum().backward()
        assert not torch.is_autocast_enabled(CUDA) and not torch.is_autocast_enabled("cpu")

    @torch.autocast(CUDA, dtype=torch.bfloat16)
    def decorated():
        return model(x).dtype

    assert decorated() == torch.bfloat16 and model(x).dtype == torch.float32


def check_functions_of_ones_own_under_autocast():
    class Twice(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type=CUDA, cast_inputs=torch.float32)
        def forward(context, x):
            context.save_for_backward(x)
            assert x.dtype == torch.float32
            return x * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type=CUDA)
        def backward(context, gradient):
            assert context.saved_tensors[0].dtype == torch.float32
            return gradient * 2

    x = torch.randn(3, device=CUDA, requires_grad=True)
    with torch.autocast(CUDA, dtype=torch.float16):
        Twice.apply(x).sum().backward()
    assert (x.grad == 2).all()


def check_gradients_are_scaled():
    for make in (lambda: torch.amp.GradScaler(CUDA), torch.amp.GradScaler):
        model, scaler = Net().cuda(), make()
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(3):
            with torch.autocast(CUDA):
                loss = model(batch()[0]).float().pow(2).mean()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
        scaler.load_state_dict(scaler.state_dict())
        assert scaler.is_enabled() and scaler.get_scale() > 0


def check_checkpoints_of_activations():
    from torch.utils.checkpoint import checkpoint, checkpoint_sequential

    layers = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 4)).cuda()
    for reentrant in (True, False):
        x = torch.randn(2, 4, device=CUDA, requires_grad=True)
        torch.manual_seed(1)
        layers(x).sum().backward()
        plain, x.grad = x.grad, None
        torch.manual_seed(1)
        checkpoint(layers, x, use_reentrant=reentrant).sum().backward()
        assert torch.equal(plain, x.grad), "the dropout of the second forward is that of the first"
    with torch.autocast(CUDA, dtype=torch.bfloat16):
        checkpoint(layers, x, use_reentrant=False).sum().backward()
    checkpoint_sequential(layers, 2, x, use_reentrant=False).sum().backward()


def check_loaders():
    from torch.utils.data import DataLoader, TensorDataset, random_split

    data = TensorDataset(torch.randn(16, 3), torch.arange(16))
    random_split(data, [8, 8], generator=torch.Generator().manual_seed(1))
    for workers in (0, 2):
        seen = []
        loader = DataLoader(
            data, batch_size=4, shuffle=True, num_workers=workers, pin_memory=True, persistent_workers=workers > 0
        )
        for x, y in loader:
            seen += y.to(CUDA, non_blocking=True).tolist()
            assert x.cuda(non_blocking=True).is_cuda
        assert sorted(seen) == list(range(16))


def check_random_numbers():
    torch.cuda.manual_seed(5)
    first = torch.randn(3, device=CUDA)
    torch.cuda.manual_seed_all(5)
    assert torch.equal(first, torch.randn(3, device=CUDA))
    made = [torch.Generator(device).manual_seed(3) for device in (CUDA, torch.device(CUDA, 0), "cpu")]
    drawn = [torch.randn(3, device=CUDA, generator=generator) for generator in made]
    assert torch.equal(drawn[0], drawn[1]) and all(isinstance(generator, torch.Generator) for generator in made)
    pickle.loads(pickle.dumps(made[0]))
    state = torch.cuda.get_rng_state()
    first = torch.rand(3, device=CUDA)
    torch.cuda.set_rng_state(state)
    assert torch.equal(first, torch.rand(3, device=CUDA))
    torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())
    for devices in (None, [0]):
        with torch.random.fork_rng(devices=devices):
            inside = torch.rand(3, device=CUDA)
        assert torch.equal(inside, torch.rand(3, device=CUDA))
    torch.cuda.seed()
    assert torch.cuda.initial_seed() == torch.cuda.default_generators[0].initial_seed()


def check_files():
    model = Net().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    model(batch()[0]).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    for place in (None, CUDA, "cuda:0", torch.device(CUDA), torch.device(CUDA, 0), "cpu", {"cuda:0": "cpu"}, {"cpu": "cuda:0"},
                  lambda storage, _: storage, lambda storage, _: storage.cuda(0)):  # fmt: skip
        file.seek(0)
        loaded = torch.load(file, map_location=place)
        model.load_state_dict(loaded["model"])
        optimizer.load_state_dict(loaded["optimizer"])
    copy.deepcopy(model)
    copy.deepcopy(optimizer)


def check_a_storage_of_cuda_is_restored():
    restore = torch.serialization.default_restore_location
    storage = torch.ones(3).untyped_storage()
    assert restore(storage, "cuda:1") is storage and restore(storage, "cpu") is storage


def check_questions():
    cuda = torch.cuda
    assert cuda.is_available() and cuda.device_count() == 1 and cuda.current_device() == 0 and cuda.is_bf16_supported()
    assert cuda.memory_stats()["active_bytes.all.peak"] == 0 and not cuda.is_current_stream_capturing()
    for ask in (cuda.memory_summary, cuda.memory_snapshot, cuda.mem_get_info, cuda.get_device_properties, cuda.synchronize,
                cuda.get_arch_list, cuda.memory_allocated, cuda.max_memory_allocated, cuda.reset_peak_memory_stats,
                cuda.empty_cache, cuda.ipc_collect, cuda.get_gencode_flags, cuda.get_sync_debug_mode,
                cuda.memory.memory_reserved, cuda.memory._record_memory_history, cuda.profiler.start, cuda.profiler.stop,
                cuda.cudart().cudaProfilerStart):  # fmt: skip
        ask()
    cuda.set_device("cuda:0")
    cuda.set_per_process_memory_fraction(0.5)
    cuda.nvtx.range_push("a")
    cuda.nvtx.range_pop()
    with (
        cuda.device(0),
        cuda.device(CUDA),
        cuda.device_of(torch.ones(1)),
        cuda.nvtx.range("b"),
        cuda.profiler.profile(),
    ):
        pass


def check_streams_and_events():
    cuda = torch.cuda
    stream, event = cuda.Stream(), cuda.Event(enable_timing=True)
    with cuda.stream(stream):
        assert cuda.current_stream() is stream
        with cuda.stream(None), stream:
            event.record(stream)
    assert cuda.current_stream() is cuda.default_stream() is not stream
    stream.wait_stream(cuda.current_stream())
    stream.record_event().wait()
    torch.ones(3).record_stream(stream)
    cuda.set_stream(stream)
    assert cuda.current_stream() is stream
    cuda.set_stream(cuda.default_stream())
    for one in (stream, cuda.current_stream(), torch.Stream(device=CUDA)):
        assert isinstance(one, torch.Stream) and not isinstance(one, torch.Event)
    assert isinstance(stream, cuda.Stream) and not isinstance(torch.Stream(), cuda.Stream)
    assert isinstance(event, torch.Event) and isinstance(stream.record_event(), cuda.Event)


def check_the_accelerator():
    accelerator = torch.accelerator
    assert accelerator.is_available() and accelerator.device_count() == 1 and accelerator.current_device_index() == 0
    assert accelerator.current_accelerator().type == accelerator.current_accelerator(check_available=True).type == CUDA
    for ask in (accelerator.synchronize, accelerator.current_stream, accelerator.empty_cache, accelerator.memory_allocated,
                accelerator.reset_peak_memory_stats, accelerator.memory_stats, accelerator.get_memory_info):  # fmt: skip
        ask()
    accelerator.set_device_index(0)
    accelerator.set_stream(torch.Stream())
    with accelerator.device_index(0):
        assert torch.ones(3, device=accelerator.current_accelerator()).is_cuda
    assert torch.get_device_module() is torch.get_device_module(CUDA) is torch.cuda


def check_devices_by_number_and_by_type():
    made = [torch.ones(3).to(0), torch.ones(3).cuda(0), torch.ones(3, device=0), nn.Linear(2, 2).to(0).weight,
            torch.ones(3).type("torch.cuda.FloatTensor"), torch.ones(3).type(torch.cuda.HalfTensor), torch.cuda.FloatTensor(3),
            torch.as_tensor([1], device=torch.device(CUDA, 0)), torch.ones(3).to(device=CUDA, dtype=torch.float64)]  # fmt: skip
    assert all(tensor.device.type == "cpu" for tensor in made)
    assert isinstance(made[0], torch.cuda.FloatTensor) and made[5].dtype == torch.float16
    assert torch.device(CUDA).type == CUDA, "a device by itself is what the program says"
    with torch.device(CUDA):
        assert nn.Linear(2, 2).weight.device.type == torch.zeros_like(torch.ones(2)).device.type == "cpu"


def check_copies_are_copies():
    """What moves to the device or back is memory of its own, as on a GPU, and what is there already is not copied."""
    numpy = torch.arange(3.0).numpy()
    x = torch.ones(3)
    moves = (lambda: x.cuda(), lambda: x.to(CUDA), lambda: x.to(0), lambda: x.to(device=torch.device(CUDA, 0)),
             lambda: torch.as_tensor(x, device=CUDA), lambda: torch.as_tensor(numpy, device=CUDA), lambda: x[1:].cuda(),
             lambda: x.to(torch.ones(1, device=CUDA)), lambda: torch.from_numpy(numpy).cuda())  # fmt: skip
    for number, move in enumerate(moves):
        y = move()
        y += 1
        assert x.tolist() == [1, 1, 1] and numpy.tolist() == [0, 1, 2], number
        for same in (y.cuda(), y.to(CUDA), y.to(y.dtype), y.to(CUDA, non_blocking=True)):
            assert same is y, number
        for back in (y.cpu(), y.to("cpu"), y.to(device=torch.device("cpu")), y[:].cpu(), y.detach().cpu()):
            before = back.tolist()
            y += 1
            assert back.tolist() == before and back.cpu() is back, number
    there = torch.ones(3, device=CUDA)
    for derived in (there + 1, there[1:], torch.stack([there, there]), there.clone(), torch.zeros_like(there)):
        assert derived.cuda() is derived and derived.cpu() is not derived
    x.copy_(there)
    assert x.cpu() is x, "who takes values stays where it is"
    leaf = torch.ones(3, requires_grad=True)
    leaf.cuda().sum().backward()
    assert (leaf.grad == 1).all() and leaf.is_leaf and not leaf.cuda().is_leaf


def check_snapshots_of_models():
    for model in (nn.Linear(2, 2).cuda(), nn.Linear(2, 2, device=CUDA), nn.Linear(2, 2).to(CUDA)):
        parameters = [*model.parameters()]
        assert model.cuda() is model and all(a is b for a, b in zip(parameters, model.parameters(), strict=True))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        before = {name: value.cpu() for name, value in model.state_dict().items()}
        model(torch.ones(1, 2, device=CUDA)).sum().backward()
        gradient = model.weight.grad.cpu()
        optimizer.step()
        assert not torch.equal(before["weight"], model.weight.cpu()), "the snapshot stays what it was"
        model(torch.ones(1, 2, device=CUDA)).sum().backward()
        assert torch.equal(gradient * 2, model.weight.grad)
        assert model.weight.to(CUDA) is model.weight and model.weight.is_leaf


def check_threads():
    class Prefetching(threading.Thread):
        def run(self):
            made.append(torch.ones(3, device=CUDA))

    made = []
    threads = [Prefetching(), threading.Thread(target=lambda: made.append(torch.ones(3).cuda()))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        made += pool.map(lambda value: torch.tensor([value], device=CUDA), range(4))
    assert len(made) == 6 and all(tensor.is_cuda and tensor.device.type == "cpu" for tensor in made)


def check_layers():
    x = torch.randn(2, 3, 8, device=CUDA)
    nn.LSTM(8, 4).cuda()(x)
    nn.MultiheadAttention(8, 2).to(CUDA).eval()(x, x, x)
    nn.TransformerEncoderLayer(8, 2).cuda()(x)
    nn.Embedding(5, 4).cuda()(torch.arange(3, device=CUDA))
    half = x.half().unsqueeze(0)
    functional.scaled_dot_product_attention(half, half, half, is_causal=True)


def check_graphs_are_refused():
    for make in (torch.cuda.CUDAGraph, lambda: torch.cuda.make_graphed_callables(nn.Linear(2, 2), (torch.ones(2),))):
        try:
            make()
        except prlx.UsageError as error:
            assert "no CUDA graphs" in str(error)
        else:
            raise AssertionError("made a graph")


def check_dynamo_can_be_imported():
    import torch._dynamo
    import torch._dynamo.device_interface
    import torch._inductor

    torch._dynamo.reset()
    rules = torch._dynamo.trace_rules.get_torch_obj_rule_map()
    assert rules[torch.cuda.is_available] and rules[torch.cuda.synchronize]
    assert torch.compiler.disable(lambda x: x)(1) == 1


def ours(value):
    """Whether something is ours: a function that answers, or a class."""
    kinds = (types.FunctionType, type)
    return isinstance(value, kinds) and (
        "hooks/cuda" in getattr(getattr(value, "__code__", None), "co_filename", "")
        or "hooks.cuda" in type(value).__module__
    )


def check_functions_look_like_those_that_they_stand_for():
    found = [value for value in vars(torch.cuda).values() if ours(value) and isinstance(value, types.FunctionType)]
    assert len(found) > 40 and len({id(value) for value in found}) == len(found)
    for function in found:
        original = function.__wrapped__
        assert function.__name__ == original.__name__ and function.__module__ == original.__module__
        assert function.__doc__ == original.__doc__
        assert inspect.signature(function) == inspect.signature(original), function.__name__
        if getattr(sys.modules[function.__module__], function.__name__, None) is function:
            assert pickle.loads(pickle.dumps(function)) is function


def snapshot():
    """What every module of torch has, by name, and the classes whose methods are replaced."""
    owners = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "torch"}
    for owner in (torch.Tensor, torch.UntypedStorage, torch.TypedStorage, torch.autocast, nn.DataParallel):
        owners[owner.__qualname__] = owner
    return {name: dict(vars(owner)) for name, owner in owners.items() if isinstance(owner, (types.ModuleType, type))}


def compare(before, during, after):
    """What was replaced is there again, and what was imported in the meantime has nothing of ours."""
    replaced = [(module, name) for module, names in during.items() for name, value in names.items() if ours(value)]
    assert len(replaced) > 150, len(replaced)
    for module, name in replaced:
        was, value = before[module].get(name), after[module].get(name)
        assert value is was, f"{module}.{name} was {was!r}, is {value!r}"
    for module, names in after.items():
        for name, value in names.items():
            assert not ours(value), f"{module}.{name} is ours: {value!r}"
    assert after["torch.cuda"]["default_generators"] == before["torch.cuda"]["default_generators"]


def restored(before, during, kept):
    """After the mapping has ended."""
    compare(before, during, snapshot())
    assert "hooks/cuda" not in threading.Thread.start.__code__.co_filename
    assert not torch.cuda.is_available() and not torch.ones(1).is_cuda and torch._C._len_torch_function_stack() == 0
    assert kept["is_available"]() is False, "who kept ours has the answer of the original"
    assert torch._dynamo.trace_rules.get_torch_obj_rule_map()[torch.cuda.is_available]
    assert torch.autocast("cpu").__enter__.__func__ is torch.autocast.__enter__
    event = kept["Event"]
    assert isinstance(event, type) and event.__name__ == "Event"
    generator = torch.Generator()
    assert type(generator) is torch.Generator and isinstance(generator, kept["Generator"])


def main():
    warnings.simplefilter("ignore")
    chosen = sys.argv[1:]
    results = {}

    def attempt(name, check):
        try:
            check()
            results[name] = None
        except BaseException:
            results[name] = traceback.format_exc()

    before = snapshot()
    with prlx.enable(device="simulator", map_cuda=True):
        during = snapshot()
        kept = {"is_available": torch.cuda.is_available, "Event": torch.cuda.Event, "Generator": torch.Generator}
        for name, check in [item for item in globals().items() if item[0].startswith("check_")]:
            if not chosen or name in chosen:
                attempt(name, check)
    gc.collect()
    attempt("restored", lambda: restored(before, during, kept))
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
