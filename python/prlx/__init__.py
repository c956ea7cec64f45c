"""prlx: many nodes' traces on one clock, and where two GPU runs first differ.

Importing prlx loads neither the core nor NumPy and starts no thread; both come with the first call that needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._errors import (
    AlignmentError,
    ArrayMemoryError,
    CancelledError,
    CoreUnavailableError,
    FileAccessError,
    FindingError,
    FindingWarning,
    ForkedProcessError,
    IncompatibleTracesError,
    InconclusiveError,
    InternalError,
    LimitError,
    NotAlignedWarning,
    PartialResultError,
    PrlxError,
    SimulationError,
    TraceFormatError,
    UsageError,
)
from ._version import __version__

if TYPE_CHECKING:
    from ._align import align_trace
    from ._assert import assert_same
    from ._clocks import Clocks, clocks
    from ._combine import CombinedTrace, combine_traces
    from ._combine_compare import AlignmentComparison, compare_alignments
    from ._compare import diff_traces
    from ._convert import Converted, convert_trace
    from ._cycles import compare_cycles, find_cycles
    from ._cycles_result import CycleComparison, Cycles
    from ._diff import Diff, Divergence
    from ._kernel_trace import KernelTrace, read_trace
    from ._locate import Located, locate
    from ._nccl import NcclDiagnosis, NcclReport, diagnose_nccl, read_nccl
    from ._nccl_compare import NcclComparison, compare_nccl
    from ._nccl_files import CollectedNccl, SelftestNccl, collect_nccl, selftest_nccl
    from ._nccl_flight import FlightRecorder, read_flight_recorder
    from ._nccl_merge import MergedNccl, merge_nccl
    from ._open import open
    from ._option_types import (
        Checks,
        ClockOptions,
        Machine,
        Noise,
        Output,
        RecordOptions,
        Rules,
        Selection,
        Sources,
    )
    from ._origin import Origin
    from ._plan import Plan
    from ._probe import Probing, probe_clocks
    from ._pytorch import enable_pytorch, pytorch_trace
    from ._record import disable, enable, record, session
    from ._session import Session
    from ._session_diff import SessionDiff
    from ._simulate import simulate
    from ._simulate_cuda import simulate_cuda
    from ._simulate_program import ProgramRun, simulate_program
    from ._simulate_ptx import simulate_ptx
    from ._simulate_selftest import SelftestSimulator, selftest_simulator
    from ._simulation import Finding, Simulation
    from ._simulator import Recording
    from ._solve import Offsets, solve_offsets
    from ._stops import Stop, StopValue
    from ._stragglers import Stragglers, find_stragglers
    from ._timeline import Timeline
    from ._training import Anomaly, TrainingMonitor
    from ._trial import try_statements
    from ._validate import Verdicts, validate_collectives
    from ._verdict import Looked, Missing, Verdict

__all__ = [
    "AlignmentComparison",
    "AlignmentError",
    "Anomaly",
    "ArrayMemoryError",
    "CancelledError",
    "Checks",
    "ClockOptions",
    "Clocks",
    "CollectedNccl",
    "CombinedTrace",
    "Converted",
    "CoreUnavailableError",
    "CycleComparison",
    "Cycles",
    "Diff",
    "Divergence",
    "FileAccessError",
    "Finding",
    "FindingError",
    "FindingWarning",
    "FlightRecorder",
    "ForkedProcessError",
    "IncompatibleTracesError",
    "InconclusiveError",
    "InternalError",
    "KernelTrace",
    "LimitError",
    "Located",
    "Looked",
    "Machine",
    "MergedNccl",
    "Missing",
    "NcclComparison",
    "NcclDiagnosis",
    "NcclReport",
    "Noise",
    "NotAlignedWarning",
    "Offsets",
    "Origin",
    "Output",
    "PartialResultError",
    "Plan",
    "PrlxError",
    "Probing",
    "ProgramRun",
    "RecordOptions",
    "Recording",
    "Rules",
    "Selection",
    "SelftestNccl",
    "SelftestSimulator",
    "Session",
    "SessionDiff",
    "Simulation",
    "SimulationError",
    "Sources",
    "Stop",
    "StopValue",
    "Stragglers",
    "Timeline",
    "TraceFormatError",
    "TrainingMonitor",
    "UsageError",
    "Verdict",
    "Verdicts",
    "__version__",
    "align_trace",
    "assert_same",
    "clocks",
    "collect_nccl",
    "combine_traces",
    "compare_alignments",
    "compare_cycles",
    "compare_nccl",
    "convert_trace",
    "diagnose_nccl",
    "diff_traces",
    "disable",
    "enable",
    "enable_pytorch",
    "find_cycles",
    "find_stragglers",
    "locate",
    "merge_nccl",
    "open",
    "probe_clocks",
    "pytorch_trace",
    "read_flight_recorder",
    "read_nccl",
    "read_trace",
    "record",
    "selftest_nccl",
    "selftest_simulator",
    "session",
    "simulate",
    "simulate_cuda",
    "simulate_program",
    "simulate_ptx",
    "solve_offsets",
    "try_statements",
    "validate_collectives",
]

# Modules for frameworks, which load them when they are used.
_DOORS = ("jax", "torch")

_LAZY = {
    "AlignmentComparison": "_combine_compare",
    "Anomaly": "_training",
    "Checks": "_option_types",
    "ClockOptions": "_option_types",
    "Clocks": "_clocks",
    "CollectedNccl": "_nccl_files",
    "CombinedTrace": "_combine",
    "Converted": "_convert",
    "CycleComparison": "_cycles_result",
    "Cycles": "_cycles_result",
    "Diff": "_diff",
    "Divergence": "_diff",
    "Finding": "_simulation",
    "FlightRecorder": "_nccl_flight",
    "KernelTrace": "_kernel_trace",
    "Located": "_locate",
    "Looked": "_verdict",
    "Machine": "_option_types",
    "Missing": "_verdict",
    "NcclComparison": "_nccl_compare",
    "NcclDiagnosis": "_nccl",
    "NcclReport": "_nccl",
    "MergedNccl": "_nccl_merge",
    "Noise": "_option_types",
    "Offsets": "_solve",
    "Origin": "_origin",
    "Output": "_option_types",
    "Plan": "_plan",
    "Probing": "_probe",
    "ProgramRun": "_simulate_program",
    "RecordOptions": "_option_types",
    "Recording": "_simulator",
    "Rules": "_option_types",
    "Selection": "_option_types",
    "SelftestNccl": "_nccl_files",
    "SelftestSimulator": "_simulate_selftest",
    "Session": "_session",
    "SessionDiff": "_session_diff",
    "Simulation": "_simulation",
    "Sources": "_option_types",
    "Stop": "_stops",
    "StopValue": "_stops",
    "Stragglers": "_stragglers",
    "Timeline": "_timeline",
    "TrainingMonitor": "_training",
    "Verdict": "_verdict",
    "Verdicts": "_validate",
    "align_trace": "_align",
    "assert_same": "_assert",
    "clocks": "_clocks",
    "collect_nccl": "_nccl_files",
    "combine_traces": "_combine",
    "compare_alignments": "_combine_compare",
    "compare_cycles": "_cycles",
    "compare_nccl": "_nccl_compare",
    "convert_trace": "_convert",
    "diagnose_nccl": "_nccl",
    "diff_traces": "_compare",
    "disable": "_record",
    "enable": "_record",
    "enable_pytorch": "_pytorch",
    "find_cycles": "_cycles",
    "find_stragglers": "_stragglers",
    "locate": "_locate",
    "merge_nccl": "_nccl_merge",
    "open": "_open",
    "probe_clocks": "_probe",
    "pytorch_trace": "_pytorch",
    "read_nccl": "_nccl",
    "read_flight_recorder": "_nccl_flight",
    "read_trace": "_kernel_trace",
    "record": "_record",
    "selftest_nccl": "_nccl_files",
    "selftest_simulator": "_simulate_selftest",
    "session": "_record",
    "simulate": "_simulate",
    "simulate_cuda": "_simulate_cuda",
    "simulate_program": "_simulate_program",
    "simulate_ptx": "_simulate_ptx",
    "solve_offsets": "_solve",
    "try_statements": "_trial",
    "validate_collectives": "_validate",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    from ._former import ALIASES, instead_of

    found = ALIASES.get(name, name)
    if found not in _LAZY and found not in _DOORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{instead_of(name)}")
    from importlib import import_module

    if found in _DOORS:
        return import_module(f"{__name__}.{found}")
    value: object = getattr(import_module(f"{__name__}.{_LAZY[found]}"), found)
    globals()[name] = value  # from now on without this function
    return value


def __dir__() -> list[str]:
    """List the public names, used or not."""
    return sorted({*globals(), *__all__})
