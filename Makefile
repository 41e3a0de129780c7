# `make run` measures; `make test-fast`, `make test` and `make long` are the three tiers of tests.
# Each sets up what it needs in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CHECKED := tests/test_layers.py tests/test_project.py
CPP := $(wildcard assay/native/*/*.[ch]pp assay/native/hpvm/shim/*.h assay/native/hpvm/shim/*.[ch]pp \
       tests/native/*.cpp tests/native/hpvm/*.cc)
PYTEST := $(BIN)/python -m pytest
# Packages that a build needs are pinned too: older pips read the first variable, newer the second.
PINNED := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt
INSTALL := $(PINNED) $(BIN)/pip install --quiet

.DEFAULT_GOAL := help

help:  ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

run: $(VENV)/.run  ## measure a small model on every backend installed, and keep the results
	$(BIN)/assay run mnist-mlp --budget 5s

test-fast: $(VENV)/.check  ## tests that need no framework, no system package and no root: under 2 minutes
	$(PYTEST) -q -n auto --maxprocesses 4 --dist worksteal -m 'not real and not long'

test: $(VENV)/.test check  ## every check, and every test that protects a user: under 10 minutes
	$(PYTEST) -q -n 2 --dist worksteal

long: $(VENV)/.test  ## the other tests: all models, seeds and backends, an hour of faults
	tools/system_packages.sh clang++=clang
	$(PYTEST) -m long

lint: $(VENV)/.check  ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/mypy

check: lint  ## lint, layers, docs and changelog: under a minute, and only small packages
	$(PYTEST) -q -m 'not real and not long' $(CHECKED)

docs: $(VENV)/.test  ## write docs/reference anew from the code
	$(BIN)/python docs/generate.py

recording: $(VENV)/.run  ## the terminal recording of the README, from a real run
	$(BIN)/python docs/record.py

screenshots: $(VENV)/.test  ## the screenshots of README and docs, from real runs
	$(BIN)/python docs/screenshots.py

site: $(VENV)/.test  ## the docs as a site with search, in site/; a link that leads nowhere fails
	$(BIN)/mkdocs build --quiet

dist: $(VENV)/.dist  ## wheel and sdist, each installed into an empty environment and tried
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m build --no-isolation --wheel --outdir dist/foreign foreign/hpvm
	$(BIN)/python tools/try_dist.py dist

# An environment that `uv run` has created has no pip.
$(BIN)/pip:
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	test -x $@ || $(BIN)/python -m ensurepip --default-pip

# Keras on JAX is the smallest set that measures something; an environment with more keeps it.
# pip compiles what it installs, but no checkout: without, a command may compile at each start.
$(VENV)/.run: pyproject.toml constraints.txt Makefile | $(BIN)/pip
	$(INSTALL) -e '.[jax]'
	$(BIN)/python -m compileall -q assay
	touch $@

$(VENV)/.check: pyproject.toml constraints.txt Makefile | $(BIN)/pip
	$(INSTALL) -e '.[check]'
	$(BIN)/python -m compileall -q assay
	touch $@

$(VENV)/.dist: tools/build_requirements.txt Makefile | $(BIN)/pip
	$(BIN)/pip install --quiet --require-hashes -r tools/build_requirements.txt
	touch $@

# Tests whose program is missing are skipped, and a report at the end says so; in CI they fail.
$(VENV)/.test: pyproject.toml constraints.txt Makefile tools/system_packages.sh | $(BIN)/pip
	tools/system_packages.sh $${CXX:-g++}=g++ hyperfine chromium qemu-x86_64=qemu-user buildah "mmdebstrap=mmdebstrap debian-archive-keyring" pg_ctlcluster=postgresql ip=iproute2
	$(INSTALL) torch
	$(INSTALL) -e '.[jax,tensorflow,torch,flax,live,hf,torchvision,timm,onnxruntime,openvino,native,data,plot,web,parquet,pandas,postgresql,cluster,bigquery,cloud,gcs,s3,dev]'
	$(BIN)/python -m compileall -q assay
	touch $@ $(VENV)/.run $(VENV)/.check

.PHONY: help run test-fast test long lint check docs recording screenshots site dist
