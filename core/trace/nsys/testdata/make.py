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
    registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
    blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,
    staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (
    start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
    bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE NVTX_EVENTS (
    start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,
    globalTid INTEGER, textId INTEGER, domainId INTEGER);
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
        [
            (1, "gemm<float>"),
            (2, "gemm"),
            (3, "cudaGraphLaunch_v10000"),
            (4, "worker"),
            (5, "cudaMemcpy_v3020"),
            (6, "cudaDeviceSynchronize_v3020"),
            (7, "cudaGetDevice_v3020"),
        ],
    )
    db.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1779630014975716426)")
    db.execute("INSERT INTO TARGET_INFO_GPU VALUES (1, 'A GPU')")
    environment = ['SLURM_PROCID="9"', 'RANK="3"', 'RANKS="5"', 'OMPI_COMM_WORLD_RANK="4"']
    db.executemany(
        "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', ?)", [(e,) for e in environment]
    )
    db.execute("INSERT INTO PROCESSES VALUES (?, 500, 'train.py')", (PID,))
    db.execute("INSERT INTO ThreadNames VALUES (4, 20, ?)", (PID | 501,))
    shape = (32, 4, 2, 1, 128, 2, 3, 100, 24)
    kernels = [
        (1000, 1500, 1, 1, 7, 11, PID, 1, 2, *shape),
        (-700, 10, 1, 2, 7, 12, PID, 0, 2, *shape),
        (900, 800, 1, 1, 7, 13, PID, 1, 2, *shape),
        (600, 700, 1, 1, 7, 0, PID, 1, 2, *shape),
    ]
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + ",".join("?" * 18) + ")", kernels)
    copies = [
        (3100, 3200, 1, 1, 7, 15, PID, 4096, 2, 2, 0),
        (3300, 3400, 1, 1, 7, 16, PID, 64, 2, 2, 1),
        (3500, 3600, 1, 1, 7, 17, PID, 64, 1, 0, 2),
        (3700, 3800, 1, 1, 7, 18, PID, 64, 99, None, -1),
    ]
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (" + ",".join("?" * 11) + ")", copies)
    ranges = [
        (100, 5000, 59, "step 5", PID | 501, None, 0),
        (200, None, 34, None, PID | 501, 4, 3),
    ]
    db.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?, ?)", ranges)
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (2000, 3000, 1, 1, 7, 14, ?, 6)", (PID,))
    calls = [
        (1800, 1900, PID | 501, 14, 3),
        (3000, 3250, PID | 501, 15, 5),
        (4000, 4100, PID | 501, 0, 6),
        (4200, 4300, PID | 501, 0, 7),
    ]
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)", calls)
    db.execute("INSERT INTO OSRT_API VALUES (1, 2, ?)", (PID | 501,))
    db.commit()
    db.close()


if __name__ == "__main__":
    main()
