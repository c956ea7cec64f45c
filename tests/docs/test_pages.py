"""The documentation is complete, and nothing in it points nowhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from prlx.cli._table import COMMANDS

from .reading import ROOT, pages, without_blocks

LINK = re.compile(r"(!?)\[[^\]]*\]\(([^)\s]+)\)")
SCHEMAS = sorted(path for path in (ROOT / "docs/schemas").glob("*.json") if not path.name.endswith(".schema.json"))
# Documents that never leave the boundary between Python and the core, and files whose pages are in docs/formats.
INTERNAL = {"combine_abandon", "combine_inputs", "configure", "timeline", "toml", "rounds", "probes"}
INTERNAL |= {"accepted", "diff_compat", "inputs", "recognise", "session_diff_compat"}


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def anchors(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them of its headings."""
    found = re.findall(r"^#+ (.*)$", without_blocks(page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", names(pages()))
def test_relative_links_lead_somewhere(page):
    at = ROOT / page
    wrong = []
    for _, target in LINK.findall(without_blocks(at.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (at.parent / path).resolve() if path else at
        if not found.exists() or not found.is_relative_to(ROOT) or (anchor and anchor not in anchors(found)):
            wrong.append(target)
    assert not wrong, f"{page}: {wrong}"


@pytest.mark.parametrize("page", names(pages()))
def test_pages_name_no_place_of_this_machine(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert str(ROOT) not in text
    assert not re.search(r"(?<![\w.])/(work|home|root)/", text)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_page_that_the_readme_and_the_index_link(command):
    page = ROOT / "docs/commands" / f"{command}.md"
    assert page.is_file()
    assert f"docs/commands/{command}.md" in (ROOT / "README.md").read_text()
    assert f"({command}.md)" in (ROOT / "docs/commands/README.md").read_text()


def test_every_concept_and_format_is_linked_from_the_index():
    text = (ROOT / "docs/README.md").read_text()
    parts = [page for part in ("concepts", "formats") for page in sorted((ROOT / "docs" / part).glob("*.md"))]
    assert not [page for page in parts if f"({page.parent.name}/{page.name})" not in text]


def test_the_readme_is_short_and_leads_to_the_index():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) < 200
    assert "](docs/README.md)" in text


def test_every_document_has_an_example():
    source = "".join(
        path.read_text(encoding="utf-8")
        for top in ("core", "python")
        for path in sorted((ROOT / top).rglob("*.*"))
        if path.suffix in (".go", ".py") and not path.name.endswith("_test.go")
    )
    said = set(re.findall(r"\"prlx\.([a-z_-]+)/(\d+)\"", source))
    want = {f"prlx.{name}.{number}.json" for name, number in said if name not in INTERNAL}
    assert want == {path.name for path in SCHEMAS}


@pytest.mark.parametrize("schema", names(SCHEMAS))
def test_examples_of_documents_parse_and_say_what_they_are(schema):
    path = ROOT / schema
    document = json.loads(path.read_text())
    _, name, number, _ = path.name.split(".")
    assert next(iter(document)) == "schema"
    assert document["schema"] == f"prlx.{name}/{number}"


# Where the command wrote: of use to who reads stdout, and not part of a document that may be moved.
ON_STDOUT = {".base"}
TWO_RUNS = ["examples/two_runs/a.prlx", "examples/two_runs/b.prlx"]
PRINTED = {
    "combine": ["combine", "examples/jax_p4", "-o", "{out}/run"],
    "validate": ["validate", "examples/jax_p4"],
    "stragglers": ["stragglers", "examples/torch_ranks"],
    "solve": ["solve", *(f"examples/jax_p4/probes_node{k}.jsonl" for k in range(4)), "-o", "{out}/offsets.jsonl"],
    "inspect": ["inspect", "examples/jax_p4/node0/node0.xplane.pb"],
    "diff": ["diff", *TWO_RUNS, "--baseline", "examples/two_runs/a2.prlx", "--explain", "--values"],
    "steps-diff": ["diff", "examples/training/good.tape", "examples/training/bad.tape"],
    "convert": ["convert", TWO_RUNS[0], "-o", "{out}/v1.prlx", "--to", "v1", "--map-output", "{out}/sites.json"],
    "session-inspect": ["session", "inspect", "examples/two_runs"],
    "session-diff": ["session", "diff", "examples/two_runs", "examples/two_runs"],
    "cycles": ["cycles", "examples/serving/before.json.gz"],
    "cycles-compare": ["cycles", "compare", "examples/serving/before.json.gz", "examples/serving/after.json.gz"],
    "nccl": ["nccl", "report", "examples/nccl_hang"],
    "nccl-compare": ["nccl", "report", "--compare", "examples/nccl_hang", "examples/nccl_hang"],
    "nccl-diagnose": ["nccl", "diagnose", "examples/nccl_hang"],
    "nccl-merge": ["nccl", "merge", "examples/nccl_hang", "-o", "{out}/job.json"],
    "version": ["version"],
    "doctor": ["doctor"],
    "config": ["config", "show"],
}


def keys(value: object, path: str = "") -> set[str]:
    """Every key of a document, with where it stands. Lists count by their first entry."""
    if isinstance(value, dict):
        return {f"{path}.{k}" for k in value}.union(*(keys(v, f"{path}.{k}") for k, v in value.items()))
    if isinstance(value, list) and value:
        return keys(value[0], f"{path}[]")
    return set()


@pytest.mark.parametrize("name", PRINTED)
def test_examples_have_every_key_that_is_printed(name, tmp_path):
    arguments = [argument.format(out=tmp_path) for argument in PRINTED[name]]
    done = subprocess.run(
        [sys.executable, "-m", "prlx", *arguments, "--json"], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert done.returncode in (0, 1, 5), done.stderr  # 5: too little is recorded for a verdict
    printed = json.loads(done.stdout)
    example = json.loads((ROOT / "docs/schemas" / f"prlx.{name}.1.json").read_text())
    missing = keys(printed) - keys(example) - ON_STDOUT
    assert {key for key in missing if "breakdown." not in key} == set()  # counts by kind: which kinds occur differs


def test_every_extra_installs_what_the_package_uses():
    tomllib = pytest.importorskip("tomllib")

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    source = "".join(path.read_text() for path in (ROOT / "python/prlx").rglob("*.py"))
    for name, needed in extras.items():
        if name in ("test", "all"):
            continue
        for requirement in needed:
            module = re.match(r"[\w-]+", requirement)[0].lower()
            assert re.search(rf"(import |from |\"){module}\b", source), f"[{name}] {requirement}"
    assert extras["all"] == [f"prlx-go[{','.join(name for name in extras if name not in ('test', 'all'))}]"]
