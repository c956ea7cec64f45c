"""What arguments become: their bits, and the memory that pointers may touch. Needs no Triton."""

from __future__ import annotations

import math
import mmap

import ml_dtypes
import numpy as np
import pytest

from prlx._errors import UsageError
from prlx._launching import Options
from prlx.hooks.arrays import as_tensor, converted, in_order, merged, storage
from prlx.hooks.launch import Parameter, Storage
from prlx.hooks.simulator import Clock, device_interface

FLOATS = [
    0.0,
    -0.0,
    1.0,
    1 / 3,
    -2.5,
    65504.0,
    65520.0,
    1e-8,
    6e-8,
    3.4e38,
    1e39,
    -1e300,
    math.inf,
    -math.inf,
    1.00390625,
]


@pytest.mark.parametrize("value", FLOATS)
def test_floats_have_the_bits_that_numpy_gives_them(value):
    with np.errstate(over="ignore"):
        for ty, kind, bits in (
            ("fp32", np.float32, np.uint32),
            ("fp16", np.float16, np.uint16),
            ("fp64", np.float64, np.uint64),
        ):
            assert Parameter("a", ty, value).bits == int(np.array(value).astype(kind).view(bits)), ty
        narrow = np.array(value).astype(np.float32).astype(ml_dtypes.bfloat16)
    assert Parameter("a", "bf16", value).bits == int(narrow.view(np.uint16))


def test_a_nan_stays_one():
    assert np.isnan(np.uint16(Parameter("a", "bf16", math.nan).bits).view(ml_dtypes.bfloat16))
    assert np.isnan(np.uint16(Parameter("a", "fp16", math.nan).bits).view(np.float16))


@pytest.mark.parametrize(
    ("ty", "value", "bits"),
    [("i32", -1, 0xFFFFFFFF), ("i64", -(2**63), 1 << 63), ("u64", 2**64 - 1, 2**64 - 1), ("i1", True, 1), ("i8", -128, 0x80),
     ("*fp32", 0x7F0012345678, 0x7F0012345678)],
)  # fmt: skip
def test_whole_numbers_are_cut_to_their_width(ty, value, bits):
    assert Parameter("a", ty, value).bits == bits


def test_a_view_has_the_storage_of_its_array():
    a = np.zeros((8, 16), np.float32)
    for view in (a, a[3], a[:, 5], a[::-1], a.T[2:4], a.reshape(-1)[7:9], as_tensor(a)[2:], a[1][2:3]):
        found = storage(view, "a")
        assert (found.address, found.size, found.read_only) == (a.ctypes.data, a.nbytes, False)


def test_arrays_on_buffers_have_the_whole_buffer():
    with mmap.mmap(-1, 4096) as memory:
        view = np.frombuffer(memory, np.int16)[100:200]
        found = storage(view, "a")
        assert found.size == 4096
        assert view.ctypes.data - found.address == 200
        del view, found
    assert storage(np.frombuffer(bytes(64), np.int8), "a").read_only
    assert storage(np.broadcast_to(np.zeros(1, np.int8), (7,)), "a").read_only


def test_a_view_by_strides_has_the_memory_of_its_array_and_no_more():
    as_strided = np.lib.stride_tricks.as_strided
    a = np.zeros(16, np.float32)
    for view in (as_strided(a, (1 << 20,), (4,)), as_strided(a[3:], (1 << 40,), (4,)), as_strided(a, (9, 9), (-400, 4)),
                 as_strided(as_strided(a[2:], (5,), (4,)), (1 << 20,), (4,)), as_strided(a, (1 << 20,), (4,))[7:],
                 as_tensor(as_strided(a, (1 << 20,), (4,))), np.lib.stride_tricks.sliding_window_view(a, 4)[1:]):  # fmt: skip
        found = storage(view, "a")
        assert (found.address, found.size) == (a.ctypes.data, 64), view.shape
    kept = as_strided(np.arange(16.0), (100,), (8,))  # nobody else holds the array
    assert storage(kept, "a").size == 128
    raw = bytes(4096)
    found = storage(as_strided(np.frombuffer(raw, np.float32), (1 << 20,), (4,), writeable=False), "a")
    assert (found.size, found.read_only) == (4096, True)


def test_an_array_larger_than_its_buffer_has_the_buffer():
    class Lying:
        """Says that it is larger than the buffer that it hands out."""

        def __init__(self, owner, size):
            self.owner, at = owner, np.frombuffer(owner, np.uint8).ctypes.data
            self.__array_interface__ = {"version": 3, "shape": (size,), "typestr": "|u1", "data": (at, False)}

        @property
        def base(self):
            return np.frombuffer(self.owner, np.uint8)

    found = storage(np.asarray(Lying(bytearray(64), 1 << 30)), "a")
    assert found.size == 64
    window = memoryview(bytearray(range(100)))[10:90:2]
    assert storage(np.asarray(window), "a").size == 79, "of a buffer with gaps what the array spans"


