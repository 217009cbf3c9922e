# The README's commands are `make demo` and `make test`; CI runs the same ones.
PYTHON ?= python3
# Where a virtual environment keeps its programs.
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := .venv/$(SCRIPTS)

# Tools that write and check the lock files, and that build a release.
UV := 0.13.7
PIP_AUDIT := 2.10.1
BUILD := 1.6.1
TWINE := 7.0.0

# Packages that bench-peers compares with, each in an environment of its own. mvlearn asks
# for a matplotlib of which there are wheels up to Python 3.9 only.
PEERS := faiss dask-ml polyview mvlearn
PEER-faiss := faiss-cpu==1.15.1 numpy==2.4.6
PEER-dask-ml := dask-ml==2025.1.0 dask==2026.8.0 distributed==2026.8.0 scikit-learn==1.9.1
PEER-polyview := polyview==0.1.0 scikit-learn==1.9.1
PEER-mvlearn := mvlearn==0.5.0 numpy==1.24.4 scikit-learn==1.3.2 matplotlib==3.3.4
PEER-PYTHON-mvlearn := 3.8

# A BLAS thread per worker: with more threads than processors they wait for each other,
# on a busy machine ten times as long as they compute.
pytest = OPENBLAS_NUM_THREADS=1 $(1)/$(SCRIPTS)/python -m pytest
NUMERICAL := tests/numerics tests/solvers tests/embedding tests/cluster \
	tests/distributed tests/model_selection tests/test_common.py tests/test_scaling.py

# Interpreters of a version that work, from PATH or pyenv.
find-python = $(firstword $(foreach python,python$(1) \
	$(wildcard $(HOME)/.pyenv/versions/$(1).*/bin/python),\
	$(if $(shell $(python) -c 'import venv' 2>/dev/null && echo works),$(python))))
version-of-venv = $(shell $(BIN)/python -c \
	'import sys; print("%d.%d" % sys.version_info[:2])')
# What OpenBLAS can pretend to run on; other processors have no such kernels.
CORETYPES := $(if $(shell grep -m 1 -w avx2 /proc/cpuinfo 2>/dev/null),Haswell Nehalem)

.PHONY: demo test test-slow fuzz test-browser test-companions
.PHONY: test-processors test-pythons test-oldest
.PRECIOUS: .venv-%/.installed-test
.PHONY: dist docs test-docs reproduce lock audit clean
.PHONY: bench bench-cluster bench-methods bench-rows bench-peers

demo: .venv/.installed
	$(BIN)/manyview cluster handwritten -k 10 --out demo --force

test: .venv/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(call pytest,.venv) -n 2

# Everything that takes long, and the property tests with all their examples.
test-slow: .venv/.installed-test
	$(call pytest,.venv) -m "slow or hypothesis" --hypothesis-profile full

# Results must not depend on how a processor rounds: imitate others.
test-processors: .venv/.installed-test
	for core in $(CORETYPES); do \
		echo "OPENBLAS_CORETYPE=$$core"; \
		OPENBLAS_CORETYPE=$$core $(call pytest,.venv) -n 2 $(NUMERICAL) || exit 1; \
	done
	NUMBA_CPU_NAME=generic $(call pytest,.venv) -n 2 $(NUMERICAL)

# The numerical tests with every other supported Python that this machine has.
test-pythons: .venv/.installed-test
	$(foreach version,$(filter-out $(version-of-venv),3.11 3.12 3.13),\
		$(if $(call find-python,$(version)),$(MAKE) test-python-$(version) &&)) true

test-python-%: .venv-%/.installed-test
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-$*/numba \
		$(call pytest,.venv-$*) -n 2 $(NUMERICAL)

# The oldest versions that pyproject.toml allows. They use what packages without a bound,
# which are new, call deprecated.
test-oldest: .venv-oldest/.installed-test
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-oldest/numba \
		$(call pytest,.venv-oldest) -n 2 -W ignore::DeprecationWarning

# As many damaged files of every format as there is time for: make fuzz CASES=5000
CASES ?= 1000
fuzz: .venv/.installed-test
	$(BIN)/python -m tests.fuzz.run $(CASES)

test-browser: .venv/.installed-test
	command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium)
	$(BIN)/python -m pytest -m browser

# With scanpy, umap-learn and lifelines, which bring much with them.
test-companions: .venv-companions/.installed-test
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-companions/numba \
		$(call pytest,.venv-companions) -m companions tests

# The site, with every example executed; a warning is an error. Into docs/_build/html.
# Pages of names that are gone would hide that they are.
docs: .venv-docs/.installed-docs
	rm -rf docs/api/generated
	OPENBLAS_NUM_THREADS=1 .venv-docs/$(SCRIPTS)/python -m sphinx -b html -n -W --keep-going -E -q \
		-d docs/_build/doctrees docs docs/_build/html

