"""The reports for machines, against what their readers demand: the official schema of SARIF, the structure of JUnit."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from needs import REPOSITORY, missing

NAMES = ("diverged", "identical", "hostile")
ALL = (*NAMES, "session", "session-identical", "session-hostile")


# ---- SARIF ----

# The schema as the npm package @microsoft/jest-sarif carries it; make test-reports unpacks it there.
SCHEMA = REPOSITORY / "build" / "sarif" / "package" / "lib" / "schemas" / "sarif-2.1.0-rtm.5.json"

# The characters of RFC 3986, which the validator leaves to its user.
URI_REFERENCE = r"^(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*$"


@pytest.fixture(scope="module")
def validate() -> Callable[[Any], Any]:
    """Raises where a document is not SARIF 2.1.0."""
    path = Path(os.environ.get("PRLX_SARIF_SCHEMA", SCHEMA))
    if not path.exists():
        missing("the schema of SARIF is not here: make test-reports fetches it")
    try:
        import fastjsonschema
    except ImportError:
        missing("fastjsonschema is not installed: it is in tests/requirements.txt")
    return fastjsonschema.compile(json.loads(path.read_text()), formats={"uri-reference": URI_REFERENCE})


@pytest.mark.parametrize("name", ALL)
def test_sarif_is_what_its_schema_says(validate: Callable[[Any], Any], golden: Path, name: str) -> None:
    validate(json.loads((golden / f"{name}.sarif").read_text()))


def test_the_schema_notices_what_is_wrong(validate: Callable[[Any], Any], golden: Path) -> None:
    import fastjsonschema

    document = json.loads((golden / "diverged.sarif").read_text())
    document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    with pytest.raises(fastjsonschema.JsonSchemaException, match="startLine"):
        validate(document)


def test_sarif_has_what_github_asks_for(golden: Path) -> None:
    """Relative paths, rules that exist, a fingerprint for every result, one for each."""
    (run,) = json.loads((golden / "diverged.sarif").read_text())["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    fingerprints = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]

    assert len(set(fingerprints)) == len(run["results"]) == 6
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        location = result["locations"][0]["physicalLocation"]
        assert location["artifactLocation"] == {"uri": "kernels/softmax.py", "uriBaseId": "%SRCROOT%"}
        assert location["region"]["startLine"] > 0
        assert result["message"]["text"]


# ---- JUnit ----


@dataclass(frozen=True)
class Element:
    """What the schemas of the readers (Jenkins' xunit plug-in, GitLab, Azure) have in common for one element."""

    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    children: tuple[str, ...] = ()  # in this order, each any number of times
    once: frozenset[str] = field(default_factory=frozenset)
    text: bool = False


COUNTS = frozenset({"tests", "failures", "errors", "time"})
JUNIT = {
    "testsuites": Element(frozenset({"name"}), COUNTS, ("testsuite",)),
    "testsuite": Element(
        frozenset({"name"}), COUNTS | {"skipped"}, ("properties", "testcase", "system-out"), frozenset({"properties"})
    ),
    "properties": Element(children=("property",)),
    "property": Element(frozenset({"name", "value"})),
    "testcase": Element(
        frozenset({"name", "classname", "time"}),
        children=("skipped", "error", "failure", "system-out"),
        once=frozenset({"skipped", "error", "failure", "system-out"}),
    ),
    "skipped": Element(optional=frozenset({"message"})),
    "failure": Element(frozenset({"message", "type"}), text=True),
    "error": Element(frozenset({"message", "type"}), text=True),
    "system-out": Element(text=True),
}


def check_junit(element: ElementTree.Element) -> None:
    rule = JUNIT[element.tag]
    attributes, children = set(element.attrib), [child.tag for child in element]
    assert rule.required <= attributes <= rule.required | rule.optional, f"attributes of {element.tag}: {attributes}"
    assert set(children) <= set(rule.children), f"children of {element.tag}: {children}"
    assert children == sorted(children, key=rule.children.index), f"order in {element.tag}: {children}"
    assert all(children.count(tag) <= 1 for tag in rule.once), f"{element.tag} has too many of {children}"
    assert rule.text or not (element.text or "").strip(), f"{element.tag} holds text"
    for name in attributes & COUNTS:
        assert float(element.get(name, "x")) >= 0
    for child in element:
        check_junit(child)


@pytest.mark.parametrize("name", ALL)
def test_junit_is_what_every_reader_expects(golden: Path, name: str) -> None:
    root = ElementTree.parse(golden / f"{name}.xml").getroot()
    check_junit(root)

    for suite in root:
        cases = suite.findall("testcase")
        got = {key: int(suite.get(key, "-1")) for key in ("tests", "failures", "errors", "skipped")}
        outcomes = {"failures": "failure", "errors": "error", "skipped": "skipped"}
        counted = {key: sum(case.find(tag) is not None for case in cases) for key, tag in outcomes.items()}
        assert got == {"tests": len(cases), **counted}
        names = [(case.get("classname"), case.get("name")) for case in cases]
        assert len(set(names)) == len(names), "readers tell cases apart by class and name"
    assert int(root.get("failures", "-1")) == sum(int(suite.get("failures", "0")) for suite in root)


def test_junit_tells_the_first_divergence_with_its_lanes(golden: Path) -> None:
    root = ElementTree.parse(golden / "diverged.xml").getroot()
    verdict, first = root.findall("testsuite/testcase")[:2]

    for case in (verdict, first):
        told = case.findtext("failure") or ""
        assert "24 |     mask = offs <= length" in told
        assert "lanes that differ: 0-2" in told
        assert "     2  not       2               2                taken     2               16" in told
    assert first.get("name") == "softmax.py:24:12 in masked_softmax"


# ---- annotations and Chrome ----


@pytest.mark.parametrize("name", ALL)
def test_an_annotation_is_one_line_that_starts_one_command(golden: Path, name: str) -> None:
    for line in (golden / f"{name}.github.txt").read_text().splitlines():
        command, message = line[2:].split("::", 1)
        level, properties = command.split(" ", 1)
        assert line.startswith("::")
        assert level in ("error", "warning", "notice")
        assert {entry.split("=")[0] for entry in properties.split(",")} <= {"file", "line", "col", "title"}
        assert message


@pytest.mark.parametrize("name", NAMES)
def test_chrome_slices_of_a_warp_do_not_overlap(golden: Path, name: str) -> None:
    events = json.loads((golden / f"{name}.trace.json").read_text())["traceEvents"]
    assert {event["ph"] for event in events} <= {"M", "X", "C"}

    ends: dict[tuple[int, int], int] = {}
    for event in (event for event in events if event["ph"] == "X"):
        warp = event["pid"], event["tid"]
        assert event["ts"] >= ends.get(warp, 0)
        assert event["pid"] * 4 + event["tid"] == event["args"]["warp_idx"]
        ends[warp] = event["ts"] + event["dur"]
