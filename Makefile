# Every target sets up what it needs in .venv; a second call finds it there.
PYTHON ?= python3
BIN := .venv/bin

# The real data sets are optional: tests and benchmarks that use them skip when there are none.
ifneq ($(wildcard ../shared/data),)
export LAMINAR_DATA ?= $(abspath ../shared/data)
endif

.PHONY: help demo test test-all bench structure lint format hooks clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: .venv/.demo  ## draw faces, fit the models, write laminar-report.html, laminar-demo.png and faces.laminar
	$(BIN)/laminar demo --force

# Each of two processes has one of two cores; threads of OpenMP that wait for a core keep it busy.
test test-all: export OPENBLAS_NUM_THREADS ?= 1
test test-all: export OMP_NUM_THREADS ?= 1

test: .venv/.dev  ## fast tests and doctests, on two processes
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" -q -p no:randomly

test-all: .venv/.dev  ## the slow tests too
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

bench: .venv/.bench  ## ratios against other implementations, about 50 minutes on two cores
	$(BIN)/python -m benchmarks

structure: .venv/.dev  ## modules, imports, classes and constants, in numbers
	$(BIN)/python -m benchmarks.structure

lint: .venv/.dev  ## ruff and mypy, as the hooks run them
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.dev  ## let ruff repair and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

hooks: .venv/.dev  ## run the checks before every commit, in this clone
	$(BIN)/pre-commit install

clean:  ## remove .venv and caches
	rm -rf .venv build dist .pytest_cache .ruff_cache .mypy_cache

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Laminar needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv

.venv/.demo: EXTRAS = plots,images
.venv/.dev: EXTRAS = dev
.venv/.bench: EXTRAS = bench
.venv/.demo .venv/.dev .venv/.bench: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$(EXTRAS)]"
	touch $@
