# Everything a work tree is used for. Needs Python 3.11 to 3.14, bash, and make.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
WORKERS ?= 2

# Studies and the tests that need real data or models look for them here; without them they say so.
ifneq ($(wildcard ../shared/data),)
export CALIBRANT_DATA ?= $(abspath ../shared/data)
endif
ifneq ($(wildcard ../shared/models),)
export CALIBRANT_MODELS ?= $(abspath ../shared/models)
endif

.PHONY: help venv demo test test-all crosscheck goldens goldens-compare browser lint types docs lock bench fuzz coverage study clean

help: ## list what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | expand -t 12

venv: $(READY) ## make .venv from the lock

$(READY): requirements/dev.lock pyproject.toml english/pyproject.toml studies/pyproject.toml scripts/make-venv.sh
	python=$$(scripts/find-python.sh); scripts/make-venv.sh $$python $(VENV) requirements/dev.lock --editable
	touch $@

demo: $(READY) ## the main job end to end, on predictions that ship with the package
	$(BIN)/calibrant demo

test test-all: export OPENBLAS_NUM_THREADS ?= 1 # the workers have the processors

test: $(READY) ## tests and every example of the documentation; a few minutes
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

test-all: $(READY) ## slow tests, the other Pythons, and the oldest versions allowed
	scripts/test-all.sh

goldens: $(READY) ## rewrite the outputs in tests/goldens; a few minutes
	$(BIN)/python -m tests.goldens write $(ARGS)

goldens-compare: $(READY) ## compare all outputs with those of tests/goldens; ARGS=--exact: to the last digit
	$(BIN)/python -m tests.goldens compare $(ARGS)

browser: $(READY) ## open the report in a browser and look at it
	scripts/test-browser.sh

lint: $(READY) ## style of code and words
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python scripts/words.py
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-actions action.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml

types: $(READY) ## types
	$(BIN)/mypy

docs: $(READY) ## build docs/_build/html and check its links; a warning is an error
	rm -rf docs/api/_generated docs/_build/html
	$(BIN)/sphinx-build -E -W --keep-going -q -j auto -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python scripts/check_links.py

lock: ## resolve the dependencies again
	scripts/lock.sh

bench: $(READY) ## time and memory, against the peers and against the limits of the machine
	scripts/bench.sh $(ARGS)

crosscheck: $(READY) ## compare other libraries' numbers with calibrant's; TORCH=1 or cpu adds those that need PyTorch
	scripts/crosscheck.sh $(ARGS)

fuzz: ## fuzz a reader: make fuzz NAME=conllu SECONDS=600
	scripts/fuzz.sh $(or $(NAME),$(error say which, of docs/fuzzing.md: make fuzz NAME=conllu)) $(or $(SECONDS),600)

coverage: $(READY) ## which lines and branches of the numbers and readers the tests run
	scripts/coverage.sh $(ARGS)

study: $(READY) ## reproduce a paper's experiment: make study NAME=synthetic
	$(BIN)/calibrant study $(or $(NAME),$(error say which: make study NAME=synthetic)) $(ARGS)

clean: ## remove built files; keeps .venv
	rm -rf build dist docs/_build .mypy_cache .pytest_cache .ruff_cache
