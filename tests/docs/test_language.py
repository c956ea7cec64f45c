"""Words that nobody outside of this project would understand stay out of pages, help, errors and comments."""

from __future__ import annotations

import re
import subprocess

import pytest

from .reading import ROOT

# A phrase, and what to write instead.
PHRASES = {
    r"described (?:tool|differ|algorithm|combiner|recorder|aligner)s?\b": "the name of the tool",
    r"PTX machine": "simulator",
    r"\bnot (?:one )?of the machine\b": "not supported by the simulator",
    r"\bleave (?:it|them) away\b": "omit",
    r"\bdearest\b": "most expensive",
    r"\b(?:file|line|number|trace)s? that (?:is|are) none\b": "name the thing: not a trace",
    r"\btakes away what differs\b": "explains",
    r"\bspeaks for (?:a|prefill|decode|nothing)\b": "points to, supports",
    r"\bodd(?:est)? (?:step|repetition)s?\b": "outlier",
    r"%[.\d]*[dqsvx](?: [a-z]+)? (?:is|are) no [a-z]": "is not a",
    r"\bsession capture, or\b": "prlx simulate --record: there is no session capture",
    r"\bnothing that prlx (?:reads|knows)\b": "of a format that prlx does not read",
    r"\bgoroutines; the bytes written\b": "parallel workers; the output is the same for any number",
    r"\b(?:one|name its files, one) a (?:rank|node|process|block|warp)\b": "one per rank",
    r"\bthis cannot be told\b": "cannot tell whether",
    r"\bTouching is not violating\b": "say what may be",
}  # fmt: skip


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_is_not_used(phrase):
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.go", "*.md", "Makefile"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    found = []
    for name in listed.stdout.split():
        path = ROOT / name
        if name == "tests/docs/test_language.py" or not path.is_file():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if re.search(phrase, line):
                found.append(f"{name}:{number}: {line.strip()[:120]}")
    assert not found, f"write: {PHRASES[phrase]}\n" + "\n".join(found)