def test_reinterpreted_tensors_have_their_tensors_storage():
    class Tensor:
        device = "cpu"

        def data_ptr(self):
            return 8192

        def untyped_storage(self):
            class Whole:
                def data_ptr(self):
                    return 4096

                def nbytes(self):
                    return 6000

            return Whole()

    class TensorWrapper:
        """Triton's, as ``triton.reinterpret`` makes it."""

        def __init__(self, base):
            self.base = base

        def data_ptr(self):
            return self.base.data_ptr()

        def element_size(self):
            return 2

    a = as_tensor(np.zeros(10, np.int16))
    assert storage(TensorWrapper(a), "a") == Storage(a.data_ptr(), 20, "a")
    assert storage(TensorWrapper(TensorWrapper(Tensor())), "x") == Storage(4096, 6000, "x")
    endless = TensorWrapper(a)
    endless.base = endless
    endless.data_ptr = lambda: 4096
    with pytest.raises(UsageError, match="x is wrapped"):
        storage(endless, "x")


@pytest.mark.parametrize(
    ("address", "size", "said"),
    [
        (4096, -1, "x: -1 bytes"),
        ("here", 8, "x: its data_ptr"),
        (4096.5, 8, "x: its data_ptr"),
        (-4096, 8, "x: its data_ptr"),
        (1 << 64, 8, "x: its data_ptr"),
        (4096, 1 << 63, "x: 9223372036854775808 bytes"),
        ((1 << 56) - 8, 100, "x: 100 bytes"),
        (0, 8, "x: 8 bytes"),
    ],
)
def test_what_lies_about_its_memory_is_refused_by_name(address, size, said):
    class Buffer:
        nbytes = size

        def data_ptr(self):
            return address

    with pytest.raises(UsageError, match=said):
        storage(Buffer(), "x")


def test_a_stated_size_is_used_and_a_bare_address_has_none():
    class Buffer:
        nbytes = 77

        def data_ptr(self):
            return 4096

    class Tensor:
        def data_ptr(self):
            return 4096

        def numel(self):
            return 6

        def element_size(self):
            return 2

    assert storage(Buffer(), "a").size == 77
    assert storage(Tensor(), "a").size == 12
    assert storage(4096, "a") is None
    assert storage(None, "a") is None


def test_tensors_elsewhere_are_refused():
    class Tensor:
        device = "cuda:0"

        def untyped_storage(self):
            raise AssertionError("asked for memory that cannot be seen")

    with pytest.raises(UsageError, match=r"argument x is a tensor on cuda:0"):
        storage(Tensor(), "x")


def test_pieces_that_overlap_become_one():
    a, b, c = Storage(100, 50, "a"), Storage(120, 100, "b"), Storage(220, 10, "c", read_only=True)
    assert [(p.address, p.size, p.name) for p in merged([c, b, a])] == [(100, 120, "a/b"), (220, 10, "c")]
    assert [
        (p.name, p.read_only) for p in merged([Storage(1, 8, "x"), Storage(1, 8, "y", True), Storage(1, 8, "x")])
    ] == [("x/y", False)]
    assert merged([Storage(100, 0, "empty"), Storage(100, 0, "too")])[0].name == "empty/too"
    assert len(merged([Storage(100, 10, "a"), Storage(110, 10, "behind")])) == 2


def test_pieces_stand_in_the_order_of_the_arguments():
    x, y, part, empty = Storage(900, 64, "x"), Storage(100, 64, "y"), Storage(910, 4, "part"), Storage(500, 0, "empty")
    assert [p.name for p in in_order([x, empty, y, part])] == ["x/part", "empty", "y"]
    assert [p.name for p in in_order([y, x])] == ["y", "x"]
    assert in_order([]) == []


def test_arrays_in_tuples_are_converted_and_nothing_else():
    a = np.arange(4)
    got = converted((a, 3, (a, None)))
    assert got[0].data_ptr() == got[2][0].data_ptr() == a.ctypes.data
    assert got[1:2] == (3,)
    untouched = (1, "x", None)
    assert converted(untouched) is untouched
    assert converted(got[0]) is got[0]


def test_what_triton_asks_of_a_tensor():
    a = np.arange(6, dtype=np.int16).reshape(2, 3)
    t = as_tensor(a)
    assert (t.element_size(), t.stride(), t.stride(0)) == (2, (3, 1), 3)
    before = t.clone()
    t.zero_()
    assert not a.any()
    t.copy_(before)
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_time_is_work():
    clock = Clock()
    event = device_interface(clock).Event
    begin, end = event(enable_timing=True), event()
    begin.record()
    clock.advance(4000)
    end.record()
    assert begin.elapsed_time(end) == 5.0
    assert end.elapsed_time(begin) > 0
    assert end.query()


@pytest.mark.parametrize(
    "wrong",
    [
        {"seed": -1},
        {"seed": True},
        {"seed": 1.5},
        {"max_findings": 0},
        {"max_instructions": -1},
        {"heap": 0},
        {"seed": 1 << 64},
    ],
)
def test_options_that_cannot_be(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Options(**wrong).checked()
