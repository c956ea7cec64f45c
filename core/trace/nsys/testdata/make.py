"""Makes small.sqlite, which has what our recordings have not: a rank, two contexts, a graph, a damaged time."""

import pathlib
import sqlite3

PID = (1 << 48) | (500 << 24)

SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
    start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
    demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL,
    gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (
    start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, graphId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
    start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER NOT NULL);
CREATE TABLE OSRT_API (
    start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER);
"""


def main() -> None:
    """Write it anew."""
    path = pathlib.Path(__file__).parent / "small.sqlite"
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    db.execute("PRAGMA page_size = 512")
    db.executescript(SCHEMA)
    db.executemany(
        "INSERT INTO StringIds VALUES (?, ?)",
        [(1, "gemm<float>"), (2, "gemm"), (3, "cudaGraphLaunch_v10000"), (4, "worker")],
    )
    db.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1779630014975716426)")
    db.execute("INSERT INTO TARGET_INFO_GPU VALUES (1, 'A GPU')")
    environment = ['SLURM_PROCID="9"', 'RANK="3"', 'RANKS="5"', 'OMPI_COMM_WORLD_RANK="4"']
    db.executemany(
        "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', ?)", [(e,) for e in environment]
    )
    db.execute("INSERT INTO PROCESSES VALUES (?, 500, 'train.py')", (PID,))
    db.execute("INSERT INTO ThreadNames VALUES (4, 20, ?)", (PID | 501,))
    kernels = [
        (1000, 1500, 1, 1, 7, 11, PID, 1, 2, 4, 2, 1),
        (-700, 10, 1, 2, 7, 12, PID, 0, 2, 4, 2, 1),
        (900, 800, 1, 1, 7, 13, PID, 1, 2, 1, 1, 1),
    ]
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + ",".join("?" * 12) + ")", kernels)
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (2000, 3000, 1, 1, 7, 14, ?, 6)", (PID,))
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1800, 1900, ?, 14, 3)", (PID | 501,))
    db.execute("INSERT INTO OSRT_API VALUES (1, 2, ?)", (PID | 501,))
    db.commit()
    db.close()


if __name__ == "__main__":
    main()
