"""Makes the databases of this folder, and beside each what Python's sqlite3 reads of it: python make.py."""

import json
import pathlib
import random
import sqlite3

HERE = pathlib.Path(__file__).parent

SCHEMA = """
CREATE TABLE numbers ( -- every size of integer, a comment with ) and ,
    "id" INTEGER NOT NULL PRIMARY KEY, /* the number of the row, */ value INTEGER, real REAL, DEC DECIMAL(10,5) DEFAULT (1+2)
);
CREATE TABLE [key apart] (a TEXT CHECK (a != ','), `b` INTEGER, PRIMARY KEY("b"));
CREATE TABLE texts (key TEXT PRIMARY KEY, body BLOB, CONSTRAINT one CHECK (length(key) > 0));
CREATE TABLE without (key TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
CREATE TABLE empty (a, b);
CREATE VIEW seen AS SELECT value FROM numbers;
CREATE INDEX by_value ON numbers (value);
"""


def fill(db: sqlite3.Connection, rows: int) -> None:
    """Fill the tables."""
    draw = random.Random(7)
    db.executescript(SCHEMA)
    edges = [
        0,
        1,
        -1,
        127,
        128,
        -128,
        32767,
        32768,
        -(1 << 23),
        1 << 23,
        1 << 31,
        -(1 << 31),
        (1 << 47) - 1,
        1 << 47,
        (1 << 63) - 1,
        -(1 << 63),
        None,
    ]
    for i in range(rows):
        db.execute(
            "INSERT INTO numbers VALUES (?, ?, ?, ?)",
            (3 * i - 40, edges[i % len(edges)], draw.choice([0.5, 3.0, None, -1e300]), i),
        )
    for i in range(rows // 4):
        db.execute("INSERT INTO [key apart] VALUES (?, ?)", (f"row {i}", 10_000 - i))
        db.execute(
            "INSERT INTO texts VALUES (?, ?)",
            (
                f"k{i:05}" * draw.choice([1, 1, 40]),
                bytes(draw.randrange(256) for _ in range(draw.choice([0, 5, 470, 520, 3000]))),
            ),
        )
        db.execute("INSERT INTO without VALUES (?, ?)", (f"w{i}", i))
    db.execute("DELETE FROM numbers WHERE id % 5 = 0")
    db.execute("ALTER TABLE texts ADD COLUMN later INTEGER")
    db.execute("INSERT INTO texts VALUES ('last', x'00', 5)")
    db.commit()


def plain(value: object) -> object:
    """Return a value as JSON holds it."""
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def main() -> None:
    """Write both anew, with what sqlite3 reads of them."""
    for name, page, rows in (("small.db", 512, 120), ("large-pages.db", 8192, 20)):
        path = HERE / name
        path.unlink(missing_ok=True)
        db = sqlite3.connect(path, isolation_level=None)
        db.execute(f"PRAGMA page_size={page}")
        db.execute("BEGIN")
        fill(db, rows)
        tables = {}
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid"):
            at = db.execute(f'SELECT * FROM "{table}"' + ("" if table == "without" else " ORDER BY rowid"))
            tables[table] = {"columns": [c[0] for c in at.description], "rows": [[plain(v) for v in row] for row in at]}
        db.close()
        (HERE / name).with_suffix(".json").write_text(json.dumps(tables, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
