"""torch's own operators on the CUDA device of the simulator: each runs as its CPU twin, on the same bytes.

torch's kernels are machine code without PTX, which no simulator runs. Device memory of the simulator is memory of the process,
so an operator that gets CUDA tensors runs on the CPU, on tensors that lie over the very storages of these: in-place operators,
``out=`` and views do what they do. The twins are kernels of the dispatch key CUDA, so autograd, ``torch.compile`` and every
thread meet them where they would meet torch's own; nothing of torch's Python is replaced.

Sums and products of half types are computed in fp32 and rounded, as a GPU does. Random numbers are those of a generator of the
CPU that the seed and the offset of the CUDA generator determine: the same in each run, others than a GPU's. What has no twin is
refused by its name.
"""

from __future__ import annotations

import atexit
import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any

from . import twins_made

# What allocates, or is about memory alone: the runtime does it.
_KEPT = ("empty", "resize_", "set_", "record_stream", "_pin_memory", "is_pinned", "_resize_output_")
# Kernels below these are chosen by device in C++, so that they have none of their own under the key.
_MORE = ("copy_", "convolution")
# Computed in fp32 where tensors are halves. By result: the argument whose type it has, None where it is fp32 on a GPU, too.
_WIDE: dict[str, tuple[int | None, ...]] = {
    **dict.fromkeys(
        (
            *("mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot", "addr", "addbmm"),
            *(
                "_softmax",
                "_log_softmax",
                "_softmax_backward_data",
                "_log_softmax_backward_data",
                "softplus",
                "logsumexp",
            ),
            *("sum", "mean", "prod", "cumsum", "cumprod", "var", "std", "var_mean", "linalg_vector_norm", "norm"),
            *("convolution", "convolution_backward", "_embedding_bag", "embedding_dense_backward"),
            *("avg_pool2d", "avg_pool2d_backward", "_adaptive_avg_pool2d", "_adaptive_avg_pool2d_backward"),
            *("nll_loss_forward", "nll_loss2d_forward", "mse_loss", "smooth_l1_loss", "binary_cross_entropy"),
        ),
        (),
    ),
    "native_layer_norm": (0, None, None),
    "native_layer_norm_backward": (1, 5, 6),
    "native_group_norm": (0, 0, 0),
    "native_group_norm_backward": (1, 4, 4),
    "native_batch_norm": (0, None, None),
    "native_batch_norm_backward": (1, 2, 2),
}


