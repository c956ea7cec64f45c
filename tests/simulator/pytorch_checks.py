"""torch.compile on the simulator: each check in one process with torch and Triton. Run as ``torch_checks.py`` is."""

import gc
import json
import os
import pathlib
import sys
import tempfile
import threading
import traceback
import types
import warnings

import torch
import triton
import triton.language as tl

import prlx

torch.manual_seed(0)
HERE = pathlib.Path(__file__).name


def line_of(function):
    """The first line of a function's body."""
    return function.__code__.co_firstlineno + 1


def compiled(function, *args, close=True, **options):
    """The launches of a compiled function, whose result is compared with that of the function itself."""
    torch._dynamo.reset()
    with prlx.enable_pytorch(global_races=False) as seen:
        got = torch.compile(function, **options)(*args)
    if close:
        torch.testing.assert_close(got, function(*args))
    assert not seen.findings, seen.findings
    return list(seen.simulations)


def check_a_kernel_knows_what_it_computes():
    def model(x):
        return torch.sin(x) * 2 + x

    (launch,) = compiled(model, torch.linspace(0, 10, 1000))
    origin = launch.origin
    assert launch.kernel.startswith("triton_poi_fused"), launch.kernel
    assert origin.ops == ("aten.sin.default", "aten.mul.Tensor", "aten.add.Tensor"), origin
    assert [(pathlib.Path(file).name, line) for file, line in origin.lines] == [(HERE, line_of(model))], origin
    assert not origin.backward and origin.graph == "0/0" and origin.region == ""


def check_modules_are_named_forward_and_backward():
    model = torch.nn.Sequential(torch.nn.LayerNorm(64), torch.nn.Linear(64, 32), torch.nn.GELU())
    x = torch.randn(16, 64, requires_grad=True)
    with prlx.enable_pytorch() as seen:
        torch.compile(model)(x).square().sum().backward()
    got = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    model(x).square().sum().backward()
    torch.testing.assert_close(got, [parameter.grad for parameter in model.parameters()])
    launches = list(seen.simulations)
    assert not seen.findings
    assert {launch.origin.backward for launch in launches} == {False, True}
    modules = {node.get("module", "") for launch in launches for node in launch.origin.nodes}
    assert {"0 (LayerNorm)", "2 (GELU)"} <= modules, modules


def check_reductions_and_scans():
    x = torch.randn(40, 600)
    names = [launch.kernel for launch in compiled(lambda x: (x.sum(1), x.amax(0), x.cumsum(1), x.softmax(1)), x)]
    assert any("_red_" in name or "_per_" in name for name in names), names
    assert any("cumsum" in name for name in names), names


def check_shapes_may_change():
    def model(x):
        return torch.nn.functional.layer_norm(x, x.shape[-1:]).relu()

    torch._dynamo.reset()
    with prlx.enable_pytorch() as seen:
        ready = torch.compile(model, dynamic=True)
        for rows in (3, 17, 64):
            x = torch.randn(rows, 80)
            torch.testing.assert_close(ready(x), torch.nn.functional.layer_norm(x, (80,)).relu())
    assert {launch.origin.graph for launch in seen.simulations} == {"0/0"}, "traced once"
    assert len({launch.grid for launch in seen.simulations}) == 3 and not seen.findings


def check_autocast():
    linear = torch.nn.Linear(64, 64)

    def model(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return torch.relu(linear(x) + 1)

    launches = compiled(model, torch.randn(8, 64))
    assert launches and model(torch.randn(8, 64)).dtype == torch.bfloat16


def check_max_autotune_makes_templates_and_repeats():
    x, y = torch.randn(64, 96), torch.randn(96, 64)
    first = compiled(lambda x, y: torch.relu(x @ y), x, y, mode="max-autotune")
    second = compiled(lambda x, y: torch.relu(x @ y), x, y, mode="max-autotune")
    assert [one.kernel for one in first] == [one.kernel for one in second]
    assert any(one.kernel.startswith("triton_tem_fused_mm") for one in first), [one.kernel for one in first]
    assert [one.instructions for one in first] == [one.instructions for one in second], "the same configuration"
    assert {"aten.mm.default", "aten.relu.default"} <= {op for one in first for op in one.origin.ops}


def check_products_and_convolutions_of_many_kinds():
    x = torch.randn(2, 32, 48)
    names = [one.kernel for one in compiled(lambda x: torch.bmm(x, x.mT).relu(), x, mode="max-autotune")]
    assert any(name.startswith("triton_tem_fused_bmm") for name in names), names
    image, weight = torch.randn(1, 16, 10, 10), torch.randn(32, 16, 3, 3)
    names = [one.kernel for one in compiled(torch.nn.functional.conv2d, image, weight, mode="max-autotune")]
    assert any(name.startswith("triton_tem_fused_convolution") for name in names), names


def check_flex_attention():
    from torch.nn.attention.flex_attention import flex_attention

    def causal(score, _b, _h, q, k):
        return torch.where(q >= k, score, -float("inf"))

    def model(q, k, v):
        return flex_attention(q, k, v, score_mod=causal)

    q, k, v = torch.randn(3, 1, 2, 128, 32).unbind()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        launches = compiled(model, q, k, v)
    names = [one.kernel for one in launches]
    assert any("flex_attention" in name and "_tem_" in name for name in names), names


@triton.jit
def doubled(x, o, n, BLOCK: tl.constexpr, SLIP: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n + SLIP) * 2, mask=i < n)


