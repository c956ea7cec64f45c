"""Execute the examples of docstrings: ``python run_examples.py FOLDER NAME...``; prints what went wrong, by name, as JSON."""

from __future__ import annotations

import doctest
import inspect
import io
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import prlx

ROOT = Path(__file__).resolve().parents[2]

# What stands for anything, such as a path of this machine, is "..."; line breaks and spaces do not count.
LENIENT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def public() -> Iterator[tuple[str, object]]:
    """Every public function and class of ``prlx`` and every public method, by the name under which examples are asked for."""
    for name in prlx.__all__:
        thing = getattr(prlx, name)
        if not callable(thing):
            continue
        yield name, thing
        if not inspect.isclass(thing) or issubclass(thing, BaseException):
            continue
        for method in dir(thing):
            found = inspect.getattr_static(thing, method)
            if not method.startswith("_") and isinstance(found, (classmethod, staticmethod)):
                yield f"{name}.{method}", found.__func__
            elif not method.startswith("_") and inspect.isfunction(found):
                yield f"{name}.{method}", found


def examples(thing: object, name: str) -> doctest.DocTest:
    """The examples in a docstring; none where there are none."""
    text = inspect.getdoc(thing) if inspect.isclass(thing) else thing.__doc__
    return doctest.DocTestParser().get_doctest(text or "", {"prlx": prlx}, name, None, 0)


def prepare(folder: Path) -> Path:
    """A directory with the examples of the repository, and with two sessions, one of each build."""
    folder.mkdir(parents=True)
    shared = ROOT / "examples"
    (folder / "examples").symlink_to(shared)
    for run, recording in (("good", "a"), ("bad", "b")):
        (folder / run).mkdir()
        shutil.copy(shared / f"two_runs/{recording}.prlx", folder / run / "softmax_0.prlx")
    return folder


def main(folder: str, names: list[str]) -> None:
    """Run the examples of some names, each in a directory of its own."""
    things, said = dict(public()), {}
    for name in names:
        os.chdir(prepare(Path(folder, name)))
        report = io.StringIO()
        doctest.DocTestRunner(optionflags=LENIENT).run(examples(things[name], name), out=report.write)
        said[name] = report.getvalue()
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
