"""Every flag of original prlx 0.5, on our command line: the same document, the text it asks for, or what to do instead."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from prlx.cli import main

from .conftest import Oracle
from .recordings import ATOMIC, Event, Recording

SITE_MAP = [
    {"site_id": 2, "filename": "k.cu", "function": "f", "line": 7, "column": 3, "event_type": 0, "ordinal": 0},
    {"site_id": 9, "filename": "a,b.cu", "function": "f", "line": 8, "column": 1, "event_type": 0, "ordinal": 1},
]

# What a flag takes, and what becomes of it with --compat: "same" document, other "text", or "refused" with what to do instead.
FLAGS: dict[str, tuple[list[str], str]] = {
    "--max-shown": (["3"], "same"),  # of text only, also in the binary
    "--verbose": ([], "same"),
    "--values": ([], "same"),
    "--limit": (["2"], "same"),
    "--lookahead": (["1"], "same"),
    "--force": ([], "same"),
    "--map": (["map.json"], "same"),
    "--dump-a": (["2"], "text"),
    "--dump-b": (["2"], "text"),
    "--tui": ([], "refused"),
    "--history": ([], "same"),
    "--float": ([], "same"),
    "--remap-a": (["map.json", "--remap-b", "map.json"], "same"),
    "--remap-b": (["map.json", "--remap-a", "map.json"], "same"),
    "--session": ([], "same"),
    "--continue-after-path": ([], "same"),
    "--cross-gpu": ([], "same"),
    "--json": ([], "same"),
    "--max-allowed-divergences": (["4"], "same"),
    "--ignore-active-mask": ([], "same"),
    "--classify": ([], "refused"),
    "--export-flamegraph": (["flame.json"], "same"),
    "--warps": (["0-1,7"], "same"),
    "--filter-kind": (["branch,Path"], "same"),
    "--filter-sites": (["0x2,9"], "same"),
    "--csv": (["out.csv"], "same"),
}
NOT_OF_COMPARING = {"--help", "--version"}


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Two recordings, a session of each, and a site map, in the current directory."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("PRLX_")]:  # settings of the person who runs the tests
        monkeypatch.delenv(name)
    first = (Event(1), Event(2, dir=1), Event(4, kind=ATOMIC, value=7))
    other = (Event(1), Event(2, mask=1), Event(4, kind=ATOMIC, value=8))
    a = Recording(warps=(first, (Event(1),), (Event(9), Event(8))), grid=(3, 1, 1))
    b = Recording(warps=(other, (Event(1), Event(5)), (Event(19), Event(18))), grid=(3, 1, 1))
    for name, one in (("a", a), ("b", b)):
        one.write(tmp_path / f"{name}.prlx")
        (tmp_path / name).mkdir()
        one.write(tmp_path / name / "kernel_0.prlx")
        row = {"launch": 0, "kernel": "kernel", "file": "kernel_0.prlx", "grid": one.grid, "block": one.block}
        (tmp_path / name / "session.json").write_text(json.dumps([row]))
    (tmp_path / "map.json").write_text(json.dumps(SITE_MAP))
    return "a.prlx", "b.prlx"


def test_all_flags_of_the_binary_are_here(oracle: Oracle) -> None:
    listed = set(re.findall(r"^\s+(?:-\w, )?(--[a-z-]+)", oracle.raw("--help").stdout, re.MULTILINE))
    assert listed - NOT_OF_COMPARING == set(FLAGS)


@pytest.mark.parametrize("flag", [flag for flag, (_, what) in FLAGS.items() if what == "same"])
def test_flags_that_give_the_same_document(
    flag: str, pair: tuple[str, str], oracle: Oracle, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = ("a", "b") if flag == "--session" else pair
    arguments = [flag, *FLAGS[flag][0]]
    theirs = oracle(Path(a), Path(b), [] if flag == "--json" else arguments)
    named = {path: Path(path).read_bytes() for path in ("out.csv", "flame.json") if Path(path).exists()}
    for path in named:
        Path(path).unlink()
    if flag == "--verbose":  # the binary prints text in front of the document then
        theirs = oracle(Path(a), Path(b))
    code = main(["diff", a, b, "--compat", *arguments])
    out = capsys.readouterr().out
    assert out.rstrip("\n") == theirs.ordered
    assert code == (0 if theirs.passed else 1)
    assert sorted(named) == sorted(path for path in ("out.csv", "flame.json") if Path(path).exists())
    if flag == "--csv":
        assert Path("out.csv").read_bytes() == named["out.csv"]


@pytest.mark.parametrize("flag", [flag for flag, (_, what) in FLAGS.items() if what == "text"])
def test_flags_that_give_text(flag: str, pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *pair, "--compat", flag, *FLAGS[flag][0]]) == 0
    assert "0x00000002" in capsys.readouterr().out


@pytest.mark.parametrize("flag", [flag for flag, (_, what) in FLAGS.items() if what == "refused"])
def test_flags_that_are_refused_say_what_to_do(
    flag: str, pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", *pair, "--compat", flag, *FLAGS[flag][0]]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert flag in captured.err or "--explain" in captured.err
    assert len(captured.err.strip().splitlines()) == 2


def test_numbers_are_numbers(pair: tuple[str, str], oracle: Oracle, capsys: pytest.CaptureFixture[str]) -> None:
    """What the binary refuses as no number we refuse as well, with the same exit code."""
    for flag in ("--limit", "--lookahead", "--max-allowed-divergences"):
        for value in ("-1", "x", "1.5", "99999999999999999999"):
            assert oracle.raw(*pair, f"{flag}={value}").returncode == 2
            assert main(["diff", *pair, "--compat", f"{flag}={value}"]) == 2, (flag, value)
    capsys.readouterr()