def with_kernel(x, slip):
    """A function of the user's with a kernel of the user's in it."""
    o = torch.empty_like(x)
    doubled[(triton.cdiv(x.numel(), 128),)](x, o, x.numel(), BLOCK=128, SLIP=slip)
    return o + 1


def check_kernels_of_the_user():
    x = torch.randn(1000)
    with prlx.enable_pytorch() as seen:
        torch.testing.assert_close(torch.compile(with_kernel)(x, 0), x * 2 + 1)
    names = [one.kernel for one in seen.simulations]
    assert any("doubled" in name for name in names) and any("poi" in name for name in names), names
    assert not seen.findings


def check_findings_name_graph_and_line():
    x = torch.randn(1000)
    with warnings.catch_warnings(record=True) as caught, prlx.enable_pytorch() as seen:
        warnings.simplefilter("always")
        torch.compile(with_kernel)(x, 20)
    (finding,) = seen.findings
    assert finding.check == "out-of-bounds" and finding.origin.graph == "0/0", finding
    assert (pathlib.Path(finding.file).name, finding.line) == (HERE, line_of(doubled.fn) + 2), finding
    wanted = (HERE, line_of(with_kernel) + 2)
    assert wanted in [(pathlib.Path(file).name, line) for file, line in finding.origin.lines], finding.origin
    said = [str(one.message) for one in caught if issubclass(one.category, prlx.FindingWarning)]
    assert len(said) == 1 and "computes" in said[0] and "graph 0/0" in said[0], said


@triton.jit
def slipped(pointers):
    # the wrong place
    return tl.load(pointers + 4096)


def check_copies_of_kernels_have_the_lines_of_the_user():
    @triton.jit
    def nested(x, o, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)

        tl.store(o + i, slipped(x + i))

    def call(x):
        o = torch.empty_like(x)
        nested[(1,)](x, o, BLOCK=64)
        return o

    with tempfile.TemporaryDirectory() as folder:
        with prlx.enable_pytorch(output=folder) as seen:
            torch.compile(call)(torch.ones(64))
        (finding,) = seen.findings
        places = [(pathlib.Path(frame["file"]).name, frame["line"]) for frame in finding.document["where"]]
        wanted = [(HERE, line_of(slipped.fn) + 2), (HERE, line_of(nested.fn) + 3)]
        assert places == wanted, places
        (launch,) = seen.simulations
        named = {pathlib.Path(row["file"]).name for row in launch.document["lines"] if row["file"]}
        assert named == {HERE}, named
        first = {row["function"]: row["first_line"] for row in launch.texts()["functions"]}
        assert first == {"slipped": slipped.starting_line_number, "nested": nested.starting_line_number}, first


def check_constants_and_devices_in_a_graph():
    table = torch.randn(300)

    def model(x):
        positions = torch.arange(x.shape[0], device=x.device)
        return x + table + positions + torch.full((300,), 2.0) + torch.tensor([3.0]) + torch.zeros(300).to(x.dtype)

    compiled(model, torch.randn(300))


def check_views_and_mutations():
    def model(x, y):
        y.add_(1)
        return x.t()[2:], y[::2] * 2

    x, y = torch.randn(8, 12), torch.zeros(64)
    with prlx.enable_pytorch() as seen:
        a, b = torch.compile(model)(x, y)
    assert (y == 1).all() and (b == 2).all() and a.data_ptr() == x.t()[2:].data_ptr()
    assert seen.launches and not seen.findings


def check_random_numbers_repeat():
    def model(x):
        return torch.nn.functional.dropout(x, 0.25)

    results = []
    for _ in range(2):
        with prlx.enable_pytorch() as seen:
            torch.manual_seed(5)
            results.append(torch.compile(model)(torch.ones(4000)))
        assert seen.launches and not seen.findings
    assert (results[0] == results[1]).all()
    assert 0.2 < (results[0] == 0).float().mean() < 0.3