class _Refused:
    """Operators that a program asked for and that have no twin, said once at the end."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}

    def add(self, name: str) -> None:
        if not self.names:
            atexit.register(self.say)
        self.names[name] = self.names.get(name, 0) + 1

    def say(self) -> None:
        told = ", ".join(f"{name} ({count})" if count > 1 else name for name, count in sorted(self.names.items()))
        sys.stderr.write(f"prlx: operators of torch that the simulator's device refused: {told}\n")


class Twins:
    """The twins of a torch, registered with its dispatcher until ``close``.

    Parameters
    ----------
    torch
        The module, of a build for CUDA.

    Attributes
    ----------
    count
        Operators that have one.
    """

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._tensor, self._device = torch.Tensor, torch.device
        self._cpu, self._cuda = torch.device("cpu"), torch.device("cuda")
        self._over = _lying_over(torch)
        self._halves = frozenset((torch.float16, torch.bfloat16))
        self._generator = torch.Generator()
        self._refused = _Refused()
        self._library = torch.library.Library("aten", "IMPL")
        self.count = 0
        registered = torch._C._dispatch_get_registrations_for_dispatch_key("CUDA")
        for name in {*registered, *(f"aten::{more}" for more in _MORE)}:
            namespace, _, rest = name.partition("::")
            base, _, overload = rest.partition(".")
            packet = getattr(torch.ops.aten, base, None) if namespace == "aten" else None
            if packet is None or base.startswith(_KEPT) or not hasattr(packet, overload or "default"):
                continue
            operator = getattr(packet, overload or "default")
            if _is_view(operator._schema):
                continue
            self._library.impl(rest, self._kernel(base, operator, name), "CUDA", allow_override=True)
            self.count += 1

    def close(self) -> None:
        """Give torch its own kernels back."""
        self._library._destroy()

    def _kernel(self, base: str, operator: Any, name: str) -> Callable[..., Any]:
        """What runs in the place of a kernel of torch."""
        torch = self._torch
        if base in ("_use_cudnn_ctc_loss", "_use_miopen_ctc_loss"):
            return lambda *_, **__: False
        made = twins_made.MADE.get(str(operator).removeprefix("aten."))
        if made is not None:
            return self._twin(operator, lambda *a, **k: made(torch, *a, **k), wide=None)
        if not torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, "CPU"):
            return self._decomposed(operator, name)
        wide = _WIDE.get(base.removesuffix("_") if base not in _WIDE else base)
        if torch.Tag.nondeterministic_seeded in operator.tags:
            return self._random(operator)
        return self._twin(operator, operator, wide=wide)

    def _decomposed(self, operator: Any, name: str) -> Callable[..., Any]:
        """An operator that the CPU lacks, by torch's decomposition; refused where there is none."""

        def kernel(*args: Any, **kwargs: Any) -> Any:
            from torch._decomp import decomposition_table

            found = decomposition_table.get(operator)
            if found is None:
                self._refused.add(name)
                raise NotImplementedError(
                    f"{name} is machine code of torch and has no twin on the CPU: the simulator's device refuses it. "
                    "Choose another implementation of it, or run that part on the CPU"
                )
            return self._twin(operator, found, wide=None)(*args, **kwargs)

        return kernel

    def _random(self, operator: Any) -> Callable[..., Any]:
        """An operator that draws numbers: from a generator that stands where the CUDA generator stands."""
        torch, ours = self._torch, self._generator
        names = [argument.name for argument in operator._schema.arguments]
        takes = "generator" in names
        twin = self._twin(operator, operator, wide=None)

        def kernel(*args: Any, **kwargs: Any) -> Any:
            at = names.index("generator") if takes else len(args)
            given = kwargs.get("generator") if at >= len(args) else args[at]
            if given is not None and given.device.type == "cpu":
                return twin(*args, **kwargs)
            source = given if given is not None else torch.cuda.default_generators[torch.cuda.current_device()]
            offset = source.get_offset()
            ours.manual_seed((source.initial_seed() * 0x9E3779B97F4A7C15 + offset + 1) & (1 << 63) - 1)
            source.set_offset(offset + 4)
            if takes and at < len(args):
                return twin(*args[:at], ours, *args[at + 1 :], **kwargs)
            if takes:
                return twin(*args, **{**kwargs, "generator": ours})
            before = torch.default_generator.get_state()
            torch.default_generator.set_state(ours.get_state())
            try:
                return twin(*args, **kwargs)
            finally:
                torch.default_generator.set_state(before)

        return kernel

    def _twin(self, operator: Any, run: Callable[..., Any], wide: tuple[int | None, ...] | None) -> Callable[..., Any]:
        """An operator by what computes the same of CPU tensors."""
        schema = operator._schema
        written = _written(schema)
        aliases = [_alias(one, schema.arguments) for one in schema.returns]
        tensor, halves, down, over, up = self._tensor, self._halves, self._down, self._over, self._up
        tensors = frozenset(at for at, one in enumerate(schema.arguments) if str(one.type) == "Tensor")
        half_to_float = "half_to_float" in (argument.name for argument in schema.arguments)

        def kernel(*args: Any, **kwargs: Any) -> Any:
            a = [down(one) if type(one) not in _PLAIN else one for one in args]
            k = {name: down(one) for name, one in kwargs.items()}
            outs: list[tuple[Any, Any]] = []
            for name in written:  # out= may have another size
                given = kwargs.get(name)
                if isinstance(given, tensor) and given.numel() == 0:
                    k[name] = self._torch.empty(0, dtype=given.dtype, device=k[name].device)
                    outs.append((given, k[name]))
            narrow = wide is not None and any(
                isinstance(one, tensor) and one.dtype in halves for one in (*a, *k.values())
            )
            try:
                got = self._wide(run, a, k, wide or (), half_to_float, written) if narrow else run(*a, **k)
            except RuntimeError as error:
                if "Expected a value of type 'Tensor'" not in str(error):
                    raise  # else a number that C++ has as a tensor
                got = run(*[self._number(one) if at in tensors else one for at, one in enumerate(a)], **k)
            for given, made in outs:
                given.resize_(made.size())
                if made.numel():
                    over(given).copy_(made)
            if len(aliases) == 1:
                return up(got) if aliases[0] is None else _argument(aliases[0], args, kwargs)
            if not aliases:
                return None
            both = zip(aliases, got, strict=True)
            return tuple(up(made) if alias is None else _argument(alias, args, kwargs) for alias, made in both)

        return kernel

    def _wide(
        self,
        run: Callable[..., Any],
        a: list[Any],
        k: dict[str, Any],
        types: tuple[int | None, ...],
        half_to_float: bool,
        written: Sequence[str],
    ) -> Any:
        """Compute in fp32 what has halves, and round what comes of it."""
        torch, tensor, halves = self._torch, self._torch.Tensor, self._halves
        before = [*a]
        first = next(one.dtype for one in (*a, *k.values()) if isinstance(one, tensor) and one.dtype in halves)

        def widened(one: Any) -> Any:
            return one.float() if isinstance(one, tensor) and one.dtype in halves else one

        kept = k.get("dtype") is not None
        if half_to_float and before[2] is True:
            kept, a = True, [*a[:2], False, *a[3:]]
        outs = {name: k[name] for name in written if isinstance(k.get(name), tensor) and k[name].dtype in halves}
        k = {name: widened(one) for name, one in k.items()}
        got = run(*map(widened, a), **k)
        for name, out in outs.items():
            if out.size() != k[name].size():
                out.resize_(k[name].size())
            out.copy_(k[name])
        many = isinstance(got, (tuple, list))
        made = []
        for i, one in enumerate(got if many else (got,)):
            at = types[i] if i < len(types) else -1
            dtype = first if at == -1 else None if at is None or before[at] is None else before[at].dtype
            rounded = isinstance(one, tensor) and one.dtype == torch.float32 and dtype in halves and not kept
            made.append(one.to(dtype) if rounded else one)
        return tuple(made) if many else made[0]

    def _down(self, one: Any) -> Any:
        """An argument for the CPU."""
        if isinstance(one, self._tensor):
            return self._over(one) if one.is_cuda else one
        if type(one) in (list, tuple):
            return type(one)(self._down(each) for each in one)
        if isinstance(one, self._device):
            return self._cpu
        return one

    def _number(self, one: Any) -> Any:
        return self._torch.tensor(one) if type(one) in (int, float, bool, complex) else one

    def _up(self, one: Any) -> Any:
        """A result, on the device."""
        if isinstance(one, self._tensor):
            if one.device.type != "cpu":
                return one
            if one.layout is not self._torch.strided:
                return one.to(self._cuda)
            made = self._torch.empty_strided(one.size(), one.stride(), dtype=one.dtype, device=self._cuda)
            at = one.data_ptr()  # none of zeros that nobody has written down
            if at and one.is_contiguous() and not (one.is_conj() or one.is_neg()):
                ctypes.memmove(made.data_ptr(), at, one.nbytes)
            else:
                self._over(made).copy_(one)
            return made
        if isinstance(one, (tuple, list)):
            return [self._up(each) for each in one]
        return one


