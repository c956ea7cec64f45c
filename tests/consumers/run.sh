#!/usr/bin/env bash
# Installs the consumers (pinned, each in its own environment under build/consumers) and lets them read what prlx writes.
# PRLX_CLI: the command under test (default: python -m prlx of build/venv). Further arguments go to pytest.
# A consumer that cannot be installed here is skipped, and the last lines say so.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python=build/venv/bin/python
[ -x "$python" ] || python=python3
"$python" tests/consumers/environments.py || echo "some consumers are missing: their tests are skipped" >&2
# PyTorch's jobs are traced where make corpus has installed it.
[ ! -x build/torch/python ] || export PRLX_TORCH_PYTHON="${PRLX_TORCH_PYTHON:-$PWD/build/torch/python}"
PRLX_CONSUMERS=1 exec "$python" -m pytest -q tests/consumers "$@"
