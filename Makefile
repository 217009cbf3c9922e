# The README's two commands are `make demo` and `make test`; CI runs the same ones.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-slow fuzz test-browser bench bench-cluster reproduce clean

demo: .venv/.installed
	$(BIN)/manyview cluster handwritten -k 10 --out demo --force

test: .venv/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2

test-slow: .venv/.installed-test
	$(BIN)/python -m pytest -m slow

# As many damaged files of every format as there is time for: make fuzz CASES=5000
CASES ?= 1000
fuzz: .venv/.installed-test
	$(BIN)/python -m tests.fuzz.run $(CASES)

test-browser: .venv/.installed-test
	command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium)
	$(BIN)/python -m pytest -m browser

reproduce: .venv/.installed-test
	$(BIN)/python -m reproduction all

bench: .venv/.installed-test
	$(BIN)/python -m benchmarks

bench-cluster: .venv/.installed-test
	$(BIN)/python -m benchmarks.cluster

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/.installed: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[plot,report]"
	touch $@

.venv/.installed-test: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis dist build demo
