# prlx: `make demo` and `make test` set everything up by themselves; `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The Python that the development environment uses: PYTHON=..., else the newest of 3.10 to 3.13 that is found.
PYTHON ?= $(shell tests/install/find_python.sh)
VENV := build/venv
PY := $(VENV)/bin/python
FUZZTIME ?= 5s
FUZZ_ONE_IN ?= 5
# Triton as users have it, one folder a version, for the simulator's tests: PYTHONPATH=build/triton/3.9.0 makes it importable.
TRITON := 3.5.1 3.6.0 3.9.0
TRITON_CORPUS := $(TRITON) 3.7.1 3.8.0

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

$(VENV)/.ready: pyproject.toml tests/requirements.txt
	@test -n "$(PYTHON)" || { echo "no Python 3.10 to 3.13 found: set PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(PY) -m pip install --quiet --upgrade pip
	$(PY) -m pip install --quiet -r tests/requirements.txt
	$(PY) -m pip install --quiet --no-build-isolation --editable .
	touch $@

.PHONY: build
build: $(VENV)/.ready ## the development environment and the extension, rebuilt where Go changed
	$(PY) setup.py --quiet build_ext --inplace

# The newest Triton that this Python has wheels of.
DEMO_TRITON = $(if $(findstring 3.10.,$(shell $(PYTHON) --version)),3.8.0,3.9.0)

.PHONY: demo
demo: build build/triton/$(DEMO_TRITON)/.ready ## where runs of a kernel differ; a Triton kernel without a GPU; four nodes on one clock
	$(PY) examples/demo_diff.py
	@echo
	$(PY) examples/demo_simulate.py --triton build/triton/$(DEMO_TRITON)
	@echo
	$(PY) examples/demo.py

.PHONY: test
test: lint test-go test-python test-install ## everything that decides whether a change may land

# What make test looks at in samples, in full. It runs before an issue is closed and before a tag; what it ended with stands in the note.
.PHONY: nightly
nightly: lint build/oracle/.ready build/.browser build/sarif/.ready $(TRITON:%=build/triton/%/.ready) ## hours: all cases of every test, every CPython, every fuzz target for 2 minutes, the corpus, the consumers
	PRLX_FULL_SWEEP=1 go test -timeout 180m ./...
	PRLX_FULL_SWEEP=1 tests/halves.sh $(PY)
	tests/install/check_wheels.sh
	$(MAKE) fuzz corpus test-consumers

.PHONY: test-go
test-go: ## Go unit tests, benchmarks once, and one fuzz target in FUZZ_ONE_IN, drawn by the commit, for FUZZTIME
	go test ./...
	go test -run '^$$' -bench . -benchtime 1x ./core/... >/dev/null
	tests/fuzz.sh $(FUZZTIME) $(FUZZ_ONE_IN)

# Original prlx 0.5, a black box that compatibility tests and benchmarks run beside ours.
build/oracle/.ready: $(VENV)/.ready
	$(PY) -m pip install --quiet --no-deps --upgrade --target build/oracle prlx==0.5.1
	chmod +x build/oracle/prlx/data/bin/prlx-diff
	touch $@

# It needs neither a GPU nor torch. A Python for which a version has no wheel goes without it.
build/triton/%/.ready: | $(VENV)/.ready
	@rm -rf build/triton/$*
	$(PY) -m pip install --quiet --no-deps --target build/triton/$* triton==$* || echo "no Triton $* for this Python" >&2
	@mkdir -p build/triton/$*
	touch $@

# CUDA compilers for programs that tests run on the simulator: NVIDIA's from PyPI (130 MB, 490 unpacked), clang from the system's packages (50 MB,
# 260 unpacked, nothing is installed). A machine without the one or the other goes without it.
NVCC := nvidia-cuda-nvcc==13.5.37 nvidia-nvvm==13.5.37 nvidia-cuda-runtime==13.5.37 nvidia-cuda-crt==13.5.37 nvidia-cuda-cccl==13.3.5.0.6 \
	nvidia-cuda-profiler-api==13.4.92
CLANG := clang-22 libclang-common-22-dev libclang-cpp22 libllvm22 llvm-22-linker-tools libclang1-22
build/nvcc/.ready: | $(VENV)/.ready
	@echo "NVIDIA's compiler from PyPI: 130 MB are fetched, 490 MB stay" >&2
	@rm -rf build/nvcc
	$(PY) -m pip install --quiet --no-deps --target build/nvcc $(NVCC) && ln -sf libcudart.so.13 build/nvcc/nvidia/cu13/lib/libcudart.so || echo "no nvcc for this machine: tests of CUDA programs are skipped" >&2
	@mkdir -p build/nvcc
	touch $@

# The same compiler as a library, for CUDA C in a string (58 MB, 142 unpacked).
build/nvrtc/.ready: | $(VENV)/.ready
	@echo "NVIDIA's compiler of strings from PyPI: 58 MB are fetched, 142 MB stay" >&2
	@rm -rf build/nvrtc
	$(PY) -m pip install --quiet --no-deps --target build/nvrtc nvidia-cuda-nvrtc==13.5.37 || echo "no NVRTC for this machine: its tests are skipped" >&2
	@mkdir -p build/nvrtc
	touch $@

build/clang/.ready: build/nvcc/.ready
	@echo "clang from the system's packages: 50 MB are fetched, 260 MB stay" >&2
	@rm -rf build/clang
	@mkdir -p build/clang/debs build/clang/root build/clang/extra
	@(cd build/clang/debs && apt-get download -qq $(CLANG) && for one in *.deb; do dpkg -x $$one ..; done) || echo "no clang 22 for this machine: tests of its programs are skipped" >&2
	@rm -rf build/clang/debs
	@for one in include bin nvvm; do ln -sfn ../../nvcc/nvidia/cu13/$$one build/clang/root/$$one; done
	@touch build/clang/extra/curand_mtgp32_kernel.h # which clang's wrapper includes, and none of these packages has
	touch $@

# torch on the CPU, with stubs where it wants CUDA's libraries (1.3 GB instead of 5.5): for tapes of training steps and the simulator's checks with tensors.
# The release before stands in a folder of its own, for the table of docs/pytorch.md.
TORCH := 2.15.0
TORCH_BEFORE := 2.14.1
build/torch/.ready: $(VENV)/.ready tests/simulator/stub_cuda.py
	$(call install_torch,build/torch,$(TORCH))

# Trainers that have callbacks, without torch.
build/trainers/.ready: $(VENV)/.ready
	@rm -rf build/trainers
	$(PY) -m pip install --quiet --target build/trainers huggingface-hub==2.4.0 tokenizers==0.23.3 safetensors==0.8.0 regex pyyaml psutil tqdm packaging lightning-utilities==0.15.3
	$(PY) -m pip install --quiet --no-deps --target build/trainers transformers==5.24.0 accelerate==1.15.0 pytorch-lightning==2.6.6 torchmetrics==1.9.0
	touch build/trainers/.ready

build/torch-%/.ready: $(VENV)/.ready tests/simulator/stub_cuda.py
	$(call install_torch,build/torch-$*,$*)

# A folder, and the version that is installed into it.
define install_torch
	@rm -rf $(1)
	$(PY) -m pip install --quiet --no-deps --target $(1) torch==$(2) typing-extensions sympy mpmath networkx jinja2 markupsafe fsspec filelock expecttest tabulate
	$(PY) tests/simulator/stub_cuda.py $(1)
	printf '#!/bin/sh\nexport PYTHONPATH="%s:$$PYTHONPATH" LD_LIBRARY_PATH="%s"\nexec "%s" "$$@"\n' \
		$(abspath $(1)) $(abspath $(1)/stubs) $(abspath $(PY)) > $(1)/python
	chmod +x $(1)/python
	touch $(1)/.ready
endef

# JAX and the interpreter that runs prlx, for jobs of several processes.
JAX_PYTHON := $(abspath build/consumers/jobs/bin/python)
.PHONY: build/consumers/jobs
build/consumers/jobs: | $(VENV)/.ready
	$(PY) tests/consumers/environments.py jobs

# A browser for the tests of HTML reports, from the system's packages where we may install them; without it they are skipped.
build/.browser:
	@mkdir -p build
	@command -v chromium chromium-browser google-chrome >/dev/null || { [ "$$(id -u)" = 0 ] && \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || echo "no Chromium: tests of HTML reports are skipped" >&2
	@touch $@

# The official schema of SARIF 2.1.0, as a package carries it; without npm the test that needs it is skipped.
build/sarif/.ready:
	@mkdir -p build/sarif
	@! command -v npm >/dev/null || (cd build/sarif && npm pack --silent @microsoft/jest-sarif@1.0.0-beta.0 >/dev/null && \
		tar xzf microsoft-jest-sarif-1.0.0-beta.0.tgz) || echo "no schema of SARIF: its test is skipped" >&2
	@touch $@

.PHONY: test-reports
test-reports: build build/.browser build/sarif/.ready ## HTML in a real browser, SARIF and JUnit against their schemas
	$(PY) -m pytest -q tests/reports

.PHONY: test-python
test-python: build build/oracle/.ready build/.browser build/sarif/.ready build/clang/.ready build/nvrtc/.ready build/torch/.ready $(TRITON:%=build/triton/%/.ready) ## Python, command line and end-to-end tests
	tests/halves.sh $(PY)

.PHONY: test-consumers
test-consumers: build ## what xprof, JAX, Perfetto, HTA and TensorBoard make of our files, and combine on Ray and MPI (installs them; minutes)
	PRLX_CLI="$(abspath $(PY)) -m prlx" tests/consumers/run.sh

.PHONY: test-gpu
test-gpu: build build/triton/$(DEMO_TRITON)/.ready ## the selftest and the corpus on a real GPU; where there is none on the driver of the simulator
	PYTHONPATH=$(abspath build/triton/$(DEMO_TRITON)) TRITON_DEFAULT_FP_FUSION=1 tests/gpu/run.sh $(abspath $(PY))

.PHONY: test-install
test-install: ## wheel and sdist on the newest CPython of 3.10 to 3.13 found, from a clean clone
	tests/install/check_wheels.sh --quick

.PHONY: corpus
corpus: build $(TRITON_CORPUS:%=build/triton/%/.ready) build/torch/.ready build/torch-$(TORCH_BEFORE)/.ready build/consumers/jobs build/clang/.ready build/nvrtc/.ready ## every recording in PRLX_TEST_DATA as prlx sees it; every Triton kernel on five Tritons, LLVM IR of five Tritons for nine GPUs rewritten and assembled, torch.compile, Triton's own tests where PRLX_TRITON_TESTS has them, kernels of packages where PRLX_PACKAGES says where to keep them, both over the CUDA driver of the simulator too, numba-cuda's tests where PRLX_NUMBA_CUDA has them, CUDA programs of the folders that PRLX_CUDA_PROGRAMS names, a million random programs; collectives of 200 synthetic jobs; jobs of JAX and PyTorch whose clocks are wrong; ten million NCCL events, a thousand kills
	$(PY) -m prlx inspect $${PRLX_TEST_DATA:-../shared/data}
	test -z "$${PRLX_PACKAGES:-}" || $(PY) tests/simulator/packages/install.py "$$PRLX_PACKAGES"
	PRLX_TRITON_ALL=1 PRLX_TRITON_EDITS=25 PRLX_OUTPUT_SEEDS=5 $(PY) -m pytest -q tests/simulator
	PRLX_TRITON_ALL=1 PRLX_FULL_SWEEP=1 EACH=1250 $(PY) -m pytest -q -s tests/driver
	PRLX_FULL_SWEEP=1 $(PY) -m pytest -q -s tests/cudart
	$(PY) tests/bugs/measure_locate.py --equal 20
	PRLX_TRITON_ALL=1 $(PY) -m pytest -q -s tests/upstream
	PRLX_TRITON_ALL=1 $(PY) -m pytest -q -s tests/llir
	PRLX_TRITON_ALL=1 $(PY) -m pytest -q tests/driver/test_support.py
	go test -run Generated -bench Corpus -benchtime 1x ./core/recording/llir
	PRLX_STRUCTURED_PROGRAMS=1000000 go test -timeout 180m -run 'Structured|WaitForEachOther' ./core/simulator/simt
	PRLX_STRUCTURED_PROGRAMS=200000:4294967296 go test -timeout 180m -run StructuredProgramsAgree ./core/simulator/simt
	PRLX_WAITING_PROGRAMS=100000 go test -timeout 180m -run ProgramsThatPoll ./core/simulator/simt
	PRLX_CLOCKS_ALL=1 PRLX_JAX_PYTHON=$(JAX_PYTHON) PRLX_TORCH_PYTHON=$(abspath build/torch/python) $(PY) -m pytest -q -s tests/clocks
	PRLX_CLOCKS_ALL=1 go test -run OutsideOf -v ./core/clocks/offsets
	PRLX_PROBE_RUNS=all go test -timeout 60m -run TheTruthIsInside -v ./core/clocks/probe
	PRLX_PROBE_RUNS=all $(PY) -m pytest -q tests/cli/test_probe_faults.py
	PRLX_COLLECTIVE_SEEDS=200 go test -timeout 180m -v -run "Synthetic|Garbage|NeverMeet|Inversion|AStep" ./core/clocks/precedence
	PRLX_DAMAGES=1000 $(PY) -m pytest -q -s tests/damage
	PRLX_FULL_SWEEP=1 $(PY) -m pytest -q tests/training/test_ranks.py
	PRLX_STRAGGLER_JOBS=100 go test -timeout 60m -v ./core/straggler
	PRLX_LOST_JOBS=1 go test -timeout 60m -v -run "RareAndCostly|ForNoise" ./core/nccl/diagnosing
	PRLX_NCCL_ALL=1 go test -timeout 120m -v ./tests/nccl ./core/nccl/segment
	PRLX_NCCL_DAMAGES=1000 go test -timeout 60m -run ADamagedFile -v ./core/api

.PHONY: kills
kills: build build/triton/3.9.0/.ready ## a thousand commands killed at random: no half output; goes on where it was stopped
	$(PY) tests/kills/run.py --kills 1000 --journal build/kills.jsonl

.PHONY: bugs
bugs: build build/triton/3.9.0/.ready ## what diff --explain says of bugs that others made, and of refactorings (ten minutes)
	$(PY) tests/bugs/measure.py

.PHONY: wheels
wheels: ## a wheel for every CPython 3.10 to 3.13 found, in dist/
	tests/install/build_wheels.sh

.PHONY: fmt
fmt: build ## format Go and Python
	go tool gofumpt -w core pybind bench tests
	$(PY) -m ruff format python hooks tests examples bench
	$(PY) -m ruff check --fix --quiet python hooks tests examples bench

.PHONY: lint
lint: build ## formatting, vet, staticcheck, ruff, mypy
	@test -z "$$(go tool gofumpt -l core pybind bench tests)" || { go tool gofumpt -l core pybind bench tests; echo "run make fmt" >&2; exit 1; }
	go vet ./...
	go tool staticcheck ./...
	$(PY) -m ruff check python hooks tests examples bench
	$(PY) -m ruff format --check python hooks tests examples bench
	$(PY) -m mypy

.PHONY: bench
bench: build build/oracle/.ready build/triton/$(DEMO_TRITON)/.ready build/consumers/jobs ## speed and memory beside the tools that prlx replaces, in the same minute
	$(PY) bench/run.py
	$(PY) bench/kernels.py
	$(PY) bench/cycles.py
	$(PY) bench/simulate.py
	$(PY) bench/races.py
	$(PY) bench/recording.py
	$(PY) bench/cuda.py
	$(PY) bench/steps.py
	$(PY) bench/contracts.py
	$(PY) bench/startup.py
	$(PY) bench/clocks.py
	$(PY) bench/probing.py
	$(PY) bench/nccl.py
	$(PY) bench/nccl_analysis.py
	PRLX_JAX_PYTHON=$(JAX_PYTHON) $(PY) bench/tracing.py

.PHONY: fuzz
fuzz: ## more cases than the full sweep has: noise, cycles, training, then every fuzz target for 2 minutes
	PRLX_NOISE_CASES=300 go test -timeout 60m -run 'Clean|Bugs' ./core/diff
	PRLX_CYCLE_CUTS=12 PRLX_CYCLE_SERVERS=5000:2 PRLX_CYCLE_REQUESTS=1 go test -timeout 60m -run 'CutsOf|PhasesOfServers|ShareThatSteps' ./core/cycle
	PRLX_TRAINING="$${PRLX_TRAINING:-:}" $(PY) -m pytest -q -s tests/cycles/test_training.py
	tests/fuzz.sh 2m

.PHONY: mutants
mutants: ## small changes of the core, one at a time: which of them no Go test notices (an hour the first time; goes on where it was)
	nice go run ./tests/mutants -o tests/mutants/results.md

.PHONY: schemas
schemas: ## the JSON Schemas of documents, from the structs that make them
	go test ./core/api -run SchemasAreFresh -update-schemas

.PHONY: options
options: ## keyword arguments, flags, settings and their reference, from the structs that take them
	go test ./core/api -run OptionsAreFresh -update-options

.PHONY: docs
docs: build ## check that the documentation is complete and that its commands run
	$(PY) -m pytest -q tests/docs

.PHONY: clean
clean: ## remove what make built
	rm -rf build dist python/prlx/_prlx*.so python/prlx/libprlx_snapshot.so python/prlx/lib*-profiler-prlx.so python/prlx/include python/prlx/cuda python/*.egg-info
