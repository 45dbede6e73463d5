# Every target sets up what it needs in .venv; a second call finds it there.
PYTHON ?= python3
BIN := .venv/bin

# The real data sets are optional: tests and benchmarks that use them skip when there are none.
ifneq ($(wildcard ../shared/data),)
export LAMINAR_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test test-all bench lint format clean

demo: .venv/.demo
	$(BIN)/laminar demo

test: .venv/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" -q -p no:randomly

test-all: .venv/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

bench: .venv/.bench
	$(BIN)/python -m benchmarks

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Laminar needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv

.venv/.demo: EXTRAS = plots,report
.venv/.dev: EXTRAS = dev
.venv/.bench: EXTRAS = bench
.venv/.demo .venv/.dev .venv/.bench: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$(EXTRAS)]"
	touch $@
