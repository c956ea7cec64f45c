"""Every document that prlx prints or writes, and every example, is what its JSON Schema says, no less and no more."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import fastjsonschema
import pytest

from simulator.conftest import TRITON, environment, require

from .reading import ROOT
from .test_pages import PRINTED, SCHEMAS

FOLDER = ROOT / "docs/schemas"
# Words that mean the same in 2020-12, which the files state, and in draft-07, which the validator reads.
WORDS = {
    "$schema", "$id", "$ref", "$defs", "title", "description", "type", "const", "properties", "required",
    "additionalProperties", "items", "minItems", "maxItems", "anyOf",
}  # fmt: skip
MORE = {
    "solve of one": ["solve", "examples/jax_p4/probes_node0.jsonl", "examples/jax_p4/probes_node1.jsonl"],
    "inspect of everything": ["inspect", "examples"],
    "inspect of a tape": ["inspect", "examples/training/bad.tape"],
    "inspect of a recording": ["inspect", "examples/two_runs/a.prlx"],
    "combine of JSON": ["combine", "examples/jax_p4", "--format", "chrome", "-o", "{out}/all.json"],
    "combine of one node": ["combine", "examples/jax_p4/node0", "-o", "{out}/run"],
    "validate with probes": ["validate", "examples/jax_p4", "--probes", "examples/jax_p4/probes_node0.jsonl",
                             "examples/jax_p4/probes_node1.jsonl", "examples/jax_p4/probes_node2.jsonl",
                             "examples/jax_p4/probes_node3.jsonl"],
    "stragglers of one node": ["stragglers", "examples/torch_ranks/rank0.pt.trace.json.gz"],
    "diff without differences": ["diff", "examples/two_runs/a.prlx", "examples/two_runs/a.prlx"],
    "diff with noise": ["diff", "examples/two_runs/a.prlx", "examples/two_runs/a3.prlx", "--baseline",
                        "examples/two_runs/a2.prlx"],
    "assert": ["assert", "examples/two_runs/a.prlx", "examples/two_runs/b.prlx"],
    "cycles of a trace without kernels": ["cycles", "examples/jax_p4/node0/node0.xplane.pb"],
}  # fmt: skip


def closed(schema: Any) -> Any:
    """The schema that allows nothing that it does not name: documents may grow, and then their schema does."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        found["additionalProperties"] = False
    return found


def check(document: dict[str, Any]) -> None:
    """Validate a document by the schema that it names."""
    name = document["schema"].replace("/", ".")
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text())
    fastjsonschema.compile(closed(schema))(document)


def subschemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A schema and all that stand in it."""
    yield schema
    for key in ("properties", "$defs"):
        for one in schema.get(key, {}).values():
            yield from subschemas(one)
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from subschemas(schema[key])
    for one in schema.get("anyOf", ()):
        yield from subschemas(one)


def test_every_example_has_a_schema():
    schemas = {path.name.removesuffix(".schema.json") for path in FOLDER.glob("*.schema.json")}
    assert schemas == {path.stem for path in SCHEMAS}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.schema.json")), ids=lambda path: path.stem)
def test_schemas_use_words_that_every_validator_reads_alike(path):
    schema = json.loads(path.read_text())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    for one in subschemas(schema):
        assert set(one) <= WORDS
        assert "$ref" not in one or set(one) == {"$ref"}
        for name in one.get("required", ()):
            assert name in one["properties"]
    assert schema["description"]


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_examples_are_what_their_schema_says(path):
    check(json.loads(path.read_text()))


@pytest.mark.parametrize("name", [*PRINTED, *MORE])
def test_printed_documents_are_what_their_schema_says(name, tmp_path):
    arguments = [argument.format(out=tmp_path) for argument in {**PRINTED, **MORE}[name]]
    done = subprocess.run(
        [sys.executable, "-m", "prlx", *arguments, "--json"], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert done.returncode in (0, 1, 5), done.stderr
    check(json.loads(done.stdout))
    for file in tmp_path.rglob("*.json"):
        if "alignment" in file.name:
            check(json.loads(file.read_text()))


def test_the_document_of_a_simulated_script_is_what_its_schema_says(tmp_path):
    require("3.9.0")
    recording = tmp_path / "run"
    done = subprocess.run(
        [sys.executable, "-m", "prlx", "simulate", "--json", "--record", str(recording),
         "examples/laptop/softmax.py", "--slip", "1"],
        cwd=ROOT, env=environment(TRITON / "3.9.0"), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    check(json.loads(done.stdout[done.stdout.index("{") :]))


def test_the_document_of_compared_alignments_is_what_its_schema_says(tmp_path):
    import prlx

    runs = [
        prlx.combine_traces(ROOT / "examples/jax_p4", method=how, output=tmp_path / how).path
        for how in ("probes", "collectives", "wall")
    ]
    for other in runs[1:]:
        compared = prlx.compare_alignments(runs[0], other)
        check(json.loads(compared.to_json()))
        example = json.loads((FOLDER / "prlx.combine-compare.1.json").read_text())
        assert set(compared.document) == set(example)


def test_the_document_of_a_recording_in_python_is_what_its_schema_says():
    import prlx

    check(dict(prlx.read_trace(ROOT / "examples/two_runs/a.prlx").document))


def test_a_document_that_is_not_what_its_schema_says_is_refused():
    document = json.loads((FOLDER / "prlx.solve.1.json").read_text())
    for change in ({"reference": 3}, {"unheard": 1}, {"nodes": None}):
        with pytest.raises(fastjsonschema.JsonSchemaValueException):
            check({**document, **change})
