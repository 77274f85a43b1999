# make demo               set up, then run the gate on a bundled pull request (PR=prompt, regression, noise, docs or blame)
# make demo EXAMPLE=…     set up, then run the gate on a system of examples/run.py (CHANGE=regression: after an edit)
# make example-site       set up, then run the gate on three states of the example, and write the site of these runs
# make test               set up, then run every test (WORKERS=2, TESTS=tests/verdict)
# make test-fast          the tests that start no process, server or container (TESTS=tests/verdict)
# make test-clients       run every client of models against the gateway, as the nightly workflow does; it needs Node
# make test-properties    try every property with many random examples, as the nightly workflow does
# make lint               style, types and import contracts
# make benchmark          print what the documentation claims about speed and size
# make error-rates        simulate a night's part of the verdict's error rates: NIGHT=2026-11-30 COUNTS=counts.json
# make fuzz               run the fuzz campaign: CASES=1000 SEED=… (docs/fuzzing.md)
# make recordings         write the authored recordings of the example again
# make catalogue          write the tables of metrics in docs/metrics*.md again
# make command-line       write docs/command-line.md, the reference of the command line, again
# make schemas            write every published JSON Schema again
# make pictures           draw the pictures of the documentation again (it needs chromium)
# make docs               build the documentation as a site: build/site (SERVE=1 shows it at http://127.0.0.1:8000)
# make messages           write the list of every message of the product again (tests/messages)
# make lock               compile requirements/ again

PR ?= prompt
VENV := .venv
BIN := $(VENV)/bin
SUITABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$name -c '$(SUITABLE)' >/dev/null 2>&1 && echo $$name && break; done)
INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --require-hashes --compile-bytecode
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Whatever a recipe answers, GNU make answers 2. Only in question mode does it hand on a 1, which is the gate's
# answer to a regression; a recipe's '+' runs it in that mode all the same.
ifeq ($(or $(MAKECMDGOALS),demo),demo)
MAKEFLAGS += --question
endif

# SciPy and NumPy ship their own tests: 50 MB with their bytecode.
WITHOUT_TESTS = find $(VENV)/lib/python*/site-packages/numpy $(VENV)/lib/python*/site-packages/scipy \
	-name tests -type d -prune -exec rm -r {} +

EDITABLE = $(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable . \
	&& $(BIN)/python -m compileall -q ratiba_action examples

.PHONY: demo example-site test test-fast test-clients test-properties lint benchmark error-rates fuzz recordings catalogue command-line schemas messages pictures docs lock clean

demo: $(VENV)/.demo
ifdef EXAMPLE
	+@$(BIN)/python examples/run.py $(EXAMPLE) $(addprefix --change=,$(CHANGE))
else
	+@$(BIN)/python examples/demo.py --pull-request $(PR)
endif

example-site: $(VENV)/.demo
	@$(BIN)/python examples/example_site.py

# Twice as many workers as cores, because many tests wait for containers and child processes. What was edited since
# the set-up is compiled once, not by each of the processes that tests start.
WORKERS ?= $(shell expr 2 \* $$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN))
test: $(VENV)/.dev
	$(BIN)/python -m compileall -q ratiba_action examples tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(TESTS)

# One worker for each core: these tests wait for nothing.
test-fast: WORKERS = $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
test-fast: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not processes" $(TESTS)

test-clients: $(VENV)/.dev $(VENV)/.clients
	RATIBA_TEST_CLIENTS=$(VENV)/clients $(BIN)/python -m pytest -n $(WORKERS) tests/clients

