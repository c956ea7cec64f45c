"""numba-cuda on the simulator's driver: its linker hands on PTX, by the module that Python starts with.

Its own tests run where they are.
``PRLX_NUMBA_CUDA`` names a folder that ``numba_tests.py`` describes; without it a stand-in shows what the linker is asked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.driver.test_program import HERE, simulate

from . import numba_tests

LINKER = """
class Code:
    def __init__(self, code, code_type):
        self.code, self.code_type = code, code_type

class _Linker:
    def __init__(self, *codes):
        self._object_codes, self.asked = list(codes), []
    def get_linked_ptx(self):
        self.asked.append("ptx of " + " ".join(code.code_type for code in self._object_codes))
        return b"linked\\0"
    def complete(self):
        self.asked.append("cubin of " + " ".join(code.code_type for code in self._object_codes))
"""
CORE = """
class ObjectCode:
    @staticmethod
    def from_cubin(image):
        return image
"""
PROGRAM = """
from numba.cuda.cudadrv.driver import Code, _Linker
for codes in ([("ir", "ltoir")], [("text", "ptx")], [("one", "ptx"), ("ir", "ltoir"), ("two", "ptx")]):
    linker = _Linker(*(Code(code.encode(), kind) for code, kind in codes))
    print(linker.complete(), linker.asked, len(linker._object_codes))
"""


def stand_in(folder):
    for name in ("numba", "numba/cuda", "numba/cuda/cudadrv", "cuda", "cuda/core"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(CORE if name == "cuda/core" else "")
    (folder / "numba/cuda/cudadrv/driver.py").write_text(LINKER)
    (folder / "program.py").write_text(PROGRAM)


def test_the_linker_of_numba_cuda_hands_on_ptx(tmp_path):
    stand_in(tmp_path)
    done = simulate("--", sys.executable, "program.py", cwd=tmp_path, check=False, PYTHONPATH=str(tmp_path))
    assert done.returncode == 5, done.stderr  # nothing was launched
    assert done.stdout.splitlines() == [
        r"b'linked\x00' ['ptx of ltoir'] 1",
        r"b'text\x00' ['cubin of ptx'] 1",
        r"b'one\ntwo\nlinked\x00' ['cubin of ptx ltoir ptx', 'ptx of ltoir'] 3",
    ]


def test_without_the_simulators_driver_the_linker_is_as_it_was(tmp_path):
    stand_in(tmp_path)
    kept = {name: value for name, value in os.environ.items() if name != "PRLX_CUDA_DEVICE"}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=kept, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[0] == "None ['cubin of ltoir'] 1"


def test_the_journal_of_numbas_tests_is_summed_up(tmp_path):
    journal = tmp_path / "j.jsonl"
    rows = [
        ("a", "passed", ""),
        ("b", "skipped", ""),
        ("c", "ended the process", ""),
        ("c", "given up", "not done after 60 s"),
    ]
    lines = [json.dumps({"test": test, "outcome": outcome, "cause": cause}) for test, outcome, cause in rows]
    journal.write_text("\n".join(lines) + '\n{"test": "cut of')
    found = numba_tests.summary(numba_tests.rows_of(journal))
    assert (found["tests"], found["passed"], found["share_passed"]) == (3, 1, 0.5)
    assert found["causes"] == {"given up: not done after 60 s": 1}


def test_numbas_own_tests_pass(tmp_path):
    folder = os.environ.get("PRLX_NUMBA_CUDA")
    if not folder:
        pytest.skip("PRLX_NUMBA_CUDA names no folder with numba-cuda")
    words = [sys.executable, HERE / "numba_tests.py", folder, "--journal", tmp_path / "numba.jsonl"]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    sys.stdout.write(done.stdout)
    assert done.returncode == 0, done.stdout
