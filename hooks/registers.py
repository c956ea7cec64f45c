"""What a kernel takes of a GPU's registers, from what the last stages of Triton's compiler make of it.

A kernel that records needs more registers than a clean one. Where that would move values of the user's into memory, less is
recorded, and the recording says so.
"""

from __future__ import annotations

import contextlib
import io
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Rewritten = tuple[str, str, str]
"""A text, the table of its sites, and what is to be said."""

_FRAME, _REGISTERS = 0x11, 0x2F  # attributes of the section .nv.info
_WITH_SIZE = 4  # the format of an attribute that is followed by bytes


class Usage(NamedTuple):
    """What a kernel needs.

    Attributes
    ----------
    registers
        Of one thread, the most of any function of the kernel.
    spilled
        What does not fit: bytes of memory a thread on NVIDIA's GPUs, registers on AMD's.
    """

    registers: int
    spilled: int


def of_cubin(binary: bytes) -> Usage | None:
    """What a kernel of an NVIDIA GPU needs, None where the binary does not say."""
    if binary[:4] != b"\x7fELF":
        return None
    try:
        info = _section(binary, b".nv.info")
        if info is None:
            return None
        found: dict[int, list[int]] = {_FRAME: [], _REGISTERS: []}
        at = 0
        while at + 4 <= len(info):
            kind, attribute, size = struct.unpack_from("<BBH", info, at)
            at += 4
            if kind != _WITH_SIZE:
                continue
            if attribute in found and size >= 8:
                found[attribute].append(struct.unpack_from("<I", info, at + 4)[0])
            at += size
    except struct.error:
        return None
    if not found[_REGISTERS]:
        return None
    return Usage(registers=max(found[_REGISTERS]), spilled=sum(found[_FRAME]))


def _section(binary: bytes, name: bytes) -> bytes | None:
    """The bytes of a section of an ELF file of 64 bits."""
    (table,) = struct.unpack_from("<Q", binary, 0x28)
    size, count, names = struct.unpack_from("<HHH", binary, 0x3A)

    def header(index: int) -> tuple[int, int, int]:
        word, offset, length = struct.unpack_from("<I20xQQ", binary, table + index * size)
        return word, offset, length

    texts = header(names)[1]
    for index in range(count):
        word, offset, length = header(index)
        if binary[texts + word : texts + word + len(name) + 1] == name + b"\0":
            return binary[offset : offset + length]
    return None


def of_assembly(text: str) -> Usage | None:
    """What a kernel of an AMD GPU needs, from its assembly; None where that does not say.

    Scalars that do not fit wait in lanes of vector registers, not in memory: they are not counted.
    """
    import re

    count = re.search(r"\.vgpr_count:\s+(\d+)", text)
    if count is None:
        return None
    spilled = re.search(r"\.vgpr_spill_count:\s+(\d+)", text)
    return Usage(registers=int(count[1]), spilled=0 if spilled is None else int(spilled[1]))


def usage(text: str, stages: Mapping[str, Callable[..., Any]], metadata: Mapping[str, Any]) -> Usage | None:
    """What the kernel of a text of LLVM IR needs: Triton's own stages make the rest of it, for nothing but this.

    None where they make no binary of a GPU.
    """
    kept = dict(metadata)
    if "amdgcn" in stages:
        made = stages["amdgcn"](text, kept)
        return of_assembly(made) if isinstance(made, str) else None
    if "ptx" not in stages or "cubin" not in stages:
        return None
    binary = stages["cubin"](stages["ptx"](text, kept), kept)
    return of_cubin(binary) if isinstance(binary, bytes) else None


def fitting(
    clean: str, made: Sequence[Callable[[str], Rewritten]], need: Callable[[str], Usage | None]
) -> tuple[int, Rewritten]:
    """The first of several ways to make a kernel record that moves no more values into memory than the clean kernel.

    Parameters
    ----------
    clean
        The text of the kernel.
    made
        Ways to rewrite it, the one that records most first.
    need
        What the kernel of a text needs, None where nobody knows; then the first way is taken.

    Returns
    -------
    tuple
        The number of the way, and what it made. Where none fits, the number is ``len(made)`` and the text is the clean one.
    """
    limit: int | None = None
    for number, rewrite in enumerate(made):
        result = rewrite(clean)
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # Triton prints what its assembler refuses
                needed = need(result[0]) if result[1] else None
        except Exception:  # such a kernel is not assembled at all; a clean one that is not is Triton's to refuse
            continue
        if needed is None or not needed.spilled:
            return number, result
        if limit is None:
            before = need(clean)
            limit = 0 if before is None else before.spilled
        if needed.spilled <= limit:
            return number, result
    said = "not recorded: with the recorder the kernel's values would not fit into registers"
    return len(made), (clean, "", said)
