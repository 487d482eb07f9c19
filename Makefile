# The only interface: people and CI run the same targets. `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help demo test lint bench kafka up down lock
.NOTPARALLEL:

BIN := .venv/bin
# Processes of the test run: each has servers of its own, about 60 MB.
JOBS ?= 2
# More arguments for pytest: make test ARGS="tests/streams -k topics"
ARGS ?=
export PYTHON

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/installed ## publish a real feed, write it, and show what became of it
	@$(BIN)/lighthouse-streams demo

test: .venv/installed ## run the tests on real servers
	@$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

lint: .venv/installed ## check style, formatting and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: .venv/installed ## measure rows a second, each as a ratio to its floor
	@$(BIN)/python -m tests.bench

kafka: tests/kafka/libs/fetched ## fetch Apache Kafka 4.3.1, a second broker for the tests

up: .venv/installed ## run the embedded servers and the worker, until Ctrl-C
	@$(BIN)/lighthouse-streams up

down: .venv/installed ## end embedded servers that a killed run left behind
	@$(BIN)/python -c 'from streams import embedded, settings; print(embedded.end(settings.load()))'

lock: .venv/installed ## write requirements.lock anew from pyproject.toml
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.12 --all-extras --upgrade \
		--generate-hashes --no-emit-index-url --no-emit-find-links \
		--custom-compile-command "make lock" --output-file requirements.lock pyproject.toml
	@! grep -nE '://|^--' requirements.lock

.venv/installed: pyproject.toml requirements.lock
	@sh .ci/install

tests/kafka/libs/fetched: tests/kafka/pom.xml
	@sh .ci/kafka
