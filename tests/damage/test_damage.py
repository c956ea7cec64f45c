"""One file of inputs with a known answer is damaged: the answer is the same, inconclusive, or a refusal.

``PRLX_DAMAGES=1000`` damages each command's inputs so often (``make corpus``), and ``-s`` prints the table.
"""

from __future__ import annotations

import collections
import os
import random
import shutil
from pathlib import Path

import pytest

from .damages import Damage, draw, inflict
from .scenes import SCENES, Answer, Scene, answered, public_scenes

SEED = 20261126
EACH = int(os.environ.get("PRLX_DAMAGES", "50"))
COMMANDS = sorted({scene.command for scene in SCENES})
KEPT_LEAST = 0.6
OPEN = ("inconclusive", "refused")


def judged(scene: Scene, damage: Damage, truth: Answer, got: Answer) -> str:
    """What a damage did to an answer: kept, open, said (the outcome alone was kept, and what is missing is named), fewer (that
    of the files that are left, of a total that is said to be unknown), bits (of a format that cannot notice), or wrong."""
    if (got.outcome, got.what) == (truth.outcome, truth.what):
        return "kept"
    if got.outcome in OPEN:
        return "open"
    if got.said and got.outcome == truth.outcome:
        return "said"
    if damage.kind == "missing" and got.open_total:
        return "fewer"
    return "bits" if damage.kind == "flip" and not scene.checked else "wrong"


@pytest.mark.parametrize("command", COMMANDS)
def test_no_damage_gives_another_answer_in_silence(command: str, tmp_path: Path) -> None:
    tried(command, [scene for scene in SCENES if scene.command == command], tmp_path)


@pytest.mark.parametrize("command", ["cycles", "validate"])
def test_nor_of_what_other_people_recorded(command: str, data: Path, tmp_path: Path) -> None:
    tried(command, [scene for scene in public_scenes(data) if scene.command == command], tmp_path)


def tried(command: str, scenes: list[Scene], tmp_path: Path) -> None:
    """Damage the inputs of scenes in turn, and hold each answer against that to the inputs as they were."""
    counts: collections.Counter[str] = collections.Counter()
    whole: collections.Counter[bool] = collections.Counter()
    wrong, lost = [], []
    for number, scene in enumerate(scenes):
        chance = random.Random(f"{SEED} {command} {scene.name}")
        right = tmp_path / f"right{number}"
        right.mkdir()
        scene.make(right)
        files = sorted(str(path.relative_to(right)) for path in right.glob(scene.files) if path.is_file())
        truth = answered(lambda scene=scene, right=right: scene.ask(right))
        assert truth.outcome not in OPEN, f"{scene.name}: {truth}"
        for _ in range(-(-EACH // len(scenes))):
            damage = draw(chance, right, files, scene.kinds)
            intact = scene.whole(right, damage)
            folder = tmp_path / "damaged"
            shutil.copytree(right, folder)
            inflict(damage, folder, scene.others)
            got = answered(lambda scene=scene, folder=folder: scene.ask(folder))
            shutil.rmtree(folder)
            verdict = judged(scene, damage, truth, got)
            counts[verdict] += 1
            if verdict == "wrong":
                wrong.append(f"{scene.name}: {damage}: {got}, not {truth}")
            if intact:
                whole[verdict == "kept"] += 1
                if verdict != "kept":
                    lost.append(f"{scene.name}: {damage}: {got}")
    print(f"\n{command}: {dict(sorted(counts.items()))}; with whole evidence {whole[True]} of {whole.total()} kept")
    assert not wrong, "\n".join(wrong[:20])
    assert whole[True] >= KEPT_LEAST * whole.total(), "\n".join(lost[:20])
