"""Operations of fla-core beside the naive forms that it ships: forward and backward, on a length that no chunk divides."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from case import Compared, forward_and_backward, normal
from torch.nn.functional import logsigmoid, normalize

BATCH, HEADS, KEY, VALUE, SLOTS = 1, 2, 32, 32, 16


@dataclass(frozen=True)
class Pair:
    """An operation and its reference.

    Attributes
    ----------
    ours, reference
        Where they are below ``fla.ops``: module, colon, name. A reference may also be a function.
    inputs
        Kinds of inputs (see ``_made``) by the name that the operation gives them.
    options, told
        What the operation and the reference are told, too.
    names
        Other names that the reference has for inputs.
    heads_first
        Whether the reference wants heads before positions.
    normalized
        Whether queries and keys are normalised before either has them: then it does not matter which of them does it, too.
    backward
        Whether gradients are compared: recurrent forms for decoding have none.
    """

    ours: str
    reference: str | Callable[..., Any]
    inputs: dict[str, str]
    options: dict[str, Any] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    heads_first: bool = False
    normalized: bool = False
    backward: bool = True
    length: int = 100
    dtype: torch.dtype = torch.float32
    tolerance: float = 5e-3  # products are in tf32; fla's own tests allow as much


def _made(kind: str, generator: torch.Generator, length: int) -> Any:
    """An input by what it is."""
    heads = (BATCH, length, HEADS)
    makers: dict[str, Callable[[], Any]] = {
        "key": lambda: normal(generator, *heads, KEY),
        "unit": lambda: normalize(normal(generator, *heads, KEY), dim=-1),
        "value": lambda: normal(generator, *heads, VALUE),
        "slots": lambda: normal(generator, *heads, SLOTS),
        "gate": lambda: logsigmoid(normal(generator, *heads)),
        "gates": lambda: logsigmoid(normal(generator, *heads, KEY)),
        "weak": lambda: logsigmoid(normal(generator, *heads, KEY)) / 16,
        "slot gates": lambda: logsigmoid(normal(generator, *heads, SLOTS)) / 8,
        "share": lambda: normal(generator, *heads).sigmoid(),
        "shares": lambda: normal(generator, *heads, KEY).sigmoid(),
        "value shares": lambda: normal(generator, *heads, VALUE).sigmoid(),
        "bonus": lambda: normal(generator, HEADS, KEY),
        "channels": lambda: normal(generator, BATCH, length, 64),
        "channel gates": lambda: logsigmoid(normal(generator, BATCH, length, 64)),
        "squares": lambda: normal(generator, 6, 4, 4),
    }
    return makers[kind]()


QKV = {"q": "key", "k": "key", "v": "value"}
NARROW = {"q": "slots", "k": "slots", "v": "value"}
DELTA = {"q": "unit", "k": "unit", "v": "value", "beta": "share"}
GATED = {**DELTA, "g": "gate"}
GDN2 = {"q": "unit", "k": "unit", "v": "value", "g": "weak", "b": "shares", "w": "value shares"}
RWKV6 = {"r": "key", "k": "key", "v": "value", "w": "gates", "u": "bonus"}
GSA = {**QKV, "s": "slots", "g": "slot gates"}
ATK = {"g_atk": "gate", "beta_atk": "share"}
HGRN = {"x": "channels", "g": "channel gates"}
DELTA_RULE = "gated_delta_rule:naive_recurrent_gated_delta_rule"
SIMPLE = "simple_gla.naive:naive_recurrent_simple_gla"
GLA = "gla.naive:naive_recurrent_gla"
LINEAR = "linear_attn.naive:naive_recurrent_linear_attn"
RETENTION = "retention.naive:naive_retention"
BASED = "based.naive:naive_parallel_based"
RWKV6_NAIVE = "rwkv6.recurrent_naive:naive_recurrent_rwkv6"
PRECOND = "precond_gated_delta_rule:naive_recurrent_precond_gated_delta_rule"
PLAIN = {"options": {"normalize": False}}


def _comba(q: Any, k: Any, v: Any, beta: Any, g: Any, p: Any) -> Any:
    """As the kernels have it: the state decays after ``p`` has read it. ``naive_recurrent_comba`` lets it decay before."""
    state, rows = torch.zeros(BATCH, HEADS, KEY, VALUE), []
    for place in range(q.shape[1]):
        read = torch.einsum("bhkv,bhk->bhv", state, p[:, place])
        step = (v[:, place] - read) * beta[:, place, :, None]
        state = state * g[:, place].exp()[..., None, None] + k[:, place, :, :, None] * step[:, :, None]
        rows.append(torch.einsum("bhkv,bhk->bhv", state, q[:, place]) * KEY**-0.5)
    return torch.stack(rows, 1)


def _ungated(q: Any, k: Any, v: Any, beta: Any) -> Any:
    return _function(DELTA_RULE)(q=q, k=k, v=v, beta=beta, g=torch.zeros_like(beta))


PAIRS = {
    "chunk_gla": Pair("gla:chunk_gla", GLA, {**QKV, "g": "gates"}, names={"g": "gk"}),
    "fused_recurrent_gla": Pair("gla:fused_recurrent_gla", GLA, {**QKV, "gk": "gates"}),
    "chunk_simple_gla": Pair("simple_gla:chunk_simple_gla", SIMPLE, {**QKV, "g": "gate"}),
    "fused_chunk_simple_gla": Pair("simple_gla:fused_chunk_simple_gla", SIMPLE, {**QKV, "g": "gate"}),
    "fused_recurrent_simple_gla": Pair("simple_gla:fused_recurrent_simple_gla", SIMPLE, {**QKV, "g": "gate"}),
    "parallel_simple_gla": Pair(
        "simple_gla:parallel_simple_gla", "simple_gla.naive:naive_parallel_simple_gla", {**QKV, "g": "gate"}
    ),
    "chunk_delta_rule": Pair("delta_rule:chunk_delta_rule", _ungated, DELTA, dtype=torch.bfloat16, tolerance=2e-2),
    "fused_recurrent_delta_rule": Pair("delta_rule:fused_recurrent_delta_rule", _ungated, DELTA),
    "chunk_gated_delta_rule": Pair("gated_delta_rule:chunk_gated_delta_rule", DELTA_RULE, GATED),
    "fused_recurrent_gated_delta_rule": Pair(
        "gated_delta_rule:fused_recurrent_gated_delta_rule", DELTA_RULE, GATED, backward=False
    ),
    "chunk_kda": Pair("kda:chunk_kda", "kda.naive:naive_recurrent_kda", {**DELTA, "g": "weak"}),
    "fused_recurrent_kda": Pair(
        "kda:fused_recurrent_kda", "kda.naive:naive_recurrent_kda", {**DELTA, "g": "weak"}, backward=False
    ),
    "chunk_gdn2": Pair("gdn2:chunk_gdn2", "gdn2:naive_recurrent_gdn2", GDN2),
    "fused_recurrent_gdn2": Pair("gdn2:fused_recurrent_gdn2", "gdn2:naive_recurrent_gdn2", GDN2, backward=False),
    "chunk_comba": Pair("comba:chunk_comba", _comba, {**GATED, "p": "unit"}),
    "fused_recurrent_comba": Pair("comba:fused_recurrent_comba", _comba, {**GATED, "p": "unit"}, backward=False),
    "chunk_gsa": Pair("gsa:chunk_gsa", "gsa.naive:naive_recurrent_gsa", GSA),
    "fused_recurrent_gsa": Pair("gsa:fused_recurrent_gsa", "gsa.naive:naive_recurrent_gsa", GSA),
    "chunk_abc": Pair(
        "abc:chunk_abc", "abc.naive:naive_recurrent_abc", {**QKV, "s": "slots"}, heads_first=True, tolerance=2e-2
    ),
    "chunk_hgrn": Pair("hgrn:chunk_hgrn", "hgrn.naive:naive_recurrent_hgrn", HGRN),
    "fused_recurrent_hgrn": Pair("hgrn:fused_recurrent_hgrn", "hgrn.naive:naive_recurrent_hgrn", HGRN),
    "chunk_linear_attn": Pair("linear_attn:chunk_linear_attn", LINEAR, QKV, **PLAIN),
    "fused_chunk_linear_attn": Pair("linear_attn:fused_chunk_linear_attn", LINEAR, QKV, **PLAIN),
    "fused_recurrent_linear_attn": Pair("linear_attn:fused_recurrent_linear_attn", LINEAR, QKV, **PLAIN),
    "chunk_retention": Pair("retention:chunk_retention", RETENTION, QKV, heads_first=True),
    "fused_chunk_retention": Pair("retention:fused_chunk_retention", RETENTION, QKV, heads_first=True),
    "fused_recurrent_retention": Pair("retention:fused_recurrent_retention", RETENTION, QKV, heads_first=True),
    "parallel_retention": Pair("retention:parallel_retention", RETENTION, QKV, heads_first=True),
    "parallel_attn": Pair("attn:parallel_attn", "attn:naive_parallel_attn", QKV),
    "windowed_attn": Pair(
        "attn:parallel_attn", "attn:naive_parallel_attn", {**QKV, "g": "gate"}, {"window_size": 40}, {"window_size": 40}
    ),
    "parallel_forgetting_attn": Pair(
        "forgetting_attn:parallel_forgetting_attn", "forgetting_attn:naive_forgetting_attn", {**QKV, "g": "gate"}
    ),
    "parallel_based": Pair("based:parallel_based", BASED, NARROW, heads_first=True),
    "fused_chunk_based": Pair("based:fused_chunk_based", BASED, NARROW, heads_first=True),
    "parallel_rebased": Pair(
        "rebased:parallel_rebased", "rebased.naive:naive_parallel_rebased", NARROW, heads_first=True
    ),
    "chunk_rwkv6": Pair("rwkv6:chunk_rwkv6", RWKV6_NAIVE, RWKV6, names={"r": "q"}, heads_first=True),
    "fused_recurrent_rwkv6": Pair(
        "rwkv6:fused_recurrent_rwkv6", RWKV6_NAIVE, RWKV6, names={"r": "q"}, heads_first=True
    ),
    "parallel_stickbreaking_attn": Pair(
        "stickbreaking_attn:parallel_stickbreaking_attn", "stickbreaking_attn:naive_stickbreaking_attn", QKV
    ),
    "parallel_path_attn": Pair(
        "path_attn:parallel_path_attn",
        "path_attn:naive_path_attn",
        {**QKV, "w": "unit", "beta": "share", "g": "gate"},
        {"scale": 0.2},
        {"scale": 0.2},
        length=128,
    ),
    "parallel_parallax": Pair(
        "parallax:parallel_parallax",
        "parallax:naive_parallax",
        {**QKV, "r": "key"},
        dtype=torch.bfloat16,
        tolerance=2e-2,
    ),
    "parallel_wall_attn": Pair(
        "wall_attn:parallel_wall_attn",
        "wall_attn:naive_wall_attn",
        {**QKV, "g": "weak"},
        {"scale": 0.2},
        {"scale": 0.2},
    ),
    "sinkhorn": Pair("utils.sinkhorn.ops:sinkhorn", "utils.sinkhorn.naive:naive_sinkhorn", {"logits": "squares"}),
    "chunk_precond_gated_delta_rule": Pair(
        "precond_gated_delta_rule:chunk_precond_gated_delta_rule",
        PRECOND,
        {**GATED, **ATK},
        normalized=True,
    ),
    "fused_recurrent_precond_gated_delta_rule": Pair(
        "precond_gated_delta_rule:fused_recurrent_precond_gated_delta_rule",
        PRECOND,
        {**GATED, **ATK},
        backward=False,
    ),
    "chunk_precond_kda": Pair(
        "precond_kda:chunk_precond_kda",
        "precond_kda:naive_recurrent_precond_kda",
        {**DELTA, "g": "weak", **ATK},
        normalized=True,
    ),
}


def _function(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(f"fla.ops.{module}"), name)
    return found


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) else value


def compared(pair: Pair, generator: torch.Generator) -> Iterator[Compared]:
    """The operation beside its reference."""
    operation = _function(pair.ours)
    reference = pair.reference if callable(pair.reference) else _function(pair.reference)
    inputs = {name: _made(kind, generator, pair.length).to(pair.dtype) for name, kind in pair.inputs.items()}

    def prepared(given: dict[str, Any]) -> dict[str, Any]:
        if not pair.normalized:
            return given
        return {name: normalize(x, dim=-1) if name in "qk" else x for name, x in given.items()}

    def ours(**given: Any) -> Any:
        return _first(operation(**prepared(given), **pair.options))

    def theirs(**given: Any) -> Any:
        given = prepared(given)
        named = {pair.names.get(name, name): value for name, value in given.items()}
        if pair.heads_first:
            named = {name: x.transpose(1, 2) if x.dim() > 2 else x for name, x in named.items()}
        found = _first(reference(**named, **pair.told))
        return found.transpose(1, 2) if pair.heads_first else found

    if pair.backward:
        yield from forward_and_backward(ours, theirs, inputs, pair.tolerance)
        return
    with torch.no_grad():
        yield Compared("output", ours(**inputs), theirs(**inputs), pair.tolerance)


for _name, _pair in PAIRS.items():
    globals()[f"case_{_name}"] = functools.partial(compared, _pair)
