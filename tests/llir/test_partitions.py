"""The walk through machine code finds what warps use beyond their registers, and says what it did not look at."""

from __future__ import annotations

import pytest

from llir.partitions import Walk, named, walk


def section(*lines: str) -> str:
    """Labels stay, instructions get addresses."""
    made, address = [], 0
    for line in lines:
        if line.endswith(":"):
            made.append(line)
            continue
        made.append(f"        /*{address:04x}*/                   {line} ;")
        address += 16
    return "\n".join(made)


PARTED = (
    ".text.k:",
    "MOV R100, R1",
    "@P0 BRA `(.L_few)",
    ".L_ask:",
    "USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xf0",
    "BRA.U !UP0, `(.L_ask)",
    "CALL.REL.NOINC `($k$prlx_record_decision)",
    "EXIT",
    ".L_few:",
    "USETMAXREG.DEALLOC.CTAPOOL 0x18",
    "{few}",
    "EXIT",
    "$k$prlx_record_decision:",
    "MOV R60, R2",
    "RET.REL.NODEC R2 `(k)",
    ".L_end:",
    "BRA `(.L_end)",
    "NOP",
)


def parted(few: str) -> Walk:
    """What is found where the warps with 24 registers do this."""
    return walk(section(*(line.format(few=few) for line in PARTED)), 168)


def test_each_warp_has_what_was_set_last():
    assert parted("MOV R23, R2") == Walk(calls={240})
    assert parted("MOV R24, R2") == Walk(calls={240}, over=[(0x70, 24, 25)])


def test_what_is_called_is_held_to_the_registers_of_its_caller():
    assert parted("CALL.REL.NOINC `($k$prlx_record_decision)") == Walk(calls={240, 24}, over=[(0x90, 24, 61)])


def test_registers_at_the_begin_are_those_of_the_launch():
    text = section(".text.k:", "MOV R39, R1", "EXIT")
    assert walk(text, 40).over == []
    assert walk(text, 39).over == [(0, 39, 40)]


@pytest.mark.parametrize(
    ("words", "registers"),
    [
        ("MOV R3, RZ", 4),
        ("LDG.E.64 R4, desc[UR4][R2.64]", 6),
        ("STS.128 [R9], R4", 13),
        ("IMAD.WIDE.U32 R10, R2, R3, RZ", 12),
        ("USETMAXREG.DEALLOC.CTAPOOL 0x18", 0),
        ("R2UR UR70, R2", 3),
        ("LDG.E.64 R4, desc[UR4][R6.64]", 8),
        ("STG.E desc[UR12][R36.64], R20", 38),
        ("LDG.E.ENL2.256 R16, desc[UR4][R8.64]", 24),
        ("HGMMA.64x128x16.F32 R88, gdesc[UR20].tnspB, R88", 152),
        ("HMMA.16816.F32 R12, R4, R10, R12", 16),
        ("HFMA2.MMA R35, -RZ, RZ, 0, 0", 36),
        ("DFMA R8, R6, R4, R2", 10),
        ("I2F.F64 R8, R6", 10),
        ("LDTM.x64 R4, tmem[UR9]", 68),
        ("STTM.16dp32bit_t0_t15.x32 tmem[UR20], R8", 40),
        ("LDSM.16.M88.4 R12, [R8]", 16),
        ("LDSM.16.M88.2 R8, [R8]", 10),
        ("STSM.16.M88 [R8], R6", 9),
    ],
)
def test_registers_that_an_instruction_names(words: str, registers: int):
    assert named(words) == registers


def test_tables_of_jumps_and_both_sides_of_branches_are_taken():
    few = (
        "USETMAXREG.DEALLOC 0x18",
        'BRX R4 -0x10 (*"BRANCH_TARGETS .L_a,.L_b"*)',
        ".L_a:",
        "EXIT",
        ".L_b:",
        "MOV R30, R1",
        "EXIT",
    )
    assert walk(section(*few), 64) == Walk(over=[(0x30, 24, 31)])
    for jump in (
        "@!P1 BRA `(.L_a)",
        "BRA P0, `(.L_a)",
        "BRA.DIV UR4, `(.L_a)",
        "BSSY B0, `(.L_a)",
        "WARPSYNC.COLLECTIVE R4, `(.L_a)",
    ):
        found = walk(section(jump, "MOV R30, R1", "EXIT", ".L_a:", "MOV R31, R1", "EXIT"), 24)
        assert found == Walk(over=[(0x10, 24, 31), (0x30, 24, 32)]), jump


def test_what_was_not_looked_at_is_said():
    assert walk(section("EXIT", "MOV R1, R2"), 24) == Walk(unreached=[0x10])
    assert walk(section("CALL.ABS.NOINC R4", "EXIT"), 24) == Walk(unknown=[0])
    assert walk(section("BRX R4 -0x20"), 24) == Walk(unknown=[0])
    assert walk(section("USETMAXREG.DEALLOC UR4", "EXIT"), 24) == Walk(unknown=[0])
    assert walk(section("BPT.TRAP 0x1", "MOV R30, R2", "RET.REL.NODEC R2 `(k)"), 24) == Walk(over=[(0x10, 24, 31)])


@pytest.mark.parametrize(
    ("lines", "unknown"),
    [
        ((".L:", "NOP", "USETMAXREG.TRY_ALLOC UP0, 0x40", "BRA.U !UP0, `(.L)", "EXIT"), []),
        ((".L:", "USETMAXREG.TRY_ALLOC UP0, 0x40", "PLOP3.LUT P0, PT, UP0", "@!P0 BRA `(.L)", "EXIT"), []),
        (("USETMAXREG.TRY_ALLOC UP0, 0x40", "BRA.U !UP0, `(.L)", "EXIT", ".L:", "EXIT"), [0]),
        (("USETMAXREG.TRY_ALLOC UP0, 0x40", "EXIT"), [0]),
    ],
)
def test_who_asks_for_registers_asks_until_it_has_them(lines: tuple[str, ...], unknown: list[int]):
    assert walk(section(*lines), 24).unknown == unknown


def test_a_loop_ends():
    assert walk(section(".L:", "USETMAXREG.TRY_ALLOC UP0, 0x40", "@!P0 BRA `(.L)", "MOV R63, R1", "EXIT"), 24) == Walk()
