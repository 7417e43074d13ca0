# On a fresh machine with Python 3.11 and make: `make demo`, then `make test`.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo play test test-slow lint bench clean

$(VENV)/.installed: setup.py pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

demo: $(VENV)/.installed
	$(BIN)/python -m klss_spiel.run.demo
	$(BIN)/python -m klss_spiel.run.klss_tables --preset=zs21_table1_small

play: $(VENV)/.installed
	$(BIN)/python -m klss_spiel.run.web --open

test: $(VENV)/.installed
	$(BIN)/python -m pytest -m "not slow" -n 2

test-slow: $(VENV)/.installed
	$(BIN)/python -m pytest -m slow

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.installed
	$(BIN)/python -m klss_spiel.run.benchmark

clean:
	rm -rf $(VENV) build *.egg-info
