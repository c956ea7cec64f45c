"""What commands print: data on stdout, talk on stderr, the last line names the output and what opens it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from prlx import PartialResultError
from prlx._config import Config
from prlx.cli import _table
from prlx.cli._ui import UI, Stream

from .conftest import SCHEMAS

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name):
    return json.loads((SCHEMAS / f"prlx.{name}.1.json").read_text())


@pytest.mark.parametrize(
    "words",
    [
        ["combine", "a.pb"],
        ["align", "a.pb"],
        ["validate", "a.pb"],
        ["solve", "a.jsonl"],
        ["inspect", "a.pb"],
        ["version"],
        ["config", "show"],
    ],
)
@pytest.mark.usefixtures("core")
def test_json_is_exactly_one_document_that_begins_with_its_schema(prlx, words):
    ran = prlx(*words, "--json")
    document = ran.json()
    assert next(iter(document)) == "schema"
    assert document["schema"].startswith("prlx.")
    name = document["schema"].removeprefix("prlx.").removesuffix("/1")
    assert set(document) - {"base"} == set(example(name))


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("prlx.*.[0-9].json")), ids=lambda path: path.name)
def test_examples_of_documents_parse_and_name_their_schema(path):
    document = json.loads(path.read_text())
    name, number = path.name.removesuffix(".json").rsplit(".", 1)
    assert next(iter(document)) == "schema"
    assert document["schema"] == f"{name}/{number}"


@pytest.mark.usefixtures("core")
def test_combine_shows_every_node_and_names_the_output_last(prlx):
    ran = prlx("combine", "p2", "-o", "run")
    assert ran.code == 5  # the example is degraded
    lines = ran.out.splitlines()
    assert lines[0] == example("combine")["verdict"]
    assert lines[0].startswith(f"2 nodes on the clock of node0: {example('combine')['status']}; ")
    assert lines[2].split() == [
        *(
            [
                "node",
                "host",
                "method",
                "offset",
                "drift",
                "bound",
                "p50",
                "max",
                "corrected",
                "by",
                "events",
                "in",
                "reach",
            ]
        ),
    ]
    rows = {line.split()[0]: line for line in lines[3:5]}
    assert "reference" in rows["node0"]
    assert "ppm" in rows["node1"]
    assert "probes" in rows["node1"]
    assert any("its clock jumped +2.00" in line for line in lines)
    assert any(
        line.split() == ["before", "87", "impossible,", "153", "consistent,", "0", "undecidable"] for line in lines
    )
    last = ran.err.splitlines()[-1]
    assert last.startswith("wrote ")
    assert "open it with: " in last


def test_the_opener_fits_the_output(prlx, core, tmp_path):
    document = example("combine")
    core.replies["combine"] = {**document, "base": str(tmp_path / "logs" / "plugins" / "profile" / "run_aligned")}
    assert prlx("combine", "a").err.splitlines()[-1].endswith("open it with: xprof --logdir logs")
    core.replies["combine"] = {**document, "base": str(tmp_path / "run")}
    assert f"session_path={tmp_path / 'run'}" in prlx("combine", "a").err.splitlines()[-1]
    one = {"path": "all.json.gz", "format": "chrome", "bytes": 9, "sha256": ""}
    core.replies["combine"] = {**document, "outputs": [one], "base": str(tmp_path)}
    last = prlx("combine", "a").err.splitlines()[-1]
    assert last == "wrote all.json.gz; open it with: https://ui.perfetto.dev (Open trace file)"


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("command", ["combine", "align", "validate", "stragglers", "solve"])
def test_quiet_prints_errors_alone_and_json_where_it_is_asked_for(prlx, command):
    loud, quiet = prlx(command, "a.pb"), prlx(command, "a.pb", "-q")
    assert loud.out
    assert (quiet.out, quiet.err, quiet.code) == ("", "", loud.code)
    assert prlx(command, "a.pb", "-q", "--json").json() == prlx(command, "a.pb", "--json").json()
    assert ": error: " in prlx(command, "-q").err


@pytest.mark.parametrize("words", [["doctor"], ["config"], ["inspect", str(EXAMPLES / "two_runs/a.prlx")]])
def test_quiet_leaves_the_exit_code_of_commands_that_only_show(prlx, words):
    loud, quiet = prlx(*words), prlx(*words, "-q")
    assert loud.out
    assert (quiet.out, quiet.err, quiet.code) == ("", "", loud.code)


def test_warnings_of_nodes_name_their_node(prlx, core):
    document = example("combine")
    document["warnings"] = ["one clock is unknown"]
    document["nodes"][1]["warnings"] = ["clamped 3 events"]
    core.replies["combine"] = document
    talk = prlx("combine", "a.pb").err
    assert "warning: one clock is unknown" in talk
    assert "warning: node1: clamped 3 events" in talk


@pytest.mark.usefixtures("core")
def test_verbose_shows_what_the_numbers_rest_on(prlx):
    assert "offset windows" not in prlx("combine", "a.pb").out
    assert "offset windows" in prlx("combine", "a.pb", "-v").out


def test_strict_ends_with_5_when_the_core_says_that_a_part_is_not_aligned(prlx, core):
    assert prlx("combine", "a.pb").code == 5
    assert core.request["strict"] is False
    core.replies["combine"] = PartialResultError("the result is degraded")
    assert prlx("combine", "a.pb", "--strict").code == 5
    assert core.asked[-1][1]["strict"] is True


def test_validate_ends_with_1_on_a_violation_and_lists_the_worst(prlx, core):
    ran = prlx("validate", "run", "--limit", "2")
    assert ran.code == 1
    assert core.asked[0][1]["limit"] == 2
    assert "jit_permute_step/ppermute.3  permute" in ran.out
    head, first = (line.split() for line in ran.out.split("worst\n")[1].splitlines()[:2])
    assert (head[-2:], first[-2:]) == (["left", "entered"], ["node1", "node0"])
    assert "reduce-scatter" not in ran.out
    assert any(
        line.split() == ["reduce-scatter", "60", "18", "42", "0"]
        for line in prlx("validate", "x", "-v").out.splitlines()
    )
    core.replies["validate"] = {**example("validate"), "violated": 0, "worst": [], "status": "passed", "passed": True}
    core.replies["validate"]["conclusion"] = {**example("validate")["conclusion"], "outcome": "passed"}
    assert prlx("validate", "run").code == 0


def test_validate_ends_with_5_when_nothing_could_be_judged(prlx, core):
    nothing = {"groups": 0, "violated": 0, "consistent": 0, "unmatched": 64, "worst": [], "passed": None}
    said = (
        "0 collectives: 0 impossible, 0 consistent, 0 undecidable, 64 unmatched; inconclusive: nothing could be judged"
    )
    core.replies["validate"] = {**example("validate"), **nothing, "status": "inconclusive", "verdict": said}
    core.replies["validate"]["conclusion"] = {**example("validate")["conclusion"], "outcome": "inconclusive"}
    ran = prlx("validate", "run")
    assert ran.code == 5
    assert "inconclusive: nothing could be judged" in ran.out


def test_combining_what_nothing_confirms_says_so(prlx, core):
    document = example("combine")
    core.replies["combine"] = {
        **document,
        "status": "aligned",
        "conclusion": {**document["conclusion"], "outcome": "passed"},
        "collectives": {**document["collectives"], "groups": 0, "passed": None},
    }
    ran = prlx("combine", "a", "b")
    assert ran.code == 0
    assert "collectives  none could be judged" in ran.out


def test_what_is_not_aligned_is_not_called_so(prlx, core):
    said = {"not_aligned": "no clock data", "verdict": "2 nodes: not aligned: no clock data"}
    core.replies["combine"] = {**example("combine"), "status": "unaligned", **said}
    assert prlx("combine", "a", "b").out.splitlines()[0].endswith(": not aligned: no clock data")


@pytest.mark.usefixtures("core")
def test_inspect_says_what_prlx_did_to_a_trace(prlx):
    assert (
        "by prlx 0.1.0 to the clock of node0, host time; error up to 18.09 us; holds node1" in prlx("inspect", "x").out
    )


def test_validate_says_what_was_left_unmatched_and_why(prlx, core):
    lost = [{"key": "jit_f/psum.1", "reason": "no partner on node2", "count": 3}]
    core.replies["validate"] = {
        **example("validate"),
        "unmatched": 3,
        "unmatched_by_key": lost,
        "notes": ["kinds by name"],
    }
    ran = prlx("validate", "run")
    assert "no partner on node2" in ran.out
    assert "kinds by name" in ran.err


@pytest.mark.usefixtures("core")
def test_validate_saves_its_verdicts_and_overwrites_nothing(prlx, core, tmp_path):
    assert prlx("validate", "run", "-o", "verdicts.json").code == 1
    assert json.loads((tmp_path / "verdicts.json").read_text()) == example("validate")
    again = prlx("validate", "run", "-o", "verdicts.json")
    assert again.code == 3
    assert "already exists" in again.err
    assert prlx("validate", "run", "-o", "verdicts.json", "--overwrite").code == 1
    core.replies["report"] = {"schema": "prlx.report/1"}
    assert prlx("validate", "run", "-o", "verdicts.html").code == 1
    op, request = core.asked[-1]
    assert op == "report"
    assert request["document"] == example("validate")
    assert request["outputs"] == [{"format": "html", "path": str(tmp_path / "verdicts.html")}]
    assert not request["overwrite"]
    assert prlx("validate", "run", "-o", "verdicts.docx").code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["verdicts.json"]


def test_solve_prints_offsets_and_how_to_use_the_file(prlx, core, tmp_path):
    ran = prlx("solve", "probes.jsonl", "-o", "offsets.jsonl", "-v")
    assert ran.code == 0
    assert "+338.4 us" in ran.out
    assert "0 - 1" in ran.out
    assert ran.err.splitlines()[-1] == (
        "wrote offsets.jsonl; use it with: prlx combine INPUT... --offsets offsets.jsonl"
    )
    assert core.request["output"] == str(tmp_path / "offsets.jsonl")


def test_inspect_shows_planes_lines_and_clocks(prlx, core):
    document = example("inspect")
    document["files"][0]["kernels"] = [{"name": "fusion.3", "count": 12, "total_ns": 34_000}]
    core.replies["inspect"] = document
    ran = prlx("inspect", "a.pb")
    for word in ("XSpace, 124 kB", "fusion.3", "34.00 us", "/host:CPU", "python", "Chrome JSON", "raw probe stamps"):
        assert word in ran.out
    shown, whole = prlx("inspect", "a.pb", "--limit", "2"), prlx("inspect", "a.pb", "--limit", "2", "-v")
    assert "-v shows all" in shown.out
    assert "-v shows all" not in whole.out
    assert len(whole.out) > len(shown.out)


def test_names_from_files_cannot_steer_the_terminal(prlx, core):
    document = example("inspect")
    document["files"][0]["planes"][1]["name"] = "evil\x1b[2Jname\n"
    document["files"][0]["warnings"] = ["a\x07b"]
    core.replies["inspect"] = document
    ran = prlx("inspect", "a.pb")
    assert "\x1b" not in ran.out
    assert "\x07" not in ran.out


@pytest.mark.usefixtures("core")
def test_tables_fit_the_width_by_cutting_names_and_are_whole_in_a_pipe(prlx, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert "tf_XLAPjRt…  /host:CPU" in prlx("inspect", "a.pb").out.replace("C…", "…")
    monkeypatch.delenv("COLUMNS")
    assert "tf_XLAPjRtCpuClient/-5643921021460361282  /host:CPU" in prlx("inspect", "a.pb").out


def test_an_encoding_without_the_characters_gets_ascii(tmp_path):
    with (tmp_path / "out").open("w", encoding="ascii") as file:
        Stream(file, color=False, width=80, unicode=False).line("µ → ok")
    assert (tmp_path / "out").read_text() == "? ? ok\n"


def test_config_and_version_show_text(prlx):
    assert "combine.naming" in prlx("config", "show").out
    assert prlx("version").out.startswith("prlx 0.")
    assert prlx("--version").out == prlx("version").out


def test_every_command_is_documented(root):
    for name in _table.COMMANDS:
        page = (root / "docs" / "commands" / f"{name}.md").read_text()
        assert page.startswith(f"# prlx {name}\n")
        for option in _table.load(name).options:
            assert option.refused or f"`{option.off or option.flags[0]}" in page, option.flags[0]


HOSTILE = "a\x1b[31mred\x1b]0;title\x07\x1b[2J\x9b1m\r\u202eb\x08"


@pytest.mark.parametrize("color", [False, True])
def test_text_of_files_reaches_no_terminal_as_codes(color):
    written = io.StringIO()
    stream = Stream(written, color, 80, True)
    stream.line(f"{stream.style(HOSTILE, 'red', 'bold')}: {HOSTILE}")
    text = written.getvalue()
    assert text.startswith("\x1b[31;1m" if color else "a")
    for code in ("\x1b]", "\x07", "\x1b[2J", "\x9b", "\r", "\u202e", "\x08"):
        assert code not in text
    assert color or "\x1b" not in text


def test_json_is_never_changed_on_its_way_to_stdout():
    written = io.StringIO()
    stream = Stream(written, False, 80, True)
    UI(stream, stream, Config({}, None)).emit({"name": HOSTILE})
    assert json.loads(written.getvalue()) == {"name": HOSTILE}
