#!/usr/bin/env bash
# Installs prlx as users do, from a clean clone of the last commit, and checks what was promised: for every CPython 3.10 to 3.13
# found a wheel built in isolation as for a release, installed into a fresh environment; an sdist that builds without a network; the
# same bytes from another folder; an editable install that rebuilds. With --quick: the newest CPython only.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH PRLX_DEBUG_OPS
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 1735689600)
export SOURCE_DATE_EPOCH

mapfile -t pythons < <("$root/tests/install/find_python.sh" --all)
[ ${#pythons[@]} -gt 0 ] || { echo "no CPython 3.10 to 3.13 found" >&2; exit 1; }
[ "${1:-}" != --quick ] || pythons=("${pythons[0]}")
clone="$work/clone"
if git -C "$root" rev-parse --verify --quiet HEAD >/dev/null 2>&1; then
  [ -z "$(git -C "$root" status --porcelain)" ] || echo "note: what is checked is the last commit, without the uncommitted changes" >&2
  git clone --quiet --no-hardlinks "$root" "$clone"
else # an exported tree: what is there, without what builds leave
  mkdir "$clone"
  tar -C "$root" --exclude=./build --exclude=./dist --exclude=./.git --exclude='*.so' --exclude='*.egg-info' -cf - . | tar -C "$clone" -xf -
fi
check="$clone/tests/install/check_wheel.py"

fresh() { # fresh PYTHON NAME: an environment of its own; prints its python
  "$1" -m venv "$work/$2"
  echo "$work/$2/bin/python"
}

for python in "${pythons[@]}"; do
  tag=$("$python" -c 'import sys; print(sys.implementation.cache_tag)')
  begin=$SECONDS
  py=$(fresh "$python" "install-$tag")
  "$clone/tests/install/build_wheels.sh" "$work/wheels" "$python" >"$work/log" || { cat "$work/log" >&2; exit 1; }
  "$py" "$check" wheel "$work"/wheels/prlx_go-*-"${tag/cpython-/cp}"-*.whl
  "$py" -m pip install "$work"/wheels/prlx_go-*-"${tag/cpython-/cp}"-*.whl
  (cd "$work" && "$py" -X faulthandler "$check" installed)
  echo "$tag: built, installed and checked in $((SECONDS - begin)) s"
done

python=${pythons[0]}
tag=$("$python" -c 'import sys; print(sys.implementation.cache_tag)')
py=$(fresh "$python" tools)

"$py" -m pip install build 'setuptools>=77' pybindgen==0.22.1
"$py" -m build --sdist --outdir "$work/sdist" "$clone" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
# Without Go's module proxy and without what it has cached, and where the system lets us, without any network.
offline=(env GOPROXY=off GOMODCACHE="$work/no-modules")
unshare --net true 2>/dev/null && offline=(unshare --net "${offline[@]}")
"${offline[@]}" "$py" -m pip wheel --no-deps --no-build-isolation --wheel-dir "$work/from-sdist" "$work"/sdist/prlx_go-*.tar.gz
"$py" "$check" wheel "$work"/from-sdist/*.whl
echo "sdist: $(stat -c %s "$work"/sdist/*.tar.gz) bytes, builds a wheel without a network"

again="$work/another folder/clone"
mkdir -p "${again%/*}"
cp -r "$clone" "$again" && rm -rf "$again/build" "$again"/python/*.egg-info # another folder, nothing built
"$again/tests/install/build_wheels.sh" "$work/again" "$python" >"$work/log" || { cat "$work/log" >&2; exit 1; }
cmp "$work"/wheels/prlx_go-*-"${tag/cpython-/cp}"-*.whl "$work"/again/*.whl
echo "reproducible: the same bytes from another folder, one with a space in its name"

"$py" -m pip install --no-build-isolation --editable "$clone"
(cd "$work" && "$py" "$check" installed)
sed -i 's,prlx.version/1,prlx.version/edited,' "$clone/core/api/version.go"
(cd "$clone" && "$py" setup.py --quiet build_ext --inplace)
(cd "$work" && "$py" -c 'from prlx import _core; assert _core.call("version")["schema"] == "prlx.version/edited"')
echo "editable: installed, and rebuilt after a change of the core"
