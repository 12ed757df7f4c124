# make stiff   measure the stiff suite in all frameworks of this checkout
# make test    run the tests
# make check   linters and types
# Each makes what it needs in .venv first; nothing is installed twice.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt
STIFF ?=

.DEFAULT_GOAL := help
.PHONY: help stiff test check clean

help:
	@sed -n 's/^# \{0,1\}//p' Makefile | head -4

stiff: $(VENV)/.frameworks
	$(BIN)/sciml-bench stiff $(STIFF)

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile $(TEST)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name one with: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.frameworks: $(VENV)/.made pyproject.toml constraints.txt
	@echo "installing the frameworks into $(VENV); the first time takes some minutes"
	$(PIP) -e ".[torch,jax,tensorflow,onnx,numba,torchode]"
	@touch $@

$(VENV)/.dev: $(VENV)/.frameworks
	$(PIP) -e ".[torch,jax,tensorflow,onnx,julia,diffeqpy,numba,torchode,query,parquet,dev]"
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .hypothesis .ruff_cache
