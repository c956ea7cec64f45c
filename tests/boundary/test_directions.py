"""Which module of prlx may import which: as ``core/architecture_test.go`` keeps the rooms of the core in order."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import prlx

ROOT = Path(prlx.__file__).parent

# From the ground up. A module imports modules of lower floors only, lazily or not; modules on one floor do not import each
# other. Imports for type checkers alone go anywhere: they do not run.
FLOORS = (
    (
        "_version",
        "_collector",
        "_errors",
        "_units",
        "_lines",
        "_former",
        "_option_table",
        "_option_types",
        "_option_keywords",
    ),
    ("_extension", "_progress", "_result", "_options"),
    ("_arrow", "_losses", "_origin", "_verdict"),
    ("_table",),
    ("_core", "_rows"),
    ("_device", "_program"),
    ("_config", "_worker"),
    ("_request",),
    # one node's clock, many nodes' traces
    ("_solve", "_validate", "_stragglers", "_convert", "_combine_compare", "_probe"),
    ("_nccl", "_nccl_compare", "_nccl_merge", "_nccl_flight", "_nccl_files", "_nccl_player"),
    ("_timeline",),
    ("_combine_spread",),
    ("_combine",),
    ("_align",),
    # measuring clocks
    ("_snapshots",),
    ("_clocks",),
    ("_peers",),
    # tapes of training steps
    ("hooks.tensors", "hooks.collectives", "hooks.frames"),
    ("hooks.operators", "hooks.twins_made"),
    ("_steps",),
    ("_replay",),
    ("_callbacks",),
    ("_training",),
    ("torch",),
    # what repeats
    ("_cycles_tables", "_cycles_xlsx"),
    ("_cycles_result",),
    ("_cycles",),
    # where recordings of kernels differ
    ("_filters", "_diff_source", "_rerun", "_wanted"),
    ("_diff_given",),
    ("_diff_outputs",),
    ("_diff_text",),
    ("_diff",),
    ("_session_diff", "_steps_diff"),
    ("_compare", "_kernel_events"),
    ("_kernel_trace", "_assert"),
    ("_session",),
    ("_open", "_pytest", "_doctor"),
    # kernels without a GPU
    (
        "hooks.cuda_places",
        "hooks.inductor_settings",
        "hooks.launch",
        "hooks.numba",
        "hooks.twins",
        "hooks.registers",
        "hooks.target",
        "hooks.texts",
    ),
    ("hooks.arrays",),
    ("hooks.freed", "hooks.instrument", "hooks.parameters", "_standing"),
    ("hooks.gpu", "hooks.simulator", "hooks.triton"),
    ("hooks.cuda_answers",),
    (
        "hooks.cuda",
        "hooks.inductor_device",
        "hooks.inductor_graph",
        "hooks.inductor_lines",
        "hooks.inductor_names",
        "hooks.inductor_origin",
    ),
    ("hooks.inductor",),
    ("_looked_up", "_names", "_plan", "_simulated", "_stops"),
    ("_expressions", "_inputs", "_noting"),
    ("_small_edits", "_values"),
    ("_matching",),
    ("_mixing",),
    ("_simulation", "_target", "_capture"),
    ("_launching", "_simulate_text"),
    ("_simulator",),
    # kernels on a GPU
    ("_cuda",),
    ("_contents", "_hip"),
    ("_arenas",),
    ("_gpu_device",),
    # on whichever there is
    ("_record",),
    ("_run",),
    ("_mixed_runs",),
    ("_trial",),
    ("_simulate", "_pytorch", "_simulate_program", "_simulate_ptx", "_locate", "_written", "_nvrtc"),
    ("_simulate_cuda", "hooks.pallas"),
    ("_pallas",),
    ("jax",),
    ("_gpu", "_microkernels", "_selftest_kernels"),
    ("_gpu_recorded",),
    ("_simulate_selftest",),
    # what people import; its names are loaded when they are first used
    ("hooks", ""),
    # the command line
    ("cli._command",),
    ("cli._options", "cli._ui", "cli._table"),
    ("cli._parser", "cli._render"),
    ("cli._outputs", "cli"),
    ("cli._comparing", "cli._watch", "cli._earlier"),
    (
        "cli._nccl_watch",
        "cli._nccl_analysis",
        "cli._nccl_compare",
        "cli._nccl_traces",
        "cli._nccl_recordings",
    ),
    ("cli.combine", "cli.diff", "cli.simulate"),
    ("cli.*",),
    ("_start",),
    ("__main__",),
)


def modules() -> dict[str, Path]:
    """Every module by its name below ``prlx``; packages by their own."""
    files = [file for folder in (ROOT, ROOT / "cli", ROOT / "hooks") for file in folder.glob("*.py")]
    names = {file: ".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files}
    return {"" if name == "__init__" else name.removesuffix(".__init__"): file for file, name in names.items()}


def floor_of(name: str) -> int:
    """The floor of a module; -1 for none."""
    listed = {module: number for number, floor in enumerate(FLOORS) for module in floor}
    command = name.startswith("cli.") and not name.startswith("cli._")
    return listed.get(name, listed["cli.*"] if command else -1)


def imported(name: str, file: Path, known: set[str]) -> Iterator[str]:
    """The modules of ours that a module imports when it runs, at its top or later."""
    tree = ast.parse(file.read_text())
    of_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    package = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    package = [part for part in package if part]
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level or id(node) in of_types:
            continue
        base = package[: len(package) - (node.level - 1)]
        found = [*base, *(node.module or "").split(".")] if node.module else base
        for alias in node.names:
            inside = ".".join([*found, alias.name])
            yield inside if inside in known or not node.module else ".".join(found)


def test_modules_import_only_modules_of_lower_floors() -> None:
    known = set(modules())
    wrong = []
    for name, file in modules().items():
        for target in imported(name, file, known):
            if target in known and floor_of(target) >= floor_of(name):
                wrong.append(f"{name or 'prlx'} imports {target or 'prlx'}, which does not stand below it")
    assert not wrong


def test_every_module_has_a_floor() -> None:
    assert {name for name in modules() if floor_of(name) < 0} == set()
    listed = {name for floor in FLOORS for name in floor} - {"cli.*"}
    assert listed - set(modules()) == set()


def test_a_wrong_direction_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "_units.py"
    file.write_text("def f():\n    from . import _core\n    from ._diff import Diff\n    from .cli._ui import UI\n")
    assert set(imported("_units", file, set(modules()))) == {"_core", "_diff", "cli._ui"}
