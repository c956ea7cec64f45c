"""What rocprofv3 writes, in three forms: a recording as JSON, as tables and as a database has the same events, to the ns.

One JSON is a real one. No real database was found: it is made by the published schema, and the tables by the
columns that it prints.
"""

from __future__ import annotations

import collections
import csv
import gzip
import json
import sqlite3
from pathlib import Path

import pytest

import prlx

RECORDED = "other/AMD-AGI+TraceLens__908_results.json.gz"
Events = "collections.Counter[tuple[str, str, int, int]]"


def made() -> dict:
    """A small recording: two GPUs, copies, calls, markers."""
    kinds = [{"kind": f"KIND_{i}", "operations": []} for i in range(20)]
    kinds[5] = {"kind": "HIP_RUNTIME_API", "operations": ["none", "hipLaunchKernel", "hipMemcpy", "hipGraphLaunch"]}
    kinds[7] = {"kind": "MARKER_CORE_API", "operations": ["roctxMarkA", "roctxRangePushA"]}
    kinds[10] = {
        "kind": "MEMORY_COPY",
        "operations": ["NONE", "HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST"],
    }
    agents = [
        {"id": {"handle": 100 + i}, "type": kind, "node_id": i, "logical_node_type_id": number, "product_name": product}
        for i, (kind, number, product) in enumerate([(1, 0, "EPYC"), (2, 0, "MI300X"), (2, 1, "MI300X")])
    ]
    symbols = [
        {"kernel_id": i, "kernel_name": name + ".kd", "formatted_kernel_name": name}
        for i, name in enumerate(["", "gemm<float>(int, int)", "relu"])
    ]
    at = 4_484_384_343_929_154  # a host that runs for 51 days
    dispatches, calls, copies, markers = [], [], [], []
    for n in range(12):
        began = at + n * 10_000
        for k in (1, 2):
            c = 2 * n + k
            calls.append(record(5, 1, c, began + k * 100, began + k * 100 + 50))
            one = record(11, 2, c, began + k * 1000, began + k * 1000 + 700)
            one["dispatch_info"] = {
                "agent_id": {"handle": 101 + n % 2},
                "queue_id": {"handle": 3},
                "kernel_id": k,
                "dispatch_id": c,
                "private_segment_size": 0,
                "group_segment_size": 512,
                "workgroup_size": {"x": 64, "y": 1, "z": 1},
                "grid_size": {"x": 1000, "y": 2, "z": 1},
            }
            one["stream_id"] = {"handle": n % 2 * 4}
            dispatches.append(one)
        copy = record(10, 2 + n % 2, 500 + n, began + 5000, began + 5300)
        copy |= {
            "dst_agent_id": {"handle": 101 - n % 2},
            "src_agent_id": {"handle": 100 + n % 2},
            "bytes": 4096,
            "stream_id": {"handle": 0},
        }
        copies.append(copy)
        markers.append(record(7, 1, 900 + n, began, began + 9000))
    process = {
        "metadata": {
            "node": {"hostname": "node1"},
            "pid": 908,
            "init_time": at - 1_000_000,
            "fini_time": at + 1_000_000,
            "command": ["/usr/bin/python"],
        },
        "agents": agents,
        "strings": {"buffer_records": kinds, "marker_api": [{"key": 900 + n, "value": f"step {n}"} for n in range(12)]},
        "kernel_symbols": symbols,
        "callback_records": {"counter_collection": [{"a": [1, {"b": 2}]}]},
        "buffer_records": {
            "kernel_dispatch": dispatches,
            "hip_api": calls,
            "hsa_api": [],
            "marker_api": markers,
            "memory_copy": copies,
            "scratch_memory": [],
        },
    }
    return {"rocprofiler-sdk-tool": [process]}


def record(kind: int, operation: int, correlation: int, start: int, end: int) -> dict:
    """What all records have."""
    return {
        "kind": kind,
        "operation": operation,
        "thread_id": 909,
        "correlation_id": {"internal": correlation, "external": 0},
        "start_timestamp": start,
        "end_timestamp": end,
    }


