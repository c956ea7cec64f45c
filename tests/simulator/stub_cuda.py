"""Stubs for the CUDA libraries that torch's wheel links to, so that torch imports where only the CPU is wanted.

    python tests/simulator/stub_cuda.py build/torch

Every function returns 100, which CUDA calls "no device". For tests only: it saves 3 GB of libraries. Needs gcc, nm and readelf.
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

NVIDIA = re.compile(r"lib(cu|nv|nccl)")


def printed(*words):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True).stdout


def owners(library):
    """Which library each version of symbols comes from."""
    found = {}
    for file, names in re.findall(r"File: (\S+)\s+Cnt: \d+\n((?:.*Name: .*\n)*)", printed("readelf", "-V", library)):
        found |= dict.fromkeys(re.findall(r"Name: (\S+)", names), file)
    return found


def survey(folder):
    """The libraries that are missing, and of each the symbols by version; symbols without a version go to the first."""
    libraries = sorted(folder.glob("*.so*"))
    needed, defined, wanted = set(), set(), []
    for library in libraries:
        needed |= set(re.findall(r"NEEDED.*\[(.+?)\]", printed("readelf", "-d", library)))
        owner = owners(library)
        for kind, symbol in re.findall(r"^[0-9a-f]* +([A-Za-z]) (\S+)", printed("nm", "-D", library), re.MULTILINE):
            name, _, version = symbol.replace("@@", "@").partition("@")
            if kind in "Uw":
                wanted.append((name, version, owner.get(version)))
            else:
                defined.add(name)
    missing = sorted(name for name in needed - {library.name for library in libraries} if NVIDIA.match(name))
    symbols = {name: defaultdict(set) for name in missing}
    for name, version, owner in wanted:
        if name in defined:
            continue
        if owner in symbols:
            symbols[owner][version].add(name)
        elif not version and NVIDIA.match(f"lib{name}"):
            symbols[missing[0]][""].add(name)
    return symbols


def build(name, versions, out):
    """Compile one stub."""
    source, script = out / "stub.c", out / "stub.map"
    names = sorted(set().union(*versions.values()))
    source.write_text("".join(f"int {n}(void) {{ return 100; }}\n" for n in names) or "int nothing;\n")
    nodes = {version: sorted(names) for version, names in versions.items() if version}
    script.write_text(
        "".join(f"{version} {{ global: {'; '.join(names)}; }};\n" for version, names in sorted(nodes.items()))
    )
    flags = [f"-Wl,--version-script={script}"] if nodes else []
    words = ["gcc", "-shared", "-fPIC", "-w", "-fno-builtin", f"-Wl,-soname,{name}", "-o", out / name, source, *flags]
    subprocess.run(list(map(str, words)), check=True)
    source.unlink()
    script.unlink()


def main():
    root = Path(sys.argv[1])
    out = root / "stubs"
    out.mkdir(exist_ok=True)
    for name, versions in survey(root / "torch/lib").items():
        build(name, versions, out)


if __name__ == "__main__":
    main()
