# Two commands set everything up on a fresh machine with Python 3.11+ and make: `make demo`, `make test`.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
CORPUS ?= $(or $(MUSTER_CORPUS),../shared/corpus)

.DEFAULT_GOAL := help
.PHONY: help setup dev demo up test check manifests-check fmt proto conformance field fuzz simulate mutants bench lock clean

help: ## what can be made here
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 18

.venv/uv.stamp:
	@$(PYTHON) -c 'import sys; sys.exit("Muster needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Say PYTHON=/path/to/python3.11 make ...") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv .venv
	@$(BIN)/python -m uv --version >/dev/null 2>&1 || $(BIN)/pip install --quiet --disable-pip-version-check 'uv>=0.13,<0.14'
	@touch $@

# Run-time packages alone; the development set contains them, so it stamps both.
.venv/setup.stamp: requirements.lock pyproject.toml | .venv/uv.stamp
	$(BIN)/python -m uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@$(BIN)/python tools/link_sources.py
	@touch $@

.venv/dev.stamp: requirements-dev.lock pyproject.toml | .venv/uv.stamp
	$(BIN)/python -m uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-dev.lock
	@$(BIN)/python tools/link_sources.py
	@touch .venv/setup.stamp $@

setup: .venv/setup.stamp ## the project's environment in .venv; then .venv/bin/muster is the command

dev: .venv/dev.stamp ## the environment with test and lint tools

demo: setup ## three gangs against a simulated cloud, from request to bound pods (KEEP=1 stays up)
	$(BIN)/muster demo $(if $(KEEP),--keep)

up: setup ## all services in one process with the example fleet
	$(BIN)/muster up --load examples/fleet

test: dev ## all tests
	$(BIN)/pytest -n 2 --dist loadscope

check: dev ## format, lint, types, import contracts, schemas, manifests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	cd proto && PATH="$(CURDIR)/$(BIN):$$PATH" buf lint
	cd proto && PATH="$(CURDIR)/$(BIN):$$PATH" buf breaking --against baseline.binpb
	$(BIN)/python tools/check_generated.py
	$(BIN)/python tools/check_deploy.py
	$(BIN)/python tools/check_manifests.py

manifests-check: dev ## deploy/ built by kustomize and validated against the schemas of the served API versions
	$(BIN)/python tools/check_manifests.py --verbose

fmt: dev ## format and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

proto: dev ## generate libs/muster from proto/
	cd proto && PATH="$(CURDIR)/$(BIN):$$PATH" buf lint && PATH="$(CURDIR)/$(BIN):$$PATH" buf generate 2>/dev/null

conformance: dev ## answers against the recorded corpora, per corpus
	@MUSTER_CORPUS=$(CORPUS) PYTHONPATH=tests $(BIN)/python -m conformance

field: dev ## what `muster audit` says of every recorded case from the field, beside what is recorded
	@PYTHONPATH=tests $(BIN)/python -m field

fuzz: dev ## the fast allocator against both references on 20,000 generated problems (N=… for more, JOBS=2 for two cores)
	@cd tests && ../$(BIN)/python -m property.dra.fuzz $(or $(N),20000)

simulate: dev ## all services on a simulated world with faults: SEEDS=300 seeds on JOBS=1 cores, or SEED=n alone
	@$(BIN)/python -m tests.simulation $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),300) --start $(or $(START),0) --jobs $(or $(JOBS),1) --minutes $(or $(MINUTES),0))

mutants: dev ## hand-made bugs, and the first of SEEDS=300 seeds that finds each (NAMES=… for some, JOBS=1 cores)
	@$(BIN)/python -m tests.simulation.mutants $(NAMES) --seeds $(or $(SEEDS),300) --jobs $(or $(JOBS),1)

bench: dev ## the figures of architecture §9 with machine and input size
	@cd tests && ../$(BIN)/python -m bench.engine.measure
	@cd tests && ../$(BIN)/python -m bench.plan.growth --quick
	@cd tests && ../$(BIN)/python -m bench.plan.bound
	@cd tests && ../$(BIN)/python -m bench.plan.fragmentation
	@cd tests && ../$(BIN)/python -m bench.ingest.measure
	@cd tests && ../$(BIN)/python -m bench.durability.measure
	@cd tests && ../$(BIN)/python -m bench.audit.measure

lock: | .venv/uv.stamp ## pin every package again, with hashes
	$(BIN)/python -m uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --extra embedded pyproject.toml -o requirements.lock
	$(BIN)/python -m uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --extra embedded --extra dev pyproject.toml -o requirements-dev.lock

clean: ## the environment and all local state
	rm -rf .venv .muster
