"""What tests over drivers share: programs that find a GPU of AMD, whose kernels our interpreter of LLVM IR executes."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from tests.driver.test_program import HERE, TRITON


@pytest.fixture(scope="session")
def interpreter(tmp_path_factory):
    if shutil.which("go") is None or shutil.which("cc") is None:
        pytest.skip("no Go, or no C compiler")
    made = tmp_path_factory.mktemp("interpreter") / "llir.test"
    subprocess.run(
        ["go", "test", "-trimpath", "-c", "-o", made, "./core/recording/llir"], cwd=HERE.parents[1], check=True
    )
    return made


@pytest.fixture(scope="session")
def hip(interpreter, tmp_path_factory):
    """Makes the environment of a program that finds a GPU of AMD, for a version of Triton."""
    folder = tmp_path_factory.mktemp("amd")

    def made(version, arch="gfx942"):
        if not (TRITON / version / "triton").is_dir():
            pytest.skip(f"no Triton {version}")
        library = folder / version / "libamdhip64.so"
        if not library.exists():
            library.parent.mkdir()
            headers = TRITON / version / "triton" / "backends" / "amd" / "include"
            words = ["cc", "-std=gnu11", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-isystem", headers]
            source = HERE / "amd" / "amdhip64.c"
            subprocess.run(
                [*words, "-Wl,-soname,libamdhip64.so", source, "-o", library, "-lpthread", "-ldl"], check=True
            )
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PRLX_", "STANDIN_"))}
        return {
            **kept,
            "PYTHONPATH": os.pathsep.join(map(str, [TRITON / version, HERE / "amd" / "torch_stand_in"])),
            "TRITON_CACHE_DIR": str(folder / "cache" / version),
            "TRITON_LIBHIP_PATH": str(library),
            "TRITON_DEFAULT_FP_FUSION": "1",
            "STANDIN_CACHE": str(folder / "cache" / version),
            "STANDIN_GCN": str(interpreter),
            "STANDIN_ARCH": arch,
            "PRLX_ARENA": "256KB",
        }

    return made
