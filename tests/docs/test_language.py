"""Words that nobody outside of this project would understand stay out of pages, help, errors and comments."""

from __future__ import annotations

import functools
import re
import subprocess

import pytest

from .reading import ROOT

# A phrase, what to write instead, and a sentence that it refuses.
PHRASES = {
    r"described (?:tool|differ|algorithm|combiner|recorder|aligner)s?\b": ("the name of the tool", "of the described tool"),
    r"PTX machine": ("simulator", "the PTX machine runs it"),
    r"\bnot (?:one )?of the machine\b": ("not supported by the simulator", "an instruction that is not one of the machine"),
    r"\bleaves? (?:it|them) away\b": ("omit", "leave it away for the default"),
    r"\bdearest\b": ("most expensive", "the dearest kernels"),
    r"\b(?:that|which|what) (?:is|are|was|were) none\b(?! of)": ("name the thing: not a trace", "a file that is none"),
    r"\btake[sn]? (?:it |them |what differs )?away\b": ("removes, subtracts, explains", "the next run takes it away"),
    r"\b(?:speaks? (?:for|against)|neither speak for)\b": ("supports, contradicts, points to", "much speaks for it"),
    r"\bodd(?:est)? (?:step|repetition)s?\b": ("outlier", "three odd repetitions"),
    r"%[.\d]*[dqsvx](?: [a-z]+)? (?:is|are) no [a-z0-9]": ("is not a", 'Errorf("%q is no 64-bit integer")'),
    r"\b(?:that|which|what|who) (?:is|are) no (?!(?:long|old|new|larg|small|wid|furth)er\b|more\b|less\b|better\b)": (
        "is not a", "a line that is no record"),
    r"\bsession capture, or\b": ("prlx simulate --record: there is no session capture", "session capture, or by hand"),
    r"\bnothing that prlx (?:reads|knows)\b": ("of a format that prlx does not read", "is nothing that prlx reads"),
    r"\bgoroutines (?:that work|to use|; the)": ("parallel workers", "goroutines that work at the same time"),
    r"\b(?:one|name its files, one) an? (?:rank|node|process|block|warp|launch|line|row|site|kind|device)\b(?! of)": (
        "one per rank", "a file for each, one a rank"),
    r"\b(?:events?|entries|values|lanes|bytes|rows?|objects?) an? (?:warp|launch|site|block)\b(?! of)": (
        "events per warp", "32 lanes a warp"),
    r"\bcannot be told\b": ("cannot be determined, cannot tell whether", "where this cannot be told"),
    r"(?i)\btouching is not violating\b": ("say what may be", "touching is not violating"),
    r"\b(?:by|in) another way\b": ("differently", "the kernel wrote the same by another way"),
    r"\bbesides[.;,:)]": ("also, too", "operands of every lane besides, and hashes"),
    r"\bstray(?:s|ing) (?:by )?at most\b": ("the error grows by at most", "0.2 % of the events, straying at most 2 us/s"),
    r"\b(?:is|are) of --[a-z]": ("needs --watch", "--interval is of --watch"),
    r"\bhow-?manieth\b": ("which, from 0", "its how-manieth execution"),
    r"\bas (?:its|their|the) clocks? stands?\b": ("on the clock as recorded", "judged as their clocks stand"),
    # Sentences that stopped readers.
    r"\blooked for long at what\b": ("after spinning it yields", "until they have looked for long at what others may change"),
    r"\bone in so many of (?:its|them|their)\b": ("at least 1/N of its own matches", "one in so many of its own meetings, too"),
    r"\bwhatever the lot\b|\bby the lot\b": ("regardless of sampling", "kept whatever the lot said"),
    r"\bshare their chance of\b": ("significance is divided over these keys", "they share their chance of being called one"),
    r"\bwith the chance of one in\b": ("with probability 1/N", "with the chance of one in the number of runs"),
    r"\bin one of so many places\b": ("too frequent to be", "stands in one of so many places where there could be one"),
    r"\bcall of nothing that\b": ("the call's target is neither a symbol nor a register", "a call of nothing that has a name"),
    r"\bnothing for nothing\b": ("None stays None", "with nothing for nothing"),
    r"\bas far as it took longer than usual\b": (
        "the part of a rank's late arrival that its own slower work explains", "as far as it took longer than usual itself"),
    r"\bchain of what nobody waited\b": ("the critical path", "the line is the chain of what nobody waited for"),
    r"\bfills no buffer\b": ("has its inputs and does not fill the send buffer", "the rank's GPU fills no buffer, though"),
    r"\bA and B change places\b": ("say what is compared with what", "With runs of B alone, A and B change places"),
    r"\b[Hh]ow manieth\b": ("which, from 0", "the how manieth pass"),
}  # fmt: skip


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_refuses_a_sentence(phrase):
    assert re.search(phrase, PHRASES[phrase][1])


@functools.cache
def texts() -> dict[str, str]:
    """Every file that may hold a phrase, read once."""
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.go", "*.md", "Makefile"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    names = [
        name for name in listed.stdout.split() if name != "tests/docs/test_language.py" and (ROOT / name).is_file()
    ]
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in names}


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_is_not_used(phrase):
    found = []
    for name, text in texts().items():
        for match in re.finditer(phrase, text):
            begin = text.rfind("\n", 0, match.start()) + 1
            line = text[begin : begin + 120].partition("\n")[0].strip()
            found.append(f"{name}:{text.count(chr(10), 0, begin) + 1}: {line}")
    assert not found, f"write: {PHRASES[phrase][0]}\n" + "\n".join(found)
