# `make demo` and `make test` each do all the set-up in a fresh clone. A second run reuses the environment.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
WORKERS ?= 2

# One thread a worker: the work is parallel over people and over test files, never inside a small call.
export OMP_NUM_THREADS ?= 1

# Tests start many processes; each would compile all of the package for itself where nothing may be kept.
unexport PYTHONDONTWRITEBYTECODE

# Raw data files, where they lie beside the checkout; else they are fetched, and tests that need them say so.
ifneq ($(wildcard ../shared/data),)
export WAYFORWARD_DATA ?= $(abspath ../shared/data)
endif

EXTRAS := fast,frames,polars,torch,tune,trees-cpu,catboost,onnx,solvers,smt,asp,plots,languages,web,postgres,test,docs,dev

.PHONY: help venv demo test fast-test lint messages docs bench leaderboard fuzz replicate clean
.DEFAULT_GOAL := help

help: ## what can be made
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v < (3, 14) else f"wayforward needs Python 3.11 to 3.13, this is {v[0]}.{v[1]}. Name another: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

# The demonstration needs no torch and no tree library, so it is installed in seconds.
$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[fast,frames,plots]'
	@touch $@

# torch goes first and alone, with its version pinned, so that no other package can choose a different build.
# pip would compile 18,000 files on one core, other packages' tests among them; a file that cannot be is for another Python.
$(VENV)/.all: pyproject.toml studies/pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --no-compile torch==2.13.0
	$(PIP) --no-compile -e '.[$(EXTRAS)]' -e ./studies
	@$(BIN)/python -m compileall -qq -j 0 -x '/tests?/' $(VENV)/lib || true
	$(BIN)/python -m compileall -q src studies
	@touch $(VENV)/.demo $@

venv: $(VENV)/.all ## everything a contributor needs, in .venv

demo: $(VENV)/.demo ## train, refuse, recommend, explain: demo/report.html
	$(BIN)/wayforward demo --out demo/

test: $(VENV)/.all ## every test but the slow replications; style and types are among them (tests/test_style.py)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m 'not (slow and published)'

fast-test: $(VENV)/.all ## the tests without the slow ones
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m 'not slow'

lint: $(VENV)/.all ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

messages: $(VENV)/.all ## add what is new in the code to the catalogs of translations
	$(BIN)/python docs/make_messages.py

docs: $(VENV)/.all ## the site in docs/_build/html; every example is run, every warning is an error
	$(BIN)/python -m pytest -n $(WORKERS) -q tests/docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.all ## compare with dice-ml, NICEx and oceanpy, each in its own environment; and with brute force and all methods
	$(BIN)/python -m benchmarks.lattices
	$(BIN)/python -m benchmarks.nobody_left
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks

leaderboard: $(VENV)/.all ## judge what has no entry yet, installed peers too, and write docs/leaderboard.md and its page
	$(BIN)/python -m benchmarks.tracks
	$(BIN)/wayforward bench submit benchmarks/submissions/lasting.py --name local-search-lasting --seconds 600 \
		--entries benchmarks/entries --task loan-again-rf --task german-again-lr
	$(BIN)/wayforward bench leaderboard --entries benchmarks/entries --markdown docs/leaderboard.md --html docs/_static/leaderboard.html

fuzz: $(VENV)/.all ## every odd value in every argument once, then ten minutes (of the processor) of junk for all readers and functions
	$(BIN)/python -m benchmarks.sweep
	$(BIN)/python -m benchmarks.fuzz --seconds 600

replicate: $(VENV)/.all ## the numbers that papers published, found again: the slow replications, and the tables in docs/replication
	$(BIN)/python -m pytest -n $(WORKERS) -q -m published
	$(BIN)/wayforward replicate icarma
	$(BIN)/wayforward replicate icarma --fresh --table 1 --table 6
	$(BIN)/wayforward replicate hare
	$(BIN)/wayforward replicate hare --extra all
	$(BIN)/wayforward replicate pear
	$(BIN)/wayforward replicate balanced
	$(BIN)/wayforward replicate study

clean: ## forget the environment and everything built
	rm -rf $(VENV) docs/_build build dist .mypy_cache .ruff_cache .pytest_cache
