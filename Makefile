# Two commands: `make quickstart` (set up and a first ranked table) and `make test` (what CI checks).

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := podium benchmarks methods baselines leaderboard tests setup.py

.PHONY: quickstart test install install-dev clean

quickstart: install
	$(BIN)/podium run --suite quick
	@echo
	@echo "next: . $(VENV)/bin/activate && podium list"

test: install-dev
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -m "not gpu"

install: $(VENV)/.installed

install-dev: $(VENV)/.installed-dev

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Podium needs Python 3.11 or newer: make PYTHON=python3.11 quickstart")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml setup.py constraints.txt
	$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
