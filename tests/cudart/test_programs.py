"""CUDA programs of nvcc and clang on the simulator: they run, bugs are named by line, two of their runs are compared."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cudart import compilers, support, tutorial

import prlx
from prlx._program import DRIVER

PROGRAMS = Path(__file__).parent / "programs"


def simulate(*command, cwd, **environment):
    return subprocess.run(
        [sys.executable, "-m", "prlx", "simulate", *map(str, command)],
        cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    """Compile a program once, and skip where its compiler is not there."""
    folder, made = tmp_path_factory.mktemp("cudart"), {}

    def compiled(compiler, name, *more):
        if not compilers.there(compiler) or shutil.which("g++") is None:
            pytest.skip(f"no {compiler} (make build/clang/.ready)")
        key = (compiler, name, *more)
        if key not in made:
            out = folder / f"{len(made)}" / name
            out.parent.mkdir(exist_ok=True)
            made[key] = compilers.compiled(compiler, PROGRAMS / f"{name}.cu", out, *more)
        return made[key]

    return compiled


def line_of(name, text):
    """The number of the line of a program that has a text."""
    lines = (PROGRAMS / f"{name}.cu").read_text().splitlines()
    (found,) = (i for i, line in enumerate(lines, start=1) if text in line)
    return found


@pytest.mark.parametrize("compiler", compilers.NAMES)
def test_a_program_runs_and_is_counted_by_line(compiler, program, tmp_path):
    done = simulate("--", program(compiler, "steps"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "block 0: 2286", "block 1: 2313", "block 2: 2298", "block 3: 2094", "2286 2313 2298 2094, 59542 steps, 4 blocks",
    ]  # fmt: skip
    assert "3 kernels, 3 launches" in done.stderr
    assert "no finding" in done.stderr
    for kernel in ("scaled<float>", "sums", "collatz"):
        assert re.search(rf"^{kernel} +1 ", done.stderr, re.MULTILINE), done.stderr
    assert f"steps.cu:{line_of('steps', '// line 43')}" in done.stderr


@pytest.mark.parametrize("compiler", compilers.NAMES)
def test_the_runtime_does_what_its_documentation_says(compiler, program, tmp_path):
    done = simulate("--", program(compiler, "api"), cwd=tmp_path)
    assert done.returncode == 1, done.stderr  # its last kernel writes beyond its array
    expected = (PROGRAMS / "api.txt").read_text().splitlines()
    if compiler == "clang":  # it knows no managed variables
        expected.remove("a managed variable: 115")
    assert done.stdout.splitlines() == expected
    assert "bad-free" in done.stderr
    assert "it was freed before" in done.stderr
    assert "out-of-bounds at " in done.stderr


BUGS = {
    "bounds": ("out-of-bounds", "an illegal memory access was encountered"),
    "misaligned": ("misaligned", "misaligned address"),
    "freed": ("use-after-free", "an illegal memory access was encountered"),
    "host_pointer": ("out-of-bounds", "an illegal memory access was encountered"),
    "null": ("null-pointer", "an illegal memory access was encountered"),
    "asserted": ("trap", "unspecified launch failure"),
    "race": ("shared-race", "no error"),
    "barrier": ("barrier-divergence", "no error"),
    "unwritten": ("uninitialised-shared", "no error"),
    "warp_race": ("warp-race", "no error"),
    "global_race": ("global-race", "no error"),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_is_named_by_line(bug, program, tmp_path):
    compiler = compilers.NAMES[len(bug) % 2 if compilers.there("clang") else 0]
    done = simulate("--json", "--warp-races", "--global-races", "--", program(compiler, "bugs"), bug, cwd=tmp_path)
    check, said = BUGS[bug]
    assert done.returncode == 1, done.stderr
    assert said in done.stderr.splitlines()  # what the program prints makes room for the document
    document = json.loads(done.stdout)
    found = [(one["check"], Path(one["file"]).name, one["line"]) for one in document["findings"]]
    assert (check, "bugs.cu", line_of("bugs", f"// bug: {bug}")) in found
    assert {one["kernel"] for one in document["findings"]} == {bug}
    assert {name for name, _, _ in found} - {check} <= {"uninitialised-shared"}  # a race reads what is not there yet


@pytest.mark.parametrize("compiler", compilers.NAMES)
def test_graphs_do_what_was_captured_or_described(compiler, program, tmp_path):
    done = simulate("--json", "--", program(compiler, "graphs"), cwd=tmp_path)
    assert [line for line in done.stderr.splitlines() if not line.startswith("prlx: cudaHostRegister: ")] == [
        "captured 4 nodes, the second stream joined, 0 calls before",
        "launched thrice: back[5] 21, 3 calls",
        "by hand: back[0] 1231",
        "with another parameter: back[0] 236",
        "with another variable: back[0] 239",
        "shares: 1200 bytes, 256 threads; best blocks of 256, 3 of 40000 bytes more",
        "a larger block: too many resources requested for launch",
        "a kernel wrote 63 and 0 into it; again: part or all of the requested memory range is already mapped",
        "and it is the program's again: 9 1",
        "after the grid's barrier 1 and 1; too many blocks: too many blocks in cooperative launch",
    ]
    document = json.loads(done.stdout)
    assert [
        (one["check"], one["kernel"], one["message"].partition(": ")[2].partition(" (")[0])
        for one in document["findings"]
    ] == [
        ("invalid-launch", "shares", "a block of 257 threads, of at most 256 by its __launch_bounds__"),
        ("invalid-launch", "together", "a cooperative grid of 100000 blocks, of which the GPU holds 216 at once"),
    ]
    assert {one["kernel"]: one["launches"] for one in document["kernels"]} == {"add": 9, "shares": 1, "together": 1}


@pytest.mark.parametrize("compiler", compilers.NAMES)
def test_textures_and_surfaces_are_as_the_guide_says(compiler, program, tmp_path):
    done = simulate("--json", "--", program(compiler, "textures"), cwd=tmp_path)
    said = ["integers cannot be filtered: linear filtering not supported for non-float type", "0 wrong"]
    assert done.stderr.splitlines()[:2] == said
    document = json.loads(done.stdout)
    assert document["findings"] == []
    (planes,) = (one for one in document["kernels"] if one["kernel"] == "planes")
    assert [one["how"] for one in planes["fidelity"]["approximated"]] == [
        "a linear filter: weights have 8 bits behind the point, as the programming guide says; "
        "how a GPU rounds them and the sum is not documented"
    ]  # of the points nothing is


@pytest.mark.parametrize(
    ("bug", "check", "where"), [("beyond", "out-of-bounds", "surface"), ("gone", "use-after-free", "texture")]
)
def test_a_texture_that_is_used_wrongly_is_named_by_line(bug, check, where, program, tmp_path):
    done = simulate("--json", "--", program("nvcc", "textures"), bug, cwd=tmp_path)
    (found,) = json.loads(done.stdout)["findings"]
    assert (found["check"], found["line"]) == (check, line_of("textures", f"// {where}: {bug}"))
    assert "an illegal memory access was encountered" in done.stderr.splitlines()


MISUSES = {
    "twice": ("bad-free", "it was freed before"),
    "inside": ("bad-free", "no allocation begins there"),
    "stack": ("bad-free", "no allocation begins there"),
    "pinned": ("bad-free", "is freed by cudaFreeHost"),
    "array": ("bad-free", "it was freed before"),
    "threads": ("invalid-launch", "the block is 2048 in x, of at most 1024"),
    "cube": ("invalid-launch", "a block of 2048 threads, of at most 1024"),
    "blocks": ("invalid-launch", "the grid is 70000 in y, of at most 65535"),
    "nothing": ("invalid-launch", "the grid is 0 in x"),
    "bounds": ("invalid-launch", "a block of 128 threads, of at most 64 by its __launch_bounds__"),
    "shared": ("invalid-launch", "100000 bytes of dynamic shared memory, of at most 49152"),
    "unwaited": ("unwaited-copy", "that it has not waited for"),
    "leak": ("leak", "(100 bytes) was not freed when the program ended"),
}


@pytest.mark.parametrize("misuse", MISUSES)
def test_a_misuse_of_the_runtime_is_named_by_line(misuse, program, tmp_path):
    done = simulate("--leaks", "--json", "--", program("nvcc", "misuse", "-g"), misuse, cwd=tmp_path)
    check, said = MISUSES[misuse]
    document = json.loads(done.stdout)
    (found,) = document["findings"]
    assert (found["check"], said in found["message"]) == (check, True), found
    if shutil.which("addr2line"):
        assert (Path(found["file"]).name, found["line"]) == ("misuse.cu", line_of("misuse", f"// misuse: {misuse}"))
    assert done.returncode == 1
    if misuse == "unwaited":
        assert "sum 448" in done.stderr  # it goes on as on a GPU that was quick


def test_a_program_that_waits_and_frees_has_no_finding(program, tmp_path):
    done = simulate("--leaks", "--", program("nvcc", "misuse"), "waited", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "sum 1792\n"
    assert simulate("--", program("nvcc", "misuse"), "leak", cwd=tmp_path).returncode == 0  # only --leaks asks
    done = simulate("--leaks", "--", program("nvcc", "misuse"), "leak", cwd=tmp_path)
    assert "leak at " in done.stderr
    assert "launch 0, the program" in done.stderr


def test_a_kernel_that_waits_for_ever_is_named(program, tmp_path):
    done = simulate("--", program("nvcc", "bugs"), "endless", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == "the launch timed out and was terminated\n"
    assert f"deadlock at bugs.cu:{line_of('bugs', '// bug: endless')}" in re.sub(r"at \S*/bugs", "at bugs", done.stderr)
    assert "the launch hangs: warp 0 of block 0 polls" in done.stderr


def test_a_kernel_that_does_not_end_in_time_is_refused(program, tmp_path):
    done = simulate("--max-instructions", "5", "--", program("nvcc", "bugs"), "endless", cwd=tmp_path)
    assert done.returncode == 5
    assert done.stdout == "the launch timed out and was terminated\n"
    assert "refused  endless, 1 launch" in done.stderr
    assert "limit of instructions" in done.stderr.replace("\n  ", " ")


def test_two_runs_are_told_apart_by_line_and_lane(program, tmp_path):
    for name, more in (("a", ()), ("b", ("-DSLIP=1",))):
        done = simulate("-q", "--record", name, "--outputs", "1MB", "--", program("nvcc", "steps", *more), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    session = json.loads((tmp_path / "a" / "session.json").read_text())
    assert [(one["launch"], one["kernel"]) for one in session["launches"]] == [
        (0, "scaled<float>"),
        (1, "sums"),
        (2, "collatz"),
    ]
    told = {}
    for words in (("inspect", "a"), ("diff", "a", "b")):
        command = [sys.executable, "-m", "prlx", "session", *words]
        told[words[0]] = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert told["inspect"].returncode == 0
    assert "scaled<float>" in told["inspect"].stdout
    assert told["diff"].returncode == 1
    assert "the first is collatz (launch 2)" in " ".join(told["diff"].stdout.split())
    both = [tmp_path / name / "0002_collatz.prlx" for name in "ab"]
    difference = prlx.diff_traces(*both)
    assert difference.status == "diverged"
    line = line_of("steps", "// line 43")
    assert f"steps.cu:{line}, warp 21" in difference.verdict
    first = difference.document["first"]
    assert first["lanes"] == [28]  # element 700 of 64 a block: block 10, warp 1 of 2, lane 28
    for name in ("0000_scaled_float_.prlx", "0001_sums.prlx"):
        a, b = (prlx.read_trace(tmp_path / one / name) for one in "ab")
        assert a.header.document["module_hash"] == b.header.document["module_hash"]  # the host's half is another
        assert prlx.diff_traces(tmp_path / "a" / name, tmp_path / "b" / name).status == "identical"


def test_every_process_of_a_program_is_seen(program, tmp_path):
    steps = program("nvcc", "steps")
    done = simulate("--json", "--record", "r", "--", "sh", "-c", f"'{steps}' & '{steps}'; wait", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert {one["kernel"]: one["launches"] for one in document["kernels"]} == {
        "scaled<float>": 2,
        "sums": 2,
        "collatz": 2,
    }
    session = json.loads((tmp_path / "r" / "session.json").read_text())
    assert [one["launch"] for one in session["launches"]] == [0, 1, 2, 3, 4, 5]


def test_launches_beyond_the_first_are_passed_over_and_counted(program, tmp_path):
    done = simulate("--launches", "1", "--", program("nvcc", "repeated"), cwd=tmp_path)
    assert done.stdout == "1\n"  # of 5
    assert done.returncode == 5, done.stderr
    assert "4 launches" in done.stderr
    assert simulate("--", program("nvcc", "repeated"), cwd=tmp_path).stdout == "5\n"


def test_a_launch_that_finds_what_an_earlier_one_found_is_repeated(program, tmp_path):
    repeated = program("nvcc", "repeated")
    whole = prlx.simulate_program([repeated, "more"], capture_output=True)
    quick = prlx.simulate_program([repeated, "more"], rest="repeat", capture_output=True)
    assert quick.stdout == whole.stdout == "110\n"
    # of ten the first two, the one after memory was cleared as the first, the one with another variable
    assert quick.document["repeated"] == 7
    assert whole.document["repeated"] == 0
    for name in ("launches", "instructions", "kernels", "findings", "conclusion"):
        assert quick.document[name] == whole.document[name], name
    done = simulate("--rest", "repeat", "--launches", "2", "--", repeated, "more", cwd=tmp_path)
    assert "7 launches found what an earlier one found" in done.stderr
    assert "launches of count" in done.stderr  # three are passed over: each finds another number
    assert simulate("--rest", "repeat", "--record", "r", "--", repeated, cwd=tmp_path).returncode == 2


def test_a_finding_behind_launches_that_were_passed_over_says_so(program):
    cut = prlx.simulate_program([program("nvcc", "repeated"), "more"], launches=1, capture_output=True)
    (found,) = cut.findings
    assert (found.check, found.document["passed_over"]) == ("out-of-bounds", 13)
    assert found.message.endswith("; 13 launches before it were passed over")


def test_a_program_whose_own_check_fails_when_it_is_cut_is_told_why(program, tmp_path):
    checked = program("nvcc", "repeated")
    assert simulate("--", checked, "and", "check", cwd=tmp_path).returncode == 0
    cut = simulate("--launches", "1", "--", checked, "and", "check", cwd=tmp_path)
    said = "after 13 launches that --launches passed over: its own check may miss what they compute"
    assert cut.returncode == 1, cut.stderr
    assert said in " ".join(cut.stderr.split()), cut.stderr


@pytest.mark.parametrize(
    ("words", "said", "helps"),
    [
        (
            ("-gencode", "arch=compute_80,code=sm_80", "-cudart", "shared"),
            "embeds only machine code for sm_80",
            "code=compute_80",
        ),
        (("-cudart", "static"), "a CUDA runtime of its own", "nvcc -cudart shared"),
    ],
)
def test_what_cannot_run_is_refused_with_what_helps(words, said, helps, tmp_path):
    if not compilers.there("nvcc"):
        pytest.skip("no nvcc (make build/clang/.ready)")
    source = PROGRAMS / "repeated.cu"
    base = [compilers.CUDA / "bin" / "nvcc", "-o", tmp_path / "a.out", source]
    subprocess.run([*map(str, base), *words], check=True, capture_output=True)
    done = simulate("--", tmp_path / "a.out", cwd=tmp_path)
    assert done.returncode == 3  # the program's own
    assert said in done.stderr
    assert helps in done.stderr


def test_a_library_of_machine_code_is_refused_by_name(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    library = tmp_path / "libcublas.so.13"
    (tmp_path / "blas.c").write_text("int cublasCreate_v2(void *h) { return 0; }")
    (tmp_path / "program.c").write_text("int cublasCreate_v2(void *h); int main(void) { return cublasCreate_v2(0); }")
    link = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{library.name}", "-o", library, tmp_path / "blas.c"]
    subprocess.run(link, check=True)
    subprocess.run(["cc", "-o", tmp_path / "a.out", tmp_path / "program.c", library], check=True)
    library.unlink()  # as on a machine without CUDA
    done = simulate("--", tmp_path / "a.out", cwd=tmp_path)
    assert done.returncode == 127
    assert "refused  libcublas.so.13" in done.stderr
    assert "a library of machine code, which the simulator does not run" in " ".join(done.stderr.split())


@pytest.mark.skipif(not os.environ.get("PRLX_FULL_SWEEP"), reason="PRLX_FULL_SWEEP: a minute of compiling headers")
def test_thrust_and_cub_run(program, tmp_path):
    done = simulate("--", program("nvcc", "headers", "-w"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": same\n") == 9, done.stdout
    assert "OTHER" not in done.stdout
    assert "no finding" in done.stderr


def test_a_program_for_the_runtime_of_cuda_12_runs(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    words = [
        "cc",
        "-DCUDART_MAJOR=12",
        "-o",
        tmp_path / "twelve",
        PROGRAMS / "twelve.c",
        f"-L{DRIVER}",
        "-l:libcudart.so.12",
    ]
    subprocess.run([*map(str, words), f"-Wl,-rpath-link,{DRIVER}"], check=True)
    done = simulate("--", tmp_path / "twelve", cwd=tmp_path)
    expected = "0: runtime 12000, clock 1410000, memory clock 1215000, pools 1, kind 3, stored 7, 512 bytes kept\n"
    assert done.stdout == expected, done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize("major", [12, 13])
def test_symbols_carry_the_version_that_programs_ask_for(major):
    if shutil.which("readelf") is None:
        pytest.skip("no readelf")
    words = ["readelf", "-W", "--dyn-syms", DRIVER / f"libcudart.so.{major}"]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    symbols = [line.split()[7] for line in lines if " FUNC " in line and " UND " not in line]
    assert len(symbols) > 400
    assert all(name.endswith(f"@@libcudart.so.{major}") for name in symbols)


def test_the_documentation_says_what_the_runtime_has():
    if shutil.which("readelf") is None:
        pytest.skip("no readelf (binutils)")
    assert set(support.refused()) <= support.exported()
    assert "\n".join(support.table()) in tutorial.PAGE.read_text()


def test_the_tutorial_shows_what_is_printed(tmp_path):
    if not compilers.there("nvcc"):
        pytest.skip("no nvcc (make build/clang/.ready)")
    assert tutorial.shown(compilers.CUDA / "bin" / "nvcc", tmp_path) == tutorial.PAGE.read_text()