def _lying_over(torch: Any) -> Callable[[Any], Any]:
    """What makes a CPU tensor over the storage of a CUDA tensor. Each argument of each operator pays for it."""
    cpu, empty, lay = torch.device("cpu"), torch.empty, torch._C._construct_storage_from_data_pointer

    def over(one: Any) -> Any:
        storage = one.untyped_storage()
        size = storage.nbytes()
        if size == 0:
            return torch.empty_strided(one.size(), one.stride(), dtype=one.dtype).zero_()
        made = empty(0, dtype=one.dtype)
        made.set_(lay(storage.data_ptr(), cpu, size), one.storage_offset(), one.size(), one.stride())
        if one.is_conj():
            made = torch._conj(made)
        return torch._neg_view(made) if one.is_neg() else made

    return over


_PLAIN = frozenset((int, float, bool, str, type(None), complex))


def _is_view(schema: Any) -> bool:
    """Whether an operator returns a view of an argument."""
    return any(one.alias_info is not None and not one.alias_info.is_write for one in schema.returns)


def _written(schema: Any) -> list[str]:
    """The arguments by name that take results."""
    return [
        one.name
        for one in schema.arguments
        if one.kwarg_only and one.alias_info is not None and one.alias_info.is_write
    ]


def _alias(returned: Any, arguments: Sequence[Any]) -> int | str | None:
    """The argument that an operator returns, by place or name; None where it makes what it returns."""
    if returned.alias_info is None:
        return None
    for at, one in enumerate(arguments):
        if one.alias_info is not None and one.alias_info.before_set == returned.alias_info.before_set:
            return str(one.name) if one.kwarg_only else at
    return None


def _argument(at: int | str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return args[at] if isinstance(at, int) else kwargs[at]


_installed: list[Twins] = []


def install() -> None:
    """Give torch's CUDA operators their twins, once; of a build without CUDA nothing is changed."""
    torch = sys.modules["torch"]
    if not _installed and getattr(torch.version, "cuda", None):
        _installed.append(Twins(torch))
        torch.backends.cudnn.enabled = False  # its library is machine code, and so is attention in one kernel
        for switch in ("flash", "mem_efficient", "cudnn"):
            getattr(torch.backends.cuda, f"enable_{switch}_sdp")(False)