def tables(document: dict, prefix: Path) -> Path:
    """The recording as tables, with the columns that rocprofv3 prints."""
    process = document["rocprofiler-sdk-tool"][0]
    names = {k["kernel_id"]: k["formatted_kernel_name"] for k in process["kernel_symbols"]}
    node = {a["id"]["handle"]: f"Agent {a['node_id']}" for a in process["agents"]}
    kinds, said = process["strings"]["buffer_records"], {m["key"]: m["value"] for m in process["strings"]["marker_api"]}
    records = process["buffer_records"]

    def write(ending: str, columns: str, rows: list[list]) -> None:
        with Path(f"{prefix}_{ending}.csv").open("w", newline="") as f:
            out = csv.writer(f, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
            out.writerow(columns.split())
            out.writerows(rows)

    write(
        "kernel_trace",
        "Kind Agent_Id Queue_Id Stream_Id Thread_Id Dispatch_Id Kernel_Id Kernel_Name Correlation_Id Start_Timestamp "
        "End_Timestamp LDS_Block_Size Scratch_Size VGPR_Count Accum_VGPR_Count SGPR_Count Workgroup_Size_X Workgroup_Size_Y "
        "Workgroup_Size_Z Grid_Size_X Grid_Size_Y Grid_Size_Z",
        [
            [
                "KERNEL_DISPATCH",
                node[(d := r["dispatch_info"])["agent_id"]["handle"]],
                d["queue_id"]["handle"],
                r["stream_id"]["handle"],
                r["thread_id"],
                d["dispatch_id"],
                d["kernel_id"],
                names[d["kernel_id"]],
                r["correlation_id"]["internal"],
                r["start_timestamp"],
                r["end_timestamp"],
                512,
                0,
                8,
                0,
                16,
                *d["workgroup_size"].values(),
                *d["grid_size"].values(),
            ]
            for r in records["kernel_dispatch"]
        ],
    )
    write(
        "memory_copy_trace",
        "Kind Direction Stream_Id Source_Agent_Id Destination_Agent_Id Correlation_Id Start_Timestamp End_Timestamp",
        [
            [
                "MEMORY_COPY",
                kinds[10]["operations"][r["operation"]],
                r["stream_id"]["handle"],
                node[r["src_agent_id"]["handle"]],
                node[r["dst_agent_id"]["handle"]],
                r["correlation_id"]["internal"],
                r["start_timestamp"],
                r["end_timestamp"],
            ]
            for r in records["memory_copy"]
        ],
    )
    columns = "Domain Function Process_Id Thread_Id Correlation_Id Start_Timestamp End_Timestamp"
    for ending, domain, rows in (
        ("hip_api_trace", "HIP_RUNTIME_API", records["hip_api"]),
        ("marker_api_trace", "MARKER_CORE_API", records["marker_api"]),
    ):
        write(
            ending,
            columns,
            [
                [
                    domain,
                    said.get(r["correlation_id"]["internal"]) or kinds[5]["operations"][r["operation"]],
                    908,
                    r["thread_id"],
                    r["correlation_id"]["internal"],
                    r["start_timestamp"],
                    r["end_timestamp"],
                ]
                for r in rows
            ],
        )
    write(
        "agent_info",
        "Node_Id Agent_Type Product_Name",
        [[a["node_id"], "CPU" if a["type"] == 1 else "GPU", a["product_name"]] for a in process["agents"]],
    )
    return Path(f"{prefix}_kernel_trace.csv")


def database(document: dict, path: Path) -> Path:
    """The recording as rocpd, by the tables of its schema 3.0."""
    process = document["rocprofiler-sdk-tool"][0]
    uuid = "_0000abcd"
    db = sqlite3.connect(path)
    texts: dict[str, int] = {}
    said = {m["key"]: m["value"] for m in process["strings"]["marker_api"]}
    kinds, records = process["strings"]["buffer_records"], process["buffer_records"]

    def table(name: str, columns: str, rows: list[tuple]) -> None:
        names = columns.split(", ")
        plain = ", ".join(f'"{c}"' for c in names)
        key = '"id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "guid" TEXT DEFAULT "g" NOT NULL'
        db.execute(f'CREATE TABLE "{name}{uuid}" ({key}, {plain})')
        db.executemany(f'INSERT INTO "{name}{uuid}" ("id", {plain}) VALUES ({",".join("?" * (len(names) + 1))})', rows)

    def text(value: str) -> int:
        return texts.setdefault(value, len(texts) + 1)

    events: list[tuple] = []

    def happened(r: dict, category: str) -> int:
        c = r["correlation_id"]["internal"]
        extra = json.dumps({"message": said[c]}) if category.startswith("MARKER") else "{}"
        events.append((len(events) + 1, text(category), c, 0, 0, extra))
        return len(events)

    def place(handle: int) -> int:
        return next(i + 1 for i, a in enumerate(process["agents"]) if a["id"]["handle"] == handle)

    table(
        "rocpd_kernel_dispatch",
        "nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, end, "
        "private_segment_size, group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, "
        "grid_size_x, grid_size_y, grid_size_z, region_name_id, event_id",
        [
            (
                i + 1,
                1,
                1,
                1,
                place((d := r["dispatch_info"])["agent_id"]["handle"]),
                d["kernel_id"],
                d["dispatch_id"],
                d["queue_id"]["handle"],
                r["stream_id"]["handle"],
                r["start_timestamp"],
                r["end_timestamp"],
                0,
                512,
                *d["workgroup_size"].values(),
                *d["grid_size"].values(),
                None,
                happened(r, "KERNEL_DISPATCH"),
            )
            for i, r in enumerate(records["kernel_dispatch"])
        ],
    )
    table(
        "rocpd_memory_copy",
        "nid, pid, tid, start, end, name_id, dst_agent_id, src_agent_id, size, stream_id, event_id",
        [
            (
                i + 1,
                1,
                1,
                1,
                r["start_timestamp"],
                r["end_timestamp"],
                text(kinds[10]["operations"][r["operation"]]),
                place(r["dst_agent_id"]["handle"]),
                place(r["src_agent_id"]["handle"]),
                r["bytes"],
                r["stream_id"]["handle"],
                happened(r, "MEMORY_COPY"),
            )
            for i, r in enumerate(records["memory_copy"])
        ],
    )
    regions = [(r, "HIP_RUNTIME_API", kinds[5]["operations"][r["operation"]]) for r in records["hip_api"]]
    regions += [(r, "MARKER_CORE_API", "roctxRangePushA") for r in records["marker_api"]]
    table(
        "rocpd_region",
        "nid, pid, tid, start, end, name_id, event_id",
        [
            (i + 1, 1, 1, 1, r["start_timestamp"], r["end_timestamp"], text(name), happened(r, category))
            for i, (r, category, name) in enumerate(regions)
        ],
    )
    table(
        "rocpd_event",
        "category_id, stack_id, parent_stack_id, correlation_id, extdata",
        events,
    )
    table("rocpd_string", "string", [(i, value) for value, i in texts.items()])
    table("rocpd_info_node", "hostname", [(1, "node1")])
    table("rocpd_info_process", "nid, pid, command", [(1, 1, 908, "/usr/bin/python train.py")])
    table("rocpd_info_thread", "nid, pid, tid", [(1, 1, 1, 909)])
    table(
        "rocpd_info_agent",
        "type, absolute_index, logical_index, type_index, product_name",
        [
            (i + 1, "CPU" if a["type"] == 1 else "GPU", i, i, a["logical_node_type_id"], a["product_name"])
            for i, a in enumerate(process["agents"])
        ],
    )
    table(
        "rocpd_info_kernel_symbol",
        "kernel_name, display_name",
        [(k["kernel_id"], k["kernel_name"], k["formatted_kernel_name"]) for k in process["kernel_symbols"][1:]],
    )
    db.commit()
    db.close()
    return path


def read(path: Path) -> Events:
    """Every event as prlx reads it: plane, name, start and duration in ns."""
    events = prlx.open(path).events
    columns = [events.column(name).to_numpy().tolist() for name in ("plane", "name", "start_ns", "duration_ps")]
    return collections.Counter((str(p), str(n), int(s), int(d) // 1000) for p, n, s, d in zip(*columns, strict=True))


def expected(document: dict) -> Events:
    """The same by the JSON itself."""
    process = document["rocprofiler-sdk-tool"][0]
    names = {k["kernel_id"]: k["formatted_kernel_name"] for k in process["kernel_symbols"]}
    agents = {a["id"]["handle"]: a for a in process["agents"]}
    said = {m["key"]: m["value"] for m in process["strings"]["marker_api"]}
    kinds = process["strings"]["buffer_records"]
    host = f"/host:CPU {process['metadata']['command'][0].rpartition('/')[2]} {process['metadata']['pid']}"
    out: Events = collections.Counter()
    for what, records in process["buffer_records"].items():
        for r in records:
            plane, name = (
                host,
                said.get(r["correlation_id"]["internal"])
                if what == "marker_api"
                else kinds[r["kind"]]["operations"][r["operation"]]
                if kinds[r["kind"]]["operations"]
                else "",
            )
            if what == "kernel_dispatch":
                plane, name = (
                    f"/device:GPU:{agents[r['dispatch_info']['agent_id']['handle']]['logical_node_type_id']}",
                    names[r["dispatch_info"]["kernel_id"]],
                )
            if what == "memory_copy":
                on = next(
                    agents[r[end]["handle"]]
                    for end in ("dst_agent_id", "src_agent_id")
                    if agents[r[end]["handle"]]["type"] == 2
                )
                plane = f"/device:GPU:{on['logical_node_type_id']}"
            out[plane, str(name), r["start_timestamp"], r["end_timestamp"] - r["start_timestamp"]] += 1
    return out


def test_a_real_json_is_read_to_the_nanosecond(data: Path) -> None:
    path = data / RECORDED
    with gzip.open(path) as f:
        want = expected(json.load(f))
    assert sum(want.values()) == 43_915
    assert read(path) == want
    assert prlx.find_cycles(path, progress=False).document["input"]["kernels"] == 43_915


def test_three_forms_of_one_recording_are_equal(tmp_path: Path) -> None:
    document = made()
    path = tmp_path / "908_results.json"
    path.write_text(json.dumps(document))
    want = expected(document)
    assert read(path) == want
    assert read(database(document, tmp_path / "908_results.db")) == want

    def unnamed(events: Events) -> Events:  # tables do not say what a process is called
        return collections.Counter(
            {
                (f"{p.split()[0]} {p.split()[-1]}" if " " in p else p, n, s, d): count
                for (p, n, s, d), count in events.items()
            }
        )

    assert unnamed(read(tables(document, tmp_path / "908"))) == unnamed(want)


@pytest.mark.parametrize("form", ["json", "csv", "db"])
def test_launches_belong_to_kernels_and_copies_are_told_apart(tmp_path: Path, form: str) -> None:
    document = made()
    path = tmp_path / "908_results.json"
    path.write_text(json.dumps(document))
    if form == "csv":
        path = tables(document, tmp_path / "908")
    if form == "db":
        path = database(document, tmp_path / "908_results.db")
    found = prlx.find_cycles(path, progress=False).document
    assert found["input"]["kernels"] == 24
    assert found["input"]["format"].startswith({"json": "rocprofv3-json", "csv": "rocprofv3-csv", "db": "rocpd"}[form])
    out = tmp_path / "out.json"
    prlx.combine_traces(path, output=out, apply_alignment=False, progress=False)
    events = [e for e in json.loads(out.read_text())["traceEvents"] if e.get("ph") == "X"]
    assert len(events) == 24 + 24 + 12 + 12
    gemm = next(e for e in events if e["name"].startswith("gemm"))
    assert gemm["args"]["grid"] == [1000, 2, 1]
    assert gemm["args"]["correlation"] == 1


def test_a_directory_of_tables_is_one_trace(tmp_path: Path) -> None:
    tables(made(), tmp_path / "908")
    out = tmp_path / "out.json"
    result = prlx.combine_traces(tmp_path, output=out, overwrite=True, apply_alignment=False, progress=False)
    assert len(result.document["nodes"]) == 1


def test_what_is_not_used_is_said(tmp_path: Path) -> None:
    path = tmp_path / "908_results.json"
    path.write_text(json.dumps(made()))
    assert any("counter_collection" in said for said in prlx.open(path).warnings)
    assert any(
        "read with it: 908_memory_copy_trace.csv" in said
        for said in prlx.open(tables(made(), tmp_path / "908")).warnings
    )


def test_what_cannot_be_read_is_refused_in_its_own_words(tmp_path: Path) -> None:
    path = tmp_path / "908_results.json"
    path.write_text(json.dumps(made())[:-200])
    with pytest.raises(prlx.TraceFormatError, match="ends early"):
        prlx.open(path)
    table = tmp_path / "x_kernel_trace.csv"
    table.write_text("Kind,Agent_Id,Kernel_Name,Start_Timestamp,Duration\nK,1,a,5,6\n")
    with pytest.raises(prlx.TraceFormatError, match="no column End_Timestamp"):
        prlx.open(table)
    later = tmp_path / "later.db"
    db = sqlite3.connect(later)
    db.execute('CREATE TABLE rocpd_kernel_dispatch_a ("id" INTEGER PRIMARY KEY, start_id, end_id INTEGER)')
    db.commit()
    db.close()
    with pytest.raises(prlx.TraceFormatError, match="no times of its own"):
        prlx.open(later)
