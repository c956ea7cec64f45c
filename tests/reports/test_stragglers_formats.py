"""The reports of stragglers for other programs, read by parsers that nobody here wrote: Markdown, JUnit, CSV, JSON tracks."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ElementTree

import pytest
from needs import REPOSITORY
from test_formats import check_junit

markdown_it = pytest.importorskip("markdown_it")

GOLDEN = REPOSITORY / "core" / "report" / "stragglerreport" / "testdata"
NAMES = ("late", "hostile", "unknown")


def parsed(name: str) -> list:
    parser = markdown_it.MarkdownIt("commonmark", {"html": True}).enable("table")
    return parser.parse((GOLDEN / f"{name}.md").read_text())


@pytest.mark.parametrize("name", NAMES)
def test_markdown_is_one_heading_with_tables_and_lists_and_nothing_that_names_made(name: str) -> None:
    tokens = parsed(name)
    inner = [child for token in tokens for child in token.children or ()]
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h3"]
    assert {token.type for token in tokens} <= {
        *("heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline"),
        *("table_open", "table_close", "thead_open", "thead_close", "tbody_open", "tbody_close", "tr_open", "tr_close"),
        *("th_open", "th_close", "td_open", "td_close"),
        *("bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close"),
    }, "HTML, code or a quotation"
    assert {child.type for child in inner} <= {"text", "text_special", "strong_open", "strong_close", "softbreak"}


def test_markdown_tables_say_what_the_document_says() -> None:
    document = json.loads((GOLDEN / "late.json").read_text())
    rows, cells = [], []
    for token in parsed("late"):
        if token.type == "tr_open":
            cells = []
        elif token.type == "inline":
            cells.append("".join(child.content for child in token.children))
        elif token.type == "tr_close":
            rows.append(cells)
    ranks = [row for row in rows if row and row[0] in {rank["id"] for rank in document["ranks"]}]
    assert [row[0] for row in ranks] == [rank["id"] for rank in document["ranks"]]
    assert [row[2] for row in ranks] == ["yes" if rank["blamed"] else "" for rank in document["ranks"]]
    shares = [float(row[4].removesuffix("\u00a0%")) for row in ranks]
    assert shares == [round(100 * rank["share"], 2) for rank in document["ranks"]]


@pytest.mark.parametrize("name", NAMES)
def test_junit_is_what_every_reader_expects(name: str) -> None:
    root = ElementTree.parse(GOLDEN / f"{name}.xml").getroot()
    check_junit(root)
    (suite,) = root
    cases = suite.findall("testcase")
    counted = {tag: sum(case.find(tag) is not None for case in cases) for tag in ("failure", "error")}
    got = {key: int(suite.get(key, "-1")) for key in ("tests", "failures", "errors")}
    assert got == {"tests": len(cases), "failures": counted["failure"], "errors": counted["error"]}
    assert len({(case.get("classname"), case.get("name")) for case in cases}) == len(cases)


@pytest.mark.parametrize("name", NAMES)
def test_the_csv_has_a_row_a_rank_however_they_are_called(name: str) -> None:
    document = json.loads((GOLDEN / f"{name}.json").read_text())
    with (GOLDEN / f"{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["cost_ns"]) for row in rows] == [rank["cost_ns"] for rank in document["ranks"]]
    assert None not in {key for row in rows for key in row}


@pytest.mark.parametrize("name", NAMES)
def test_tracks_keep_the_rules_of_the_format(name: str) -> None:
    trace = json.loads((GOLDEN / f"{name}.trace.json").read_text())
    assert {event["ph"] for event in trace["traceEvents"]} == {"M", "X", "C", "i"}
    named = {event["pid"] for event in trace["traceEvents"] if event["name"] == "process_name"}
    for event in trace["traceEvents"]:
        assert event["pid"] in named
        assert event["ph"] != "X" or event["dur"] >= 0
        assert event["ph"] == "M" or isinstance(event["ts"], (int, float))
        assert event["ph"] != "C" or all(isinstance(value, int) for value in event["args"].values())
