"""Random programs compiled by Triton's LLVM: what lanes leave does not depend on how blocks of instructions are laid out."""

from __future__ import annotations

from .conftest import HERE, python, require


def test_programs_that_llvm_laid_out():
    done = python(require("3.9.0"), HERE / "llvm_programs.py", "100")
    assert done.returncode == 0, done.stdout + done.stderr
