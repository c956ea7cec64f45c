"""torch's own list of operators on the simulator's device, against the CPU: results and gradients of torch's own samples.

    prlx simulate -- python tests/driver/torch_operators.py [NAME ...]

Prints one JSON object: the operators that are ``right``, those with ``random`` results, and by name what is ``wrong`` and what
was ``refused``. ``torch.testing._internal.common_methods_invocations.op_db`` is the list; four samples of each, on the CPU and
moved to the device.
"""

from __future__ import annotations

import json
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

SAMPLES = 4
# Results that are random, or what was in memory; of dropout and rrelu only some samples.
RANDOM = {
    *(
        "bernoulli",
        "normal",
        "multinomial",
        "rand_like",
        "randn_like",
        "randint_like",
        "randint",
        "randn",
        "uniform",
        "cauchy",
    ),
    *("exponential", "geometric", "log_normal", "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty"),
    *(
        "new_empty_strided",
        "nn.functional.dropout",
        "nn.functional.dropout2d",
        "nn.functional.dropout3d",
        "pca_lowrank",
    ),
    *("nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout", "nn.functional.rrelu", "svd_lowrank"),
    *(
        "nn.functional.fractional_max_pool2d",
        "nn.functional.fractional_max_pool3d",
        "normal.in_place",
        "normal.number_mean",
    ),
    *("nn.functional.feature_alpha_dropout.with_train", "nn.functional.feature_alpha_dropout.without_train"),
}
# A view that is moved leaves behind what lies beside it.
IMMOVABLE = {"as_strided.partial_views"}


def tensors(found):
    return [one for one in pytree.tree_leaves(found) if isinstance(one, torch.Tensor)]


def moved(one):
    if isinstance(one, torch.Tensor):
        return one.detach().cuda().requires_grad_(one.requires_grad)
    return torch.device("cuda") if isinstance(one, torch.device) or one == "cpu" else one


def close(got, want, **limits):
    torch.testing.assert_close(got.detach().cpu(), want.detach(), equal_nan=True, check_device=False, **limits)


def gradients(results, inputs):
    sums = [one.abs().sum() if one.is_complex() else one.sum() for one in tensors(results) if one.requires_grad]
    takes = [one for one in tensors(inputs) if one.requires_grad]
    return torch.autograd.grad(sums, takes, allow_unused=True) if sums else ()


def compare(op, sample):
    """Why a sample is not the same on the device, empty where it is. What the CPU itself refuses is no sample."""
    given = (sample.input, list(sample.args), dict(sample.kwargs))
    try:
        want = op(given[0], *given[1], **given[2])
    except Exception:
        return ""
    there = pytree.tree_map(moved, given)
    got = op(there[0], *there[1], **there[2])
    if len(tensors(got)) != len(tensors(want)):
        return "another number of results"
    for a, b in zip(tensors(got), tensors(want), strict=True):
        close(a, b)
    for a, b in zip(gradients(got, there), gradients(want, given), strict=True):
        if (a is None) != (b is None):
            return "one has no gradient"
        if a is not None:
            close(a, b, rtol=1e-4, atol=1e-4)
    return ""


def main(only):
    warnings.filterwarnings("ignore")
    right, random, wrong, refused = [], [], {}, {}
    for op in op_db:
        name = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
        if not op.dtypes or name in IMMOVABLE or (only and name not in only):
            continue
        if name in RANDOM or op.name in RANDOM:
            random.append(name)
            continue
        dtype = torch.float32 if torch.float32 in op.dtypes else min(op.dtypes, key=str)
        torch.manual_seed(1)
        samples = op.sample_inputs("cpu", dtype, requires_grad=op.supports_autograd and dtype == torch.float32)
        for _, sample in zip(range(SAMPLES), samples, strict=False):
            if sample.kwargs.get("dropout_p") or sample.kwargs.get("training"):
                continue
            try:
                why = compare(op, sample)
            except AssertionError as error:
                why = " ".join(str(error).split())[:200]
            except Exception as error:
                refused[name] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
                break
            if why:
                wrong[name] = why
                break
        else:
            right.append(name)
    print(json.dumps({"right": right, "random": random, "wrong": wrong, "refused": refused}))


if __name__ == "__main__":
    main(sys.argv[1:])
