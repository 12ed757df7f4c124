# make stiff   measure the stiff suite in all frameworks of this checkout
# make test    run the tests
# make fast    run the tests that import no framework
# make check   linters, spelling and types
# make docs    the documentation as a site, in build/docs
# make gpu     on a machine with an NVIDIA GPU: its tests, checks and measurements, into results/gpu
# make release build the package, after all checks
# Each makes what it needs in .venv first; nothing is installed twice.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt
STIFF ?=

.DEFAULT_GOAL := help
.PHONY: help stiff test fast check docs gpu release clean

help:
	@sed -n 's/^# \{0,1\}//p' Makefile | head -8

stiff: $(VENV)/.frameworks
	$(BIN)/sciml-bench stiff $(STIFF)

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile $(TEST)

# What reads and computes, and imports no framework.
FAST := tests/spec tests/planning tests/record tests/stats tests/analysis tests/published_claims tests/charts tests/export tests/verification
fast: $(VENV)/.dev
	$(BIN)/python -m pytest -q -n logical --maxprocesses 4 --dist loadfile $(FAST)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/pyright --pythonpath $(BIN)/python

# JAX's and TensorFlow's packages for CUDA are their own; PyTorch's usual one for Linux has it.
$(VENV)/.gpu: $(VENV)/.dev
	$(PIP) -e ".[torch,jax,tensorflow,torchode,gpu]" "jax[cuda12]" "tensorflow[and-cuda]"
	@touch $@

gpu: $(VENV)/.gpu
	$(BIN)/python benchmarks/on_gpu.py

docs: $(VENV)/.dev
	$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs
	@echo "build/docs/index.html"

release: check test docs
	rm -rf dist
	$(BIN)/python -m build
	@echo "dist/ holds the package; tag the commit with v$$($(BIN)/python -c 'import sciml_bench; print(sciml_bench.__version__)')"

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
	@# Older ones know no groups of dependencies.
	$(BIN)/python -m pip install --disable-pip-version-check -q "pip>=25.1"
	@# Types are checked of scikit-SUNDAE's adapter too.
	$(PIP) --group dev -e ".[all,sksundae]"
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .hypothesis .ruff_cache
