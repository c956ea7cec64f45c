"""What a recording of a kernel says of its launch, and its events as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import UsageError
from ._result import Brief
from ._table import Column, Table

if TYPE_CHECKING:
    import numpy.typing as npt


def _taken(column: Column, rows: slice | npt.NDArray[Any]) -> Column:
    """Some rows of a column: a view for a slice, a copy for a choice."""
    valid = None if column.valid is None else column.valid[rows]
    return Column(column.name, column.type, column.unit, column.values[rows], valid, column.offsets, column.text)


class Events(Table):
    """Events in columns, by warp and then in the order in which the warp passed them.

    ``warp`` and ``event`` say where, ``site``, ``location`` (in the source; None where nobody names it) and ``kind`` what,
    ``dir`` which way the leader went, ``active`` and ``taken`` (uint64) which lanes, ``value`` (uint64) the bits of the value
    and ``type`` how to read them.
    """

    __slots__ = ()

    def rows(self, which: slice | npt.NDArray[Any]) -> Events:
        """Some of the rows: without a copy for a slice."""
        columns = [_taken(column, which) for column in self.columns]
        return Events(columns, len(columns[0].values) if columns else 0)

    def codes(self, name: str) -> npt.NDArray[np.int32]:
        """The numbers behind a column of text: those of ``site`` are rows of the table of sites."""
        column = self.column(name)
        if column.type != "string":
            raise UsageError(f"column {name!r} holds {column.type}, not text")
        return column.values

    def of_warp(self, warp: int) -> Events:
        """The events of one warp, without a copy."""
        warps = self.column("warp").values
        return self.rows(slice(int(np.searchsorted(warps, warp)), int(np.searchsorted(warps, warp, "right"))))


@dataclass(frozen=True, repr=False)
class KernelHeader(Brief):
    """What was recorded, and how.

    Attributes
    ----------
    kernel, grid, cluster, block
        The launch.
    arch, wave_size, warps_per_block, warp_slots
        The machine, and how many warps the launch has.
    launch
        Its number in its session.
    mode, means
        How much each warp left (``control-flow``, ...), and how (``instrumented``, ``observed``, ...).
    format
        ``prlx v1`` or ``prlx v2``.
    document
        Everything that the file says, as in ``prlx.kernel-trace/1``.
    """

    kernel: str
    grid: tuple[int, int, int]
    cluster: tuple[int, int, int]
    block: tuple[int, int, int]
    arch: str
    wave_size: int
    warps_per_block: int
    warp_slots: int
    launch: int
    mode: str
    means: str
    sample_rate: int
    timestamp_ns: int
    format: str
    document: Mapping[str, Any]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> KernelHeader:
        """The header that a document describes."""
        header = document["header"]
        three = {key: (header[key][0], header[key][1], header[key][2]) for key in ("grid", "cluster", "block")}
        return cls(
            kernel=header["kernel"],
            grid=three["grid"],
            cluster=three["cluster"],
            block=three["block"],
            arch=header["arch"],
            wave_size=header["wave_size"],
            warps_per_block=header["warps_per_block"],
            warp_slots=header["warp_slots"],
            launch=header["launch"],
            mode=header["mode"],
            means=header["means"],
            sample_rate=header["sample_rate"],
            timestamp_ns=header["timestamp_ns"],
            format=document["format"],
            document=header,
        )

    @property
    def kernel_name(self) -> str:
        """``kernel`` under its name in original prlx 0.5."""
        return self.kernel

    @property
    def grid_dim(self) -> tuple[int, int, int]:
        """``grid`` under its name in original prlx 0.5."""
        return self.grid

    @property
    def block_dim(self) -> tuple[int, int, int]:
        """``block`` under its name in original prlx 0.5."""
        return self.block

    @property
    def num_warps_per_block(self) -> int:
        """``warps_per_block`` under its name in original prlx 0.5."""
        return self.warps_per_block

    @property
    def total_warp_slots(self) -> int:
        """``warp_slots`` under its name in original prlx 0.5."""
        return self.warp_slots

    @property
    def version(self) -> int:
        """Of the file's format: 1 or 2."""
        return int(self.document["version"])

    @property
    def events_per_warp(self) -> int:
        """Events that a warp could leave; 0 without a limit."""
        return int(self.document["events_per_warp"])

    @property
    def history_depth(self) -> int:
        """Values that a warp's ring of history holds; 0 without one."""
        return int(self.document["history_depth"])

    @property
    def snapshot_depth(self) -> int:
        """Snapshots of operands that a warp's ring holds; 0 without one."""
        return int(self.document["snapshot_depth"])

    @property
    def has_history(self) -> bool:
        """Whether warps had a ring of history."""
        return self.history_depth > 0

    @property
    def has_snapshot(self) -> bool:
        """Whether warps had a ring of snapshots."""
        return self.snapshot_depth > 0

    @property
    def is_sampled(self) -> bool:
        """Whether only one of several events was recorded."""
        return self.sample_rate > 1

    @property
    def total_blocks(self) -> int:
        """Blocks of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads_per_block(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]
