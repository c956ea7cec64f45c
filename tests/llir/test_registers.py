"""A kernel records less where all of it would push values out of registers."""

from __future__ import annotations

import struct

import pytest

from prlx.hooks.registers import Usage, fitting, of_assembly, of_cubin, usage


def cubin(*attributes: tuple[int, int]) -> bytes:
    """An ELF file with nothing but the section .nv.info."""
    info = b"".join(struct.pack("<BBHII", 4, kind, 8, 7, value) for kind, value in attributes) + struct.pack(
        "<BBH", 3, 0x50, 0
    )
    names = b"\0.nv.info\0.shstrtab\0"
    table = 64 + len(info) + len(names)
    header = b"\x7fELF" + bytes(0x24) + struct.pack("<Q", table) + bytes(10) + struct.pack("<HHH", 64, 3, 2)
    rows = [(0, 0, 0), (1, 64, len(info)), (10, 64 + len(info), len(names))]
    return header + info + names + b"".join(struct.pack("<I20xQQ24x", *row) for row in rows)


def test_binaries_say_what_they_need():
    assert of_cubin(cubin((0x2F, 40), (0x2F, 255), (0x11, 0), (0x11, 72))) == Usage(255, 72)
    assert of_cubin(cubin((0x11, 72))) is None
    assert of_cubin(b"no ELF") is None
    whole = cubin((0x2F, 40))
    assert all(of_cubin(whole[:n]) in (None, Usage(40, 0)) for n in range(len(whole)))
    assert of_assembly(".vgpr_count: 10\n.vgpr_spill_count: 3\n.sgpr_spill_count: 9") == Usage(10, 3)
    assert of_assembly("nothing") is None


NEEDS = {"clean": 8, "all": 72, "some": 8, "more": 0}


@pytest.mark.parametrize(
    ("ways", "number", "text"),
    [
        (["more", "some"], 0, "more"),
        (["all", "some"], 1, "some"),
        (["all", "all"], 2, "clean"),
        (["refused", "some"], 1, "some"),
        (["unknown", "some"], 0, "unknown"),
    ],
)
def test_the_first_way_that_spills_no_more(ways, number, text):
    def need(name: str) -> Usage | None:
        if name == "refused":
            raise RuntimeError("register allocation failed")
        return Usage(255, NEEDS[name]) if name in NEEDS else None

    taken, (made, table, warning) = fitting("clean", [lambda _, way=way: (way, "table", "") for way in ways], need)
    assert (taken, made) == (number, text)
    assert (table == "") == (text == "clean")
    assert ("would not fit into registers" in warning) == (text == "clean")


def test_stages_are_those_of_the_compiler():
    seen = []

    def ptx(text: str, metadata: dict[str, str]) -> str:
        metadata["name"] = "k"
        seen.append(text)
        return text

    metadata: dict[str, str] = {}
    made = cubin((0x2F, 40), (0x11, 0))
    assert usage(
        "text", {"ptx": ptx, "cubin": lambda _, metadata: made if metadata["name"] else b""}, metadata
    ) == Usage(40, 0)
    assert (seen, metadata) == (["text"], {})
    assert usage("text", {"ptx": ptx, "cubin": lambda text, _metadata: text.encode()}, {}) is None
    assert usage("text", {"amdgcn": lambda _text, _metadata: ".vgpr_count: 3"}, {}) == Usage(3, 0)
    assert usage("text", {}, {}) is None
