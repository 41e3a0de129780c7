# Two commands: `make run` measures, `make test` checks everything. Both set up .venv themselves.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CHECKED := tests/test_layers.py tests/test_project.py

.DEFAULT_GOAL := help

help:  ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

run: $(VENV)/.run  ## measure a small model on every backend installed, and keep the results
	$(BIN)/assay run mnist-mlp --budget 5s

test: check  ## every check and every test
	$(BIN)/python -m pytest -n 2 --dist worksteal $(CHECKED:%=--ignore=%)

long: $(VENV)/.test  ## what takes long by itself: every network on whole data, an hour of faults
	tools/system_packages.sh clang++=clang
	$(BIN)/python -m pytest -m long

check: $(VENV)/.test  ## format, lint, types, layers, docs: under a minute
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q $(CHECKED)

docs: $(VENV)/.test  ## write docs/reference anew from the code
	$(BIN)/python docs/generate.py

site: $(VENV)/.test  ## the docs as a site with search, in site/; a link that leads nowhere fails
	$(BIN)/mkdocs build --quiet

dist: $(VENV)/.test  ## wheel and sdist, each installed into an empty environment and tried
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m build --wheel --outdir dist/foreign foreign/hpvm
	$(BIN)/python tools/try_dist.py dist

# Keras on JAX is the smallest set that measures something; an environment with more keeps it.
# pip compiles what it installs, but no checkout: without, a command may compile at each start.
$(VENV)/.run: pyproject.toml constraints.txt Makefile
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e '.[jax]'
	$(BIN)/python -m compileall -q assay
	touch $@

$(VENV)/.test: pyproject.toml constraints.txt Makefile tools/system_packages.sh
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	tools/system_packages.sh $${CXX:-g++}=g++ hyperfine chromium qemu-x86_64=qemu-user buildah "mmdebstrap=mmdebstrap debian-archive-keyring" pg_ctlcluster=postgresql ip=iproute2
	$(BIN)/pip install --quiet -c constraints.txt torch
	$(BIN)/pip install --quiet -c constraints.txt -e '.[jax,tensorflow,torch,flax,live,hf,torchvision,timm,onnxruntime,openvino,native,data,plot,web,parquet,postgresql,cluster,bigquery,cloud,gcs,s3,dev]'
	$(BIN)/python -m compileall -q assay
	touch $@ $(VENV)/.run

.PHONY: help run test long check docs site dist