test-properties: $(VENV)/.dev
	RATIBA_TEST_PROFILE=deep $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m hypothesis $(TESTS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# benchmarks/image.py needs Docker, benchmarks/operating_characteristics.py hours, benchmarks/slow_decline.py a quarter of one,
# benchmarks/large_run.py and benchmarks/site_of_runs.py some minutes: run them by name.
BENCHMARKS ?= side_by_side stateful one_scenario capped gate decide judging masking tenants worker inline_checks
benchmark: $(VENV)/.dev
	@status=0; for name in $(BENCHMARKS); do \
		echo "== $$name"; $(BIN)/python -m benchmarks.$$name || status=1; \
	done; exit $$status

NIGHT ?= $(shell date -u +%F)
COUNTS ?= build/error-rates.json
CHANGES ?= 1000
error-rates: $(VENV)/.dev
	@mkdir -p $(dir $(COUNTS))
	$(BIN)/python -m benchmarks.operating_characteristics --night $(NIGHT) --repeats $(CHANGES) --counts $(COUNTS)

CASES ?= 1000
fuzz: $(VENV)/.dev
	$(BIN)/python -m fuzz --cases $(CASES) $(addprefix --from-seed=,$(SEED))

recordings: $(VENV)/.demo
	PYTHONPATH=. $(BIN)/python examples/record_authored.py

catalogue: $(VENV)/.dev
	$(BIN)/python -m tests.support.metric_catalogue docs

command-line: $(VENV)/.dev
	$(BIN)/python -m tests.support.command_line_page

schemas: $(VENV)/.dev
	$(BIN)/python -m tests.support.published_schemas

messages: $(VENV)/.dev
	$(BIN)/python -m tests.test_messages --write

pictures: $(VENV)/.dev
	$(BIN)/python -m tests.support.pictures

# A warning of MkDocs is an error (`strict` in mkdocs.yml). The theme's own notice is about a later version of MkDocs.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(VENV)/docs/bin/mkdocs $(if $(SERVE),serve,build --quiet)

COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 \
	--no-emit-index-url --no-header --no-annotate
lock: $(VENV)/.bootstrap
	printf 'setuptools>=80\nuv>=0.13\n' | $(COMPILE) - -o requirements/bootstrap.txt
	$(COMPILE) --extra judges --extra semantic --extra embedding --extra langfuse --extra redis --extra cloud --extra embedded --extra docker --extra example --extra dev pyproject.toml -o requirements/dev.txt
	$(COMPILE) -c requirements/dev.txt --extra judges --extra embedded --extra example --override requirements/unused.txt pyproject.toml -o requirements/demo.txt
	$(COMPILE) -c requirements/dev.txt --extra judges --extra langfuse --extra embedded --override requirements/unused.txt pyproject.toml -o requirements/gate.txt
	grep -v '^cryptography' requirements/unused.txt > $(VENV)/.unused_full  # google-auth signs with it
	$(COMPILE) -c requirements/dev.txt --extra judges --extra semantic --extra embedding --extra langfuse --extra cloud --extra embedded --override $(VENV)/.unused_full pyproject.toml -o requirements/full.txt
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"], sep="\n")' \
		| $(COMPILE) -c requirements/dev.txt - -o requirements/docs.txt
	$(COMPILE) requirements/clients.in -o requirements/clients.txt
	$(COMPILE) benchmarks/peers.in -o benchmarks/peers.txt
	cd tests/clients/programs && npm install --silent --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund
	$(COMPILE) -c requirements/dev.txt examples/booking_assistant/requirements.in -o examples/booking_assistant/requirements.txt

clean:
	rm -rf $(VENV) build ratiba-report

$(VENV)/.bootstrap: requirements/bootstrap.txt
	+@test -n "$(PYTHON)" || { echo "no Python >= 3.11 with venv was found; install one or say PYTHON=/path/to/python3" >&2; exit 2; }
	+@echo "setting up $(VENV) with $(PYTHON)"
	+@$(PYTHON) -m venv $(VENV)
	+@$(BIN)/python -m pip install --quiet --require-hashes -r requirements/bootstrap.txt
	+@touch $@

$(VENV)/.demo: $(VENV)/.bootstrap requirements/demo.txt pyproject.toml
	+@$(INSTALL) -r requirements/demo.txt && $(EDITABLE) && $(WITHOUT_TESTS)
	+@touch $@

$(VENV)/.dev: $(VENV)/.bootstrap requirements/dev.txt pyproject.toml
	@$(INSTALL) -r requirements/dev.txt && $(EDITABLE)
	@touch $@

$(VENV)/.docs: $(VENV)/.bootstrap requirements/docs.txt
	@$(BIN)/python -m venv --without-pip $(VENV)/docs
	@$(BIN)/uv pip install --quiet --python $(VENV)/docs/bin/python --no-deps --require-hashes -r requirements/docs.txt
	@touch $@

NODE_CLIENTS := $(addprefix tests/clients/programs/,package.json package-lock.json)
$(VENV)/.clients: $(VENV)/.bootstrap requirements/clients.txt $(NODE_CLIENTS)
	@$(BIN)/python -m venv --without-pip $(VENV)/clients
	@$(BIN)/uv pip install --quiet --python $(VENV)/clients/bin/python --no-deps --require-hashes -r requirements/clients.txt
	@mkdir -p $(VENV)/clients/node && cp $(NODE_CLIENTS) $(VENV)/clients/node
	@cd $(VENV)/clients/node && npm ci --silent --ignore-scripts --no-audit --no-fund
	@touch $@
