# Everything a newcomer needs: `make bench` runs a benchmark and says where its report is, `make test` runs the tests.
# The application lives in .venv, installed from the lock files with every hash checked.

# Images of containers often set this variable. Each process of a run would then compile all modules again, which took a
# quarter of a short run.
unexport PYTHONDONTWRITEBYTECODE

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install install-otlp setup bench test test-rest test-all nightly-tests router-tests lint types docs lock clean

SCENARIO ?= scenarios/steady.py
TOPOLOGY ?= mesh
TIME ?= 30s
PART ?= 1/1
ARGS ?=

BIN := .venv/bin
PYTHON_CANDIDATES := python3 python3.13 python3.12 python3.11 python3.14
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in $(PYTHON_CANDIDATES); do $$p -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$p && break; done)
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "  e.g.  make bench TOPOLOGY='mesh(brokers=4)' TIME=60s ARGS='--seed 7'"

bench: .venv/.installed .venv/.installed-amqp ## Run a benchmark on real brokers: SCENARIO, TOPOLOGY, TIME, ARGS
	$(BIN)/locust -f $(SCENARIO) --headless --runtime processes --topology '$(TOPOLOGY)' -t $(TIME) $(ARGS)

test: .venv/.installed-dev .venv/.installed-amqp ## Run the tests that this machine can run, in ten minutes or less (ARGS are passed to pytest)
	$(BIN)/python -m tests.run test $(ARGS)

test-rest: .venv/.installed-dev .venv/.installed-amqp ## Run the tests of `make test-all` that a bare machine leaves out of `make test`
	$(BIN)/python -m tests.run rest $(ARGS)

test-all: ## Install and start what is missing (apt, root or sudo), then run every test except the nightly ones
	bash .ci/with-everything.sh .venv/bin/python -m tests.run all $(ARGS)

nightly-tests: ## Run the full matrices, or one part of them (PART=2/4); installs what is missing
	bash .ci/with-everything.sh compose .venv/bin/python -m tests.run nightly --part $(PART) $(ARGS)

router-tests: .venv/.installed-dev .venv/.installed-amqp ## Run the tests that need a router (run .ci/build-router.sh SOURCES first)
	$(BIN)/python -m pytest -v -m router $(ARGS)

install: .venv/.installed .venv/.installed-amqp ## Create .venv with the packages that runs need

install-otlp: install ## Add OpenTelemetry's exporter, which --otlp needs
	@$(FROM_LOCK) -r requirements-otlp.lock

setup: .venv/.installed-dev .venv/.installed-amqp ## Create .venv with the packages that tests and development need

lint: .venv/.installed-dev ## Check style, formatting, imports and installed packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m pip check

types: .venv/.installed-dev ## Check types
	$(BIN)/mypy

docs: .venv/.installed-dev ## Update the generated parts of docs/
	$(BIN)/python -m brokerbench.documents

# A lock file is whole, so pip need not look for what its packages require (--no-deps). pyspark comes as a source archive
# of 450 MB: it is built while the others are installed, by the setuptools that is installed first, hash-checked like the
# rest. Python compiles a module as it is first imported (--no-compile).
FROM_LOCK = $(PIP_INSTALL) --no-deps --no-compile --require-hashes --use-pep517 --no-build-isolation
SPLIT = /^[a-zA-Z0-9]/ { spark = /^pyspark==/ } { print > (spark ? "$@.spark" : "$@.others") }
define install_lock
@awk '$(SPLIT)' $(1)
@$(FROM_LOCK) -r $@.spark & spark=$$!; $(FROM_LOCK) -r $@.others; others=$$?; wait $$spark && exit $$others
@rm -f $@.spark $@.others
endef

.venv/.installed: .venv/bin/python requirements-build.lock requirements.lock pyproject.toml
	@echo "Installing the locked packages into .venv (about two minutes the first time)"
	@$(PIP_INSTALL) --require-hashes -r requirements-build.lock
	$(call install_lock,requirements.lock)
	@$(PIP_INSTALL) --no-deps --no-build-isolation --config-settings editable_mode=compat --editable .
	@$(BIN)/python -m brokerbench.spark_classes || true
	@touch $@

.venv/.installed-dev: .venv/.installed requirements-dev.lock
	@$(FROM_LOCK) -r requirements-dev.lock
	@touch $@

# Left out, with one line that says so, where it cannot be built: then it is tried again the next time.
.venv/.installed-amqp: .venv/.installed requirements-amqp.lock requirements-amqp-build.lock .ci/build-amqp.sh
	@bash .ci/build-amqp.sh .venv

.venv/bin/python:
	@test -n '$(PYTHON)' || { echo "make: no Python 3.11 or newer among $(PYTHON_CANDIDATES)." \
	  "Install one, or name it: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@'$(PYTHON)' -c '$(NEW_ENOUGH)' 2>/dev/null || { echo "make: PYTHON=$(PYTHON) is not a Python 3.11 or newer." \
	  "Name one that is: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@'$(PYTHON)' -c 'import ensurepip, venv' 2>/dev/null || { echo "make: $(PYTHON) cannot make environments:" \
	  "its venv module is missing. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 2; }
	@'$(PYTHON)' -m venv --clear .venv

# uv resolves for every platform and Python version at once, which pip cannot: pip install uv, or UV=/path/to/uv.
UV ?= uv
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

lock: ## Update the lock files from pyproject.toml (keeps versions that still fit; UPGRADE=--upgrade for newer ones)
	@command -v '$(UV)' >/dev/null || { echo "make lock: $(UV) not found. pip install uv, or make lock UV=/path/to/uv" >&2; exit 2; }
	$(COMPILE) $(UPGRADE) --group build --output-file requirements-build.lock
	$(COMPILE) $(UPGRADE) pyproject.toml --constraint requirements-build.lock --output-file requirements.lock
	$(COMPILE) $(UPGRADE) pyproject.toml --extra amqp --constraint requirements.lock --output-file requirements-amqp.lock
	$(COMPILE) $(UPGRADE) --group amqp-build --constraint requirements-amqp.lock --output-file requirements-amqp-build.lock
	$(COMPILE) $(UPGRADE) pyproject.toml --extra otlp --constraint requirements.lock --output-file requirements-otlp.lock
	$(COMPILE) $(UPGRADE) pyproject.toml --extra otlp --group dev --constraint requirements-otlp.lock --output-file requirements-dev.lock

clean: ## Remove .venv and every cache (runs/ stays)
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build spark-warehouse *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
