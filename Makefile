# On a fresh machine with Python 3.11 and make: `make demo`, then `make test`.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin

# What pip has to say about itself and its indexes is of no interest here; errors are shown.
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_WARN_SCRIPT_LOCATION := 1
export PIP_ROOT_USER_ACTION := ignore

.PHONY: demo play test test-slow test-wheel lint peers bench docs clean

$(VENV)/.installed: setup.py pyproject.toml
	@echo "Setting up $(VENV) (some minutes the first time)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --editable ".[dev]"
	@touch $@

demo: $(VENV)/.installed
	@$(BIN)/python -m klss_spiel.run.demo
	@$(BIN)/python -m klss_spiel.run.klss_tables --preset=zs21_table1_small

play: $(VENV)/.installed
	@$(BIN)/python -m klss_spiel.run.web --open

test: $(VENV)/.installed
	@$(BIN)/python -m pytest -m "not slow" -n 2 --dist worksteal

test-slow: $(VENV)/.installed
	@$(BIN)/python -m pytest -m slow

# The wheel in an environment of its own, used from another folder; part of test-slow.
test-wheel: $(VENV)/.installed
	@$(BIN)/python -m pytest -m slow -k wheel tests/test_distribution.py

lint: $(VENV)/.installed
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# Other packages pin another jax; the benchmark runs them from an environment of their own.
PEERS ?= .venv-peers

$(PEERS)/.installed: setup.py
	@$(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install -qq open_spiel LiteEFG chex
	@touch $@

peers: $(PEERS)/.installed

bench: $(VENV)/.installed peers
	@KLSS_SPIEL_PEERS=$(PEERS)/bin/python $(BIN)/python -m klss_spiel.run.benchmark

$(VENV)/.docs: $(VENV)/.installed
	@$(BIN)/python -m pip install -qq --editable ".[docs]"
	@touch $@

# Runs the tutorials, too; what they print is kept in docs/_build until they change.
docs: $(VENV)/.docs
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean:
	rm -rf $(VENV) $(PEERS) build *.egg-info docs/_build