# The slower code blocks of the pages; `make test` runs the others.
test-docs: .venv/.installed-test
	$(call pytest,.venv) -n 2 -m docs tests/docs

reproduce: .venv/.installed-test
	$(BIN)/python -m reproduction all

bench: .venv/.installed-test
	$(BIN)/python -m benchmarks

bench-cluster: .venv/.installed-test
	$(BIN)/python -m benchmarks.cluster
	$(BIN)/python -m benchmarks.limited

# Up to 5 million rows as memory maps: 7 GB of disk, and some minutes.
bench-rows: .venv/.installed-test
	$(BIN)/python -m benchmarks.rows

# A package that does not install is shown as such.
bench-peers: .venv/.installed-test
	-$(MAKE) --keep-going $(PEERS:%=.venv-peer-%/.installed)
	$(BIN)/python -m benchmarks.peers

# Every method on 50,000 samples: seconds, memory and score.
bench-methods: .venv/.installed-test
	$(BIN)/python -m benchmarks.methods

$(BIN)/python:
	$(PYTHON) -m venv .venv

# Exactly what the lock file names, then the project itself without a further download.
install-locked = $(1)/$(SCRIPTS)/python -m pip install --quiet --require-hashes \
	--requirement requirements/$(2).txt && \
	$(1)/$(SCRIPTS)/python -m pip install --quiet --no-deps --no-build-isolation --editable .

.venv/.installed: $(BIN)/python pyproject.toml requirements/demo.txt
	$(call install-locked,.venv,demo)
	touch $@

.venv/.installed-test: $(BIN)/python pyproject.toml requirements/test.txt
	$(call install-locked,.venv,test)
	touch $@

.venv-docs/.installed-docs: pyproject.toml requirements/docs.txt
	$(PYTHON) -m venv .venv-docs
	$(call install-locked,.venv-docs,docs)
	touch $@

# Writes the lock files anew, with as few changes as pyproject.toml asks for; newer
# versions of everything: make lock UPGRADE=--upgrade
lock: .venv-tools/.installed
	$(call compile-lock,demo,plot --extra report)
	$(call compile-lock,test,test)
	$(call compile-lock,docs,docs)

compile-lock = .venv-tools/$(SCRIPTS)/uv pip compile --quiet --universal --generate-hashes \
	--python-version 3.11 --custom-compile-command "make lock" $(UPGRADE) \
	--group build --extra $(2) --output-file requirements/$(1).txt pyproject.toml

# Known vulnerabilities of what is locked. It asks a public database: needs a network.
audit: .venv-tools/.installed
	.venv-tools/$(SCRIPTS)/pip-audit --strict --disable-pip --require-hashes \
		--requirement requirements/test.txt

# What is released: an archive of the sources and a wheel, in dist/.
dist: .venv-tools/.installed
	rm -rf dist
	.venv-tools/$(SCRIPTS)/python -m build
	.venv-tools/$(SCRIPTS)/python -m twine check --strict dist/*

.venv-tools/.installed: Makefile
	$(PYTHON) -m venv .venv-tools
	.venv-tools/$(SCRIPTS)/python -m pip install --quiet "uv==$(UV)" "pip-audit==$(PIP_AUDIT)" \
		"build==$(BUILD)" "twine==$(TWINE)"
	touch $@

.venv-oldest/.installed-test: $(BIN)/python pyproject.toml tools/oldest.py
	$(call find-python,3.11) -m venv .venv-oldest
	$(BIN)/python tools/oldest.py >.venv-oldest/constraints.txt
	.venv-oldest/$(SCRIPTS)/python -m pip install --quiet --only-binary :all: \
		--constraint .venv-oldest/constraints.txt --editable ".[test]"
	touch $@

.venv-companions/.installed-test: .venv/bin/python pyproject.toml
	$(BIN)/python -m venv .venv-companions
	.venv-companions/bin/python -m pip install --quiet --editable ".[test,companions]"
	touch $@

.venv-peer-%/.installed: Makefile
	$(or $(call find-python,$(or $(PEER-PYTHON-$*),3.11)),$(PYTHON)) -m venv .venv-peer-$*
	.venv-peer-$*/$(SCRIPTS)/python -m pip install --quiet --only-binary :all: $(PEER-$*)
	touch $@

.venv-%/.installed-test: pyproject.toml
	$(call find-python,$*) -m venv .venv-$*
	.venv-$*/$(SCRIPTS)/python -m pip install --quiet --editable ".[test]"
	touch $@

clean:
	rm -rf .venv .venv-* .mypy_cache .pytest_cache .ruff_cache .hypothesis dist build demo \
		docs/_build docs/api/generated docs/gallery
