"""What two builds are compared by: command lines over the examples and the recordings, each in a folder of its own.

``{data}`` is the folder of recordings (``PRLX_TEST_DATA``), ``{examples}`` the examples of the repository; the working
directory is empty before each case. What a case prints, how it ends and every file it leaves is compared.
"""

from __future__ import annotations

from pathlib import Path

CYCLES = "--json --html c.html --csv c.csv --markdown c.md --overlay c.trace.json"
CLOCKS = "--probes {job}/probes_node*.jsonl"


def all_cases(data: Path) -> dict[str, list[str]]:
    """Every case by name: its command lines, ``prlx`` standing for the build."""
    return {**traces(data), **jobs(), **kernels(), **serving()}


def traces(data: Path) -> dict[str, list[str]]:
    """Each public trace by itself: what is in it, its cycles, its collectives, and the file written once more."""
    found: dict[str, list[str]] = {}
    for path in sorted(
        [*data.glob("kineto/*.json*"), *data.glob("xplane/*"), *data.glob("nccl/*"), *data.glob("other/*")]
    ):
        name = f"{{data}}/{path.parent.name}/'{path.name}'"
        found[f"trace/{path.name}"] = [
            f"prlx inspect {name}",
            f"prlx inspect {name} --json",
            f"prlx cycles {name} {CYCLES}",
            f"prlx cycles {name} -q",
            f"prlx cycles {name} --ignore-annotations --json",
            f"prlx validate {name} --json",
            f"prlx combine {name} -o out --no-align --json --report r.html",
        ]
    return found


def jobs() -> dict[str, list[str]]:
    """Jobs of several nodes with clock files: every way to solve, align, combine and judge."""
    found: dict[str, list[str]] = {}
    for job in ("p2", "p4", "p2_step"):
        folder = f"{{data}}/jax_skew/{job}"
        clocks = CLOCKS.format(job=folder)
        for kind, inputs in (("xspace", f"{folder}/node*.xplane.pb"), ("chrome", f"{folder}/node*.trace.json.gz")):
            found[f"job/{job}/{kind}"] = [
                f"prlx solve {folder}/probes_node*.jsonl -o offsets.jsonl --json",
                f"prlx combine {inputs} {clocks} -o run --json --report r.html --correction-stat",
                f"prlx combine {inputs} {clocks} -o run1 --workers 1",
                f"prlx combine {inputs} --offsets offsets.jsonl -o merged.json --format chrome --json",
                f"prlx combine {inputs} {clocks} -o part.json --time-range 0.2s:0.5s --format chrome --json",
                f"prlx combine {inputs} {clocks} -o tracer --timebase tracer --reference node1 --json",
                f"prlx combine {inputs} -o raw --json",
                f"prlx validate {inputs} {clocks} --json -o v.html",
                "prlx validate run --json",
                "prlx validate merged.json --json",
                "prlx inspect run merged.json offsets.jsonl --json",
                f"prlx inspect {folder}/probes_node0.jsonl {folder}/probes_node1.jsonl",
                "prlx cycles merged.json --json",
                "prlx combine run -o again --json",
            ]
        found[f"job/{job}/align"] = [
            f"prlx solve {folder}/probes_node*.jsonl -o offsets.jsonl",
            f"prlx align {folder}/node0.xplane.pb --offsets offsets.jsonl --node node0 -o a.xplane.pb --json",
            f"prlx align {folder}/node1.trace.json.gz {clocks} --node node1 -o a.trace.json --json --correction-stat",
        ]
        pair = f"{folder}/node0.xplane.pb {folder}/node1.trace.json.gz"
        found[f"job/{job}/mixed"] = [
            f"prlx combine {pair} {clocks} -o mixed.json --json",
            f"prlx combine {folder}/node*.xplane.pb {clocks} -o one.xplane.pb --format xplane --json",
            "prlx inspect one.xplane.pb mixed.json --json",
            "prlx validate one.xplane.pb --json",
        ]
        found[f"job/{job}/asked"] = asked(folder, clocks)
    ranks = "{data}/kineto/*sampled_rank-0.json.gz {data}/kineto/*sampled_rank-1.json.gz"
    found["job/kineto"] = [
        f"prlx combine {ranks} -o ranks.json --bound-stat --json --html r.html",
        f"prlx combine {ranks} -o wall.json --method wall --json",
        f"prlx combine {ranks} -o devices.json --device-clocks correct --repair --json",
        "prlx combine ranks.json -o again.json --json",
        f"prlx validate {ranks} --json",
        f"prlx stragglers {ranks} --json",
        "prlx combine {data}/kineto/*merged_all_events.json.gz ranks.json -o all.json --json",
        "prlx stragglers {data}/kineto/*timeline-SE.json.gz --json",
    ]
    return found