def check_optimizers():
    torch._dynamo.reset()
    models = [torch.nn.Linear(16, 16) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    x = torch.randn(4, 16)
    optimizers = [torch.optim.AdamW(model.parameters(), lr=0.1, foreach=True) for model in models]
    with prlx.enable_pytorch() as seen:
        for _ in range(2):
            for model, optimizer in zip(models, optimizers, strict=True):
                optimizer.zero_grad()
                model(x).square().sum().backward()
                (torch.compile(optimizer.step) if model is models[0] else optimizer.step)()
    torch.testing.assert_close(list(models[0].parameters()), list(models[1].parameters()))
    assert seen.launches and not seen.findings


def check_device_cuda_is_refused():
    try:
        prlx.enable_pytorch(map_cuda=True)
    except prlx.UsageError as error:
        assert "ends the process" in str(error), error
    else:
        raise AssertionError("a compiled call would end the process")
    prlx.enable_pytorch().__exit__(None, None, None)  # nothing is left of it


def check_regions_name_launches():
    ready = torch.compile(lambda x: x.exp())
    with prlx.enable_pytorch() as seen:
        with prlx.pytorch_trace("step 3") as outer:
            ready(torch.ones(10))
            with prlx.pytorch_trace("inner") as inner:
                ready(torch.ones(10))
        ready(torch.ones(10))
    assert [one.origin.region for one in seen.simulations] == ["step 3", "step 3/inner", ""]
    assert (outer.launches, inner.launches, seen.launches) == (2, 1, 3)
    with prlx.pytorch_trace("alone") as alone:
        ready(torch.ones(10))
    assert alone.simulations[0].origin.region == "alone"
    try:
        with prlx.enable(device="simulator"), prlx.pytorch_trace("x"):
            raise AssertionError("named launches that no compiler makes")
    except prlx.UsageError as error:
        assert "enable_pytorch" in str(error.advice), error.advice


def check_sessions_say_what_differs():
    def model(x, scale):
        return (x * scale).softmax(1)

    with tempfile.TemporaryDirectory() as folder:
        x = torch.randn(16, 50)
        for name, scale in (("a", 1.0), ("b", 2.0)):
            torch._dynamo.reset()
            with prlx.enable_pytorch(output=pathlib.Path(folder, name)):
                torch.compile(model)(x * scale, 1.0)
        session = prlx.open(pathlib.Path(folder, "a"))
        assert "aten._softmax.default" in session.document["launches"][0]["origin"]["text"]
        text = prlx.diff_traces(pathlib.Path(folder, "a"), pathlib.Path(folder, "b")).to_text(width=200)
        assert "computes aten._softmax" in text and f"{HERE}:{line_of(model)}" in text, text


def check_a_recording_alone_knows_what_it_computes():
    def model(x):
        return torch.sin(x) * 2

    with tempfile.TemporaryDirectory() as folder:
        for capture in ("observed", "instrumented"):
            path = pathlib.Path(folder, f"{capture}.prlx")
            torch._dynamo.reset()
            with prlx.enable_pytorch(output=path, capture=capture):
                torch.compile(model)(torch.ones(300))
            assert not pathlib.Path(folder, "session.json").exists(), "nothing stands beside it"
            origin = prlx.read_trace(path).origin
            assert origin.ops == ("aten.sin.default", "aten.mul.Tensor"), origin
            assert f"{HERE}:{line_of(model)}" in origin.text, origin.text
        listed = prlx.open(folder).launches["origin"].tolist()
        assert len(listed) == 2 and all("aten.sin.default" in text for text in listed), listed


def check_a_torch_that_does_not_fit_is_refused_by_name():
    from torch._inductor.codegen import common
    from torch._inductor.output_code import CompiledFxGraph

    for owner, name in ((common, "device_op_overrides_dict"), (CompiledFxGraph, "__call__")):
        kept, forced = getattr(owner, name), torch._inductor.config.compile_threads
        delattr(owner, name)
        try:
            with prlx.enable_pytorch():
                raise AssertionError(f"enabled without {name}")
        except prlx.UsageError as error:
            assert torch.__version__ in str(error) and triton.__version__ in str(error) and name in str(error), error
            assert "pip install torch==" in str(error.advice), error.advice
        finally:
            setattr(owner, name, kept)
        assert torch._inductor.config.compile_threads == forced and not torch._dynamo.is_compiling()
        with prlx.enable_pytorch() as seen:
            torch.compile(lambda x: x.sin() + 1)(torch.ones(7))
        assert seen.launches == 1, "what was replaced before the refusal is back"
        torch._dynamo.reset()


def check_caches_are_apart():
    before = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    usual = cache_dir()
    with prlx.enable_pytorch():
        assert cache_dir() == str(pathlib.Path(usual, "prlx-sm80"))
        assert not torch._inductor.config.fx_graph_cache
    assert cache_dir() == usual and os.environ.get("TORCHINDUCTOR_CACHE_DIR") == before


def check_the_program_sees_no_gpu():
    seen = []

    def model(x):
        return x + 1

    with prlx.enable_pytorch():
        torch.compile(model)(torch.ones(10))
        seen.append(torch.cuda.is_available())
        assert torch.ones(1).device.type == "cpu"
    assert seen == [False]


def check_other_threads():
    results = []
    with prlx.enable_pytorch() as recording:

        def work():
            results.append(torch.compile(lambda x: x.cos())(torch.zeros(50)))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert len(results) == 1 and (results[0] == 1).all() and recording.launches == 1, (results, recording)


def check_what_was_compiled_before_is_compiled_again():
    ready = torch.compile(lambda x: x * 3)
    x = torch.ones(100)
    for _ in range(2):
        with prlx.enable_pytorch() as seen:
            assert (ready(x) == 3).all()
        assert seen.launches == 1, "compiled for the simulator"
        torch.compiler.set_stance("force_eager")
        try:
            assert (ready(x) == 3).all() and seen.launches == 1
        finally:
            torch.compiler.set_stance("default")


def check_gpus_are_not_there_yet():
    try:
        prlx.enable_pytorch(device="gpu")
    except prlx.UsageError as error:
        assert "GPU" in str(error)
    else:
        raise AssertionError("enabled a GPU")
    prlx.enable_pytorch()
    try:
        prlx.enable_pytorch()
    except prlx.UsageError as error:
        assert "enabled already" in str(error)
    else:
        raise AssertionError("enabled twice")
    finally:
        prlx.disable()
        prlx.disable()


def state():
    """Every attribute of every module of torch and Triton and of their classes, settings, and the environment."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in ("torch", "triton") or not isinstance(module, types.ModuleType):
            continue
        if name.startswith("torch._inductor.runtime.compile_tasks."):  # what was generated, for good
            continue
        for key, value in list(vars(module).items()):
            found[name, key] = value
            if isinstance(value, type) and value.__module__ == name:
                found.update({(name, key, inner): thing for inner, thing in vars(value).items()})
            elif isinstance(value, dict) and key in ("device_interfaces", "device_op_overrides_dict"):
                found.update({(name, key, inner): thing for inner, thing in value.items()})
    for config in (torch._inductor.config, torch._functorch.config, torch._dynamo.config):
        found.update({(config.__name__, key): repr(config._config[key].user_override.get()) for key in config._config})
    found.update({("environ", key): value for key, value in os.environ.items()})
    return found


def check_everything_is_put_back():
    """Attribute by attribute; counters and caches of torch's own, which any use of it changes, aside."""
    use = torch.compile(lambda x: torch.nn.functional.layer_norm(x, (20,)) @ x.t())
    with prlx.enable_pytorch():
        use(torch.randn(20, 20))  # imports what is imported late
    before = state()
    with prlx.enable_pytorch():
        use(torch.randn(20, 20))
        changed = {key for key, value in state().items() if key in before and before[key] is not value}
    gc.collect()
    after = state()
    ours = {key for key in changed if after.get(key) is not before[key] and after.get(key) != before[key]}
    left = {
        key: after[key]
        for key in after
        if (key not in before and key[0] != "environ" and "prlx" in repr(after[key]))
        or "prlx" in str(getattr(after[key], "__module__", ""))
    }
    assert ("torch._inductor.compile_fx", "_compile_fx_inner") in changed
    assert not left, left
    counters = {key for key in ours if isinstance(after.get(key), (int, float, tuple, list, dict, set, frozenset))}
    counters |= {
        key for key in ours if key[-1].endswith("_COUNTER") or key[1] in ("PhiloxStateTracker", "GenerationTracker")
    }
    assert not (ours - counters), ours - counters
    assert torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1)) == 2


def main():
    warnings.simplefilter("ignore", category=UserWarning)
    warnings.simplefilter("ignore", category=RuntimeWarning)
    only, results = sys.argv[1:], {}
    for name, check in [item for item in globals().items() if item[0].startswith("check_")]:
        if only and name not in only:
            continue
        torch._dynamo.reset()
        try:
            check()
            results[name] = None
        except BaseException:
            results[name] = traceback.format_exc()
            prlx.disable()
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
