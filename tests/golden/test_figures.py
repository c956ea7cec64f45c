"""The figures of the examples stay what they are (``trace_alignment.md``, section 6: a regression test of known metrics)."""

import json
from pathlib import Path

import pytest

from .figures import all_figures

KNOWN = json.loads((Path(__file__).parent / "figures.json").read_text())


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    return all_figures(tmp_path_factory.mktemp("golden"))


@pytest.mark.parametrize("example", KNOWN)
def test_the_figures_of_an_example_stay(figures, example):
    assert differences(KNOWN[example], figures[example], example) == []


def test_every_example_has_figures(figures):
    assert figures.keys() == KNOWN.keys()


def differences(want, got, place):
    """Each leaf that differs, with its place; floats may differ in their last digits, as processors round differently."""
    if isinstance(want, dict) and isinstance(got, dict) and want.keys() == got.keys():
        return [line for key in want for line in differences(want[key], got[key], f"{place}.{key}")]
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        pairs = enumerate(zip(want, got, strict=True))
        return [line for i, (a, b) in pairs for line in differences(a, b, f"{place}[{i}]")]
    if isinstance(want, float) and isinstance(got, float) and got == pytest.approx(want, rel=1e-9):
        return []
    return [] if want == got else [f"{place}: want {want!r}, got {got!r}"]