def asked(folder: str, clocks: str) -> list[str]:
    """What else can be asked of combine: every naming, policy and source of clocks, repairs, explanations, who was late."""
    xspaces, texts = f"{folder}/node*.xplane.pb", f"{folder}/node*.trace.json.gz"
    said = "'reference = \"node0\"\n[nodes.node1]\noffset_ns = 1000000\nbound_ns = 500\n'"
    schemes = [
        f"prlx combine {xspaces} {clocks} -o {n}.xplane.pb --naming {n} --json" for n in ("document", "tagged", "rocm")
    ]
    return [
        *schemes,
        f"prlx combine {xspaces} {clocks} -o bound --bound-stat --explain node1 --repair --json --html b.html",
        f"prlx combine {texts} {clocks} -o bound.json --bound-stat --explain node1 --repair --json",
        f"prlx combine {xspaces} -o collectives --method collectives --repair --explain node1 --json",
        f"prlx combine {texts} -o collectives.json --method collectives --bound-stat --json",
        f"prlx combine {texts} {clocks} -o devices.json --device-clocks correct --json",
        f"prlx combine {xspaces} -o wall --method wall --json --policy hold",
        f"prlx combine {xspaces} {clocks} -o held --policy hold --json",
        f"prlx combine {xspaces} {clocks} -o refused --policy refuse --json",
        f"printf {said} > said.toml",
        f"prlx combine {xspaces} --declared said.toml -o declared --json",
        f"prlx combine {xspaces} {clocks} --declared said.toml -o beside --json",
        f"prlx combine {texts} --declared said.toml -o part --format chrome --time-range 10s:11s",
        f"cp {folder}/node0.xplane.pb . && head -c 20000 {folder}/node1.xplane.pb > node1.xplane.pb",
        f"prlx combine node0.xplane.pb node1.xplane.pb {clocks} -o lost --skip-unreadable --json",
        f"prlx combine node0.xplane.pb node1.xplane.pb {clocks} -o saved --salvage --json --strict",
        f"prlx combine {xspaces} {clocks} -o merged.json --format chrome -q",
        "prlx combine merged.json -o again.json --json",
        "prlx combine bound bound.json -o more.json --json",
        f"prlx validate {texts} --json --limit 3",
        f"prlx stragglers {xspaces} {clocks} --json -q",
        f"prlx stragglers {texts} --json",
        "prlx stragglers bound --json",
        f"prlx combine {folder}/node1.xplane.pb {clocks} -o alone.xplane.pb --reference node0 --json",
        f"prlx combine {folder}/node1.trace.json.gz -o same.json --device-clocks check --json",
    ]


def kernels() -> dict[str, list[str]]:
    """Recordings of kernels: every comparison and every report."""
    pair = "{examples}/two_runs/a.prlx {examples}/two_runs/b.prlx"
    reports = "--html d.html --csv d.csv --junit d.xml --sarif d.sarif --github d.txt --markdown d.md --perfetto d.json"
    baseline = "--baseline {examples}/two_runs/a2.prlx {examples}/two_runs/a3.prlx"
    return {
        "kernel/two_runs": [
            f"prlx diff {pair}",
            f"prlx diff {pair} --json --explain --classify --values {reports}",
            f"prlx diff {pair} {baseline} --explain --history",
            f"prlx diff {pair} {baseline} --json",
            f"prlx assert {pair} --max-allowed-divergences 3",
            f"prlx flamegraph {pair} -o f.json",
            "prlx inspect {examples}/two_runs/a.prlx --json",
            "prlx inspect {examples}/two_runs/b.prlx",
            "prlx convert {examples}/two_runs/a.prlx -o v1.prlx --to v1",
            "prlx diff v1.prlx {examples}/two_runs/b.prlx --json",
        ],
        "kernel/simulate": [
            "prlx simulate --record right.prlx {examples}/laptop/softmax.py",
            "prlx simulate --record wrong.prlx --outputs 1MiB {examples}/laptop/softmax.py --slip -1",
            "prlx diff right.prlx wrong.prlx --json",
            "prlx diff right.prlx wrong.prlx --explain",
            "prlx simulate {examples}/laptop/softmax.py --slip 1",
            "prlx inspect right.prlx --json",
        ],
    }


def serving() -> dict[str, list[str]]:
    """Two runs of a server, compared around their cycles."""
    pair = "{examples}/serving/before.json.gz {examples}/serving/after.json.gz"
    return {
        "cycles/serving": [
            f"prlx cycles compare {pair} {CYCLES.replace(' --overlay c.trace.json', '')}",
            f"prlx cycles compare {pair}",
            "prlx cycles {examples}/serving/before.json.gz",
        ],
    }
