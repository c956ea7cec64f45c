"""Types of keyword arguments. Made of the requests in Go by "make options": change them there."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ._compare import Recordings, Tolerance
    from ._filters import Sites, Warps
    from ._request import Inputs, Path
    from ._units import TimeRange


class CombineOptions(TypedDict, total=False):
    """What ``combine_traces`` takes by name."""

    output: Path | None
    overwrite: bool
    format: str | None
    apply_alignment: bool
    naming: str | None
    snapshots: Inputs | None
    offsets: Path | None
    probes: Path | Iterable[Path] | None
    declared: Path | None
    method: str | None
    policy: str | None
    round_bound_ns: int | None
    timebase: str | None
    reference: str | int | None
    correction_stat: bool
    device_clocks: str | None
    bound_stat: bool
    time_range: str | TimeRange | None
    skip_unreadable: bool
    salvage: bool
    repair: bool
    explain: str | int | None
    report: Path | None
    strict: bool
    workers: int | None
    memory_limit: int | str | None


class AlignOptions(TypedDict, total=False):
    """What ``align_trace`` takes by name."""

    node: str | int | None
    output: Path | None
    overwrite: bool
    snapshots: Inputs | None
    offsets: Path | None
    probes: Path | Iterable[Path] | None
    declared: Path | None
    method: str | None
    policy: str | None
    round_bound_ns: int | None
    timebase: str | None
    reference: str | int | None
    correction_stat: bool
    device_clocks: str | None
    bound_stat: bool
    salvage: bool
    strict: bool
    workers: int | None
    memory_limit: int | str | None


class ValidateOptions(TypedDict, total=False):
    """What ``validate_collectives`` takes by name."""

    snapshots: Inputs | None
    offsets: Path | None
    probes: Path | Iterable[Path] | None
    declared: Path | None
    round_bound_ns: int | None
    skip_unreadable: bool
    salvage: bool
    limit: int | None
    workers: int | None
    memory_limit: int | str | None


class StragglersOptions(TypedDict, total=False):
    """What ``find_stragglers`` takes by name."""

    since: float | None
    step: Sequence[str | int] | None
    group: str | None
    limit: int | None
    snapshots: Inputs | None
    offsets: Path | None
    probes: Path | Iterable[Path] | None
    declared: Path | None
    method: str
    round_bound_ns: int | None
    skip_unreadable: bool
    salvage: bool
    workers: int | None
    memory_limit: int | str | None


class SolveOptions(TypedDict, total=False):
    """What ``solve_offsets`` takes by name."""

    output: Path | None
    overwrite: bool
    reference: str | int | None


class DiffOptions(TypedDict, total=False):
    """What ``diff_traces`` takes by name."""

    values: bool
    tolerance: Tolerance | None
    nan: str | None
    ignore: str | Iterable[str] | None
    baseline: Recordings | None
    baseline_b: Recordings | None
    explain: bool
    warps: Warps | None
    kinds: str | Iterable[str] | None
    sites: Sites | None
    site_map: Path | None
    site_map_b: Path | None
    max_divergences: int | Mapping[str, int]
    require: str | Iterable[str] | None
    verify: bool | None
    accepted: Path | None
    limit: int
    source_roots: Path | Iterable[Path] | None
    libraries: str | Iterable[str] | None
    ignore_active_mask: bool
    strict_order: bool
    floats: bool
    force: bool
    cross_gpu: bool
    workers: int | None
    memory_limit: int | str | None


class AssertOptions(TypedDict, total=False):
    """What ``assert_same`` takes by name."""

    values: bool
    tolerance: Tolerance | None
    nan: str | None
    ignore: str | Iterable[str] | None
    baseline: Recordings | None
    baseline_b: Recordings | None
    explain: bool
    warps: Warps | None
    kinds: str | Iterable[str] | None
    sites: Sites | None
    site_map: Path | None
    site_map_b: Path | None
    max_divergences: int | Mapping[str, int]
    require: str | Iterable[str] | None
    verify: bool
    accepted: Path | None
    source_roots: Path | Iterable[Path] | None
    libraries: str | Iterable[str] | None
    ignore_active_mask: bool
    strict_order: bool
    force: bool
    cross_gpu: bool
    workers: int | None
    memory_limit: int | str | None
