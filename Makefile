# Everything runs in .venv, which the targets make themselves; a machine needs Python 3.11 and make.
PYTHON ?= python3
BIN := .venv/bin
UV := $(BIN)/uv

.PHONY: demo test lint golden faces bench faults clean help

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(UV):
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep '^uv==' constraints.txt)"

# Two sizes of installation: what the demo needs, and what developing needs.
.venv/local: pyproject.toml constraints.txt | $(UV)
	$(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt --editable '.[local]'
	@touch $@
.venv/dev: pyproject.toml constraints.txt | $(UV)
	$(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt --editable '.[dev]'
	@touch .venv/local $@

examples/digits/data: | .venv/local
	$(BIN)/python examples/digits/prepare.py

demo: .venv/local examples/digits/data ## Train, gate, promote and serve the digits, from nothing
	$(BIN)/goldenpath demo

test: .venv/dev examples/digits/data ## All tests that this machine can run
	$(BIN)/python -m pytest

lint: .venv/dev ## Style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

faces: .venv/dev ## Generate the KFP and Hera faces of the components
	$(BIN)/python -m goldenpath.faces

golden: faces ## Make every generated file anew: faces, schemas, compiled paths
	GOLDENPATH_GOLDEN=write $(BIN)/python -m pytest -q tests/golden

bench: .venv/dev ## Measure beside the peers
	$(BIN)/python tests/bench/run.py

faults: .venv/dev ## The long fault tests: many more kills than make test
	GOLDENPATH_FAULTS=100 $(BIN)/python -m pytest -m faults

clean: ## Remove what the targets made
	rm -rf .venv .goldenpath goldenpath-demo dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
