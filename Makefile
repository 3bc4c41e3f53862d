# Persian Rummy. `make` lists what there is; every target does its own set-up.
.DEFAULT_GOAL := help
SHELL := /bin/sh
.SUFFIXES:
.DELETE_ON_ERROR:

# For awk: the pins of the second file that are not in the first.
UNSEEN := NR == FNR { if (/^[a-z]/) seen[$$1] = 1; next } /^[a-z]/ { keep = !($$1 in seen) } keep
PYTHON ?= python3
PYTEST_ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
LOCK := .cache/lock
CLIENTS := .cache/clients
TOOLS := .cache/tools
FUZZ := .cache/fuzz
AUDIT := .cache/audit
OPENSPIEL := .cache/openspiel
# For every platform and for Python 3.11 on, and nothing in the file about where a part came from.
COMPILE := --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --no-header
# Sentence("...") in the code, and what the extractors named in the mapping find in JSON.
WORDS := -F service/translations/babel.cfg -k Sentence --add-location file --width 100
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps

# `PERSIAN_RUMMY_...` settings and PORT, REDIS_URL, WEB_CONCURRENCY reach the service as they are.
.PHONY: help run demo test test-web lint format openapi words bench bench-search load scale arena strength faults fuzz constraints clean \
	clients client-tools chart-tools chart-check image-check openspiel

.PHONY: audit fuzz-input

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(VENV)/.run-stamp ## Run the whole service on 127.0.0.1:8000 (PORT) until Ctrl-C
	@exec $(BIN)/python -m service run

demo: $(VENV)/.run-stamp ## Play a game over HTTP beside `make run`: DEMO_ARGS="--help" tells how
	@exec $(BIN)/python -m service.demo $(DEMO_ARGS)

test: lint chart-tools client-tools ## Run everything that CI runs: checks, then tests on a real Redis
	$(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

test-web: $(VENV)/.dev-stamp ## Try the table in a real browser; SCREENS=FOLDER keeps pictures
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || \
		command -v google-chrome > /dev/null || { \
		echo "The table is tried in Chromium, and there is none on PATH: install the package chromium."; exit 1; }
	$(BIN)/python -m pytest -n 2 tests/web $(PYTEST_ARGS)

lint: $(VENV)/.dev-stamp ## Check style, types and who imports whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(VENV)/.dev-stamp ## Format the code and mend what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

openapi: $(VENV)/.dev-stamp ## Write openapi/openapi.yaml from the code
	$(BIN)/python -m service openapi

words: $(VENV)/.dev-stamp ## Bring the catalogues of words in step with the code; then translate what is new
	@mkdir -p .cache
	$(BIN)/pybabel -q extract $(WORDS) --project "Persian Rummy" -o .cache/messages.pot .
	$(BIN)/pybabel -q update --width 100 --ignore-obsolete --ignore-pot-creation-date \
		-i .cache/messages.pot -d service/translations
	$(BIN)/pybabel compile --statistics -d service/translations

bench: $(VENV)/.dev-stamp ## Measure the service; each figure with its command, median and spread
	$(BIN)/python -m pytest tests/bench -m bench -s $(PYTEST_ARGS)

bench-search: $(OPENSPIEL)/.stamp ## Measure the search alone, OpenSpiel's beside it
	$(BIN)/python -m pytest tests/bench -m bench -k search -s $(PYTEST_ARGS)

load: $(VENV)/.dev-stamp ## Play whole games with many users at once, report with plots: LOAD_ARGS="--help" tells how
	@$(BIN)/python -m tests.load $(LOAD_ARGS)

scale: $(VENV)/.dev-stamp ## Reckon what so many games a day take, the queue simulated: SCALE_ARGS="--help" tells how
	@$(BIN)/python -m tests.load.scale $(SCALE_ARGS)

arena: $(VENV)/.dev-stamp ## Let the bots play each other: ARENA_ARGS="--help" tells how
	$(BIN)/python -m workers arena $(ARENA_ARGS)

chart-tools: $(TOOLS)/.stamp ## Fetch helm 3 and 4, hadolint and Kubernetes' schemas for the tests (107 MB, once)

chart-check: $(TOOLS)/.stamp ## Check the chart and the Dockerfile alone
	$(BIN)/python -m pytest tests/deploy $(PYTEST_ARGS)

image-check: $(VENV)/.dev-stamp ## Build the image and run it: needs Linux, root, buildah, some minutes
	@$(BIN)/python tests/deploy/image_check.py

strength: $(OPENSPIEL)/.stamp ## Measure the levels against frozen opponents: minutes to hours, STRENGTH_PAIRS=140
	$(BIN)/python -m pytest tests/strength -m bench -s $(PYTEST_ARGS)

openspiel: $(OPENSPIEL)/.stamp ## Fetch OpenSpiel for both (66 MB, once)

faults: $(VENV)/.dev-stamp ## Kill, hang, stop parts under clients at play, then check all they saw; FAULTS_S=120
	FAULTS_S=$${FAULTS_S:-120} $(BIN)/python -m pytest \
		tests/faults/test_checker.py tests/faults/test_stopped.py tests/faults/test_rolling.py -s $(PYTEST_ARGS)

fuzz: $(VENV)/.dev-stamp ## Post made-up requests and hold all answers against the document; FUZZ_S=600
	FUZZ_S=$${FUZZ_S:-600} FUZZ_SEED=$${FUZZ_SEED:-} $(BIN)/python -m pytest tests/api/test_fuzzed.py -s $(PYTEST_ARGS)

fuzz-input: $(FUZZ)/.stamp ## Fuzz notation, positions, bodies, Last-Event-ID by coverage; FUZZ_S=60 each
	@for target in notation positions bodies resumption; do \
		mkdir -p $(FUZZ)/$$target; \
		PYTHONPATH=$(FUZZ)/atheris $(BIN)/python -m tests.security.fuzz $$target $(FUZZ)/$$target \
			tests/security/corpus/$$target -max_total_time=$${FUZZ_S:-60} || exit 1; \
	done

# Known faults are told by the package index or the OSV database: AUDIT_ARGS="--service osv" asks the latter.
audit: $(AUDIT)/.stamp ## Look for risky code, and for known faults of the parts: needs the network
	$(AUDIT)/bin/bandit --quiet --recursive service workers -ll --skip B104,B108,B310,B314
	sed '/^# ---- development/,$$d' constraints.txt > $(AUDIT)/runtime.txt
	$(AUDIT)/bin/pip-audit --disable-pip --no-deps --strict $(AUDIT_ARGS) -r $(AUDIT)/runtime.txt

clients: client-tools ## Generate clients from openapi.yaml, compile them, play a game with each
	$(BIN)/python -m pytest tests/clients $(PYTEST_ARGS)

# Without npm and Node 20 the Python client alone is tried: the other test is skipped and says why.
client-tools: $(CLIENTS)/.stamp ## Fetch the generators of clients for the tests (130 MB, once)
	@[ $(CLIENTS)/node_modules -nt tests/clients/package.json ] || { \
		rm -rf $(CLIENTS)/node_modules && cp tests/clients/package.json $(CLIENTS)/ && cd $(CLIENTS) && \
		node -e 'process.exit(+(parseInt(process.versions.node) < 20))' && \
		npm install --silent --no-audit --no-fund --no-package-lock && touch node_modules; } || \
		echo "npm and Node 20, or a way to npm's registry, are missing: no TypeScript client is tried."

constraints: $(LOCK)/.stamp ## Pin all parts anew; UPGRADE=--upgrade takes the newest that fit
	cp constraints.txt $(LOCK)/all.txt
	$(LOCK)/bin/uv pip compile $(COMPILE) $(UPGRADE) pyproject.toml \
		--extra plots --extra traces --group dev --group build -o $(LOCK)/all.txt
	rm -f $(LOCK)/runtime.txt $(LOCK)/image.txt
	$(LOCK)/bin/uv pip compile $(COMPILE) pyproject.toml \
		--group build --constraint $(LOCK)/all.txt -o $(LOCK)/runtime.txt
	$(LOCK)/bin/uv pip compile $(COMPILE) pyproject.toml \
		--extra traces --group build --constraint $(LOCK)/all.txt -o $(LOCK)/image.txt
	{ echo '# Every part, pinned, with the hashes of all its files. Written by `make constraints`.'; \
		echo '# ---- runtime: what the service needs'; \
		cat $(LOCK)/runtime.txt; \
		echo '# ---- traces: what the image has besides'; \
		awk '$(UNSEEN)' $(LOCK)/runtime.txt $(LOCK)/image.txt; \
		echo '# ---- development: what tests, checks and plots need besides'; \
		awk '$(UNSEEN)' $(LOCK)/image.txt $(LOCK)/all.txt; \
	} > constraints.txt

clean: ## Remove the environment and all caches; the games in .data stay
	rm -rf $(VENV) .cache build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis \
		.import_linter_cache .schemathesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- set-up

$(VENV)/.made-stamp:
	@command -v $(PYTHON) > /dev/null || { \
		echo "There is no $(PYTHON) here. Name a Python 3.11 or newer: make PYTHON=python3.11 ..."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is $$($(PYTHON) --version 2>&1), too old: 3.11 or newer is needed." \
			"Name one: make PYTHON=python3.11 ..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null || { \
		echo "$(PYTHON) cannot make virtual environments: install the package python3-venv."; exit 1; }
	@echo "making the virtual environment $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# constraints.txt has three sections; the service needs the first one only.
$(VENV)/.run-stamp: constraints.txt pyproject.toml $(VENV)/.made-stamp
	@echo "installing the parts of the service"
	@sed '/^# ---- traces/,$$d' constraints.txt > $(VENV)/runtime.txt
	@$(PIP_INSTALL) --require-hashes -r $(VENV)/runtime.txt
	@$(PIP_INSTALL) --no-build-isolation --no-index --editable .
	@touch $@

$(VENV)/.dev-stamp: $(VENV)/.run-stamp
	@echo "installing the parts of the tests and checks"
	@$(PIP_INSTALL) --require-hashes -r constraints.txt
	@touch $@

$(TOOLS)/.stamp: tests/deploy/tools.txt tests/deploy/tools.py $(VENV)/.dev-stamp
	@echo "fetching the tools of the chart's tests"
	@$(BIN)/python tests/deploy/tools.py
	@touch $@

# A folder that only measurements put on their path. Where there is no wheel they are skipped, and
# the next run tries again.
$(OPENSPIEL)/.stamp: tests/strength/openspiel/requirements.txt $(VENV)/.dev-stamp
	@echo "fetching OpenSpiel"
	@rm -rf $(OPENSPIEL)
	@if $(PIP_INSTALL) --only-binary :all: --require-hashes --target $(OPENSPIEL) -r $<; then \
		touch $@; \
	else echo "there is no OpenSpiel for this machine: what it measures is skipped"; fi

# Atheris has wheels for some Pythons on Linux only, and comes into no environment of ours.
$(FUZZ)/.stamp: $(VENV)/.dev-stamp
	@echo "fetching Atheris"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --only-binary :all: \
		--upgrade --target $(FUZZ)/atheris 'atheris==3.0.0'
	@touch $@

$(AUDIT)/.stamp: $(VENV)/.made-stamp
	@echo "fetching bandit and pip-audit"
	@$(BIN)/python -m venv --clear $(AUDIT)
	@$(AUDIT)/bin/python -m pip install -qq --disable-pip-version-check \
		'bandit==1.9.4' 'pip-audit==2.10.1'
	@touch $@

# The resolver has an environment of its own, as it is no part of what it resolves.
$(LOCK)/.stamp: $(VENV)/.made-stamp
	@$(BIN)/python -m venv --clear $(LOCK)
	@$(LOCK)/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9'
	@touch $@

# The generator of the Python client wants parts that clash with ours.
$(CLIENTS)/.stamp: tests/clients/requirements.txt $(VENV)/.dev-stamp
	@echo "fetching the generators of clients"
	@mkdir -p $(CLIENTS)
	@$(BIN)/python -m venv --clear $(CLIENTS)/venv
	@$(CLIENTS)/venv/bin/python -m pip install -qq --disable-pip-version-check \
		-r tests/clients/requirements.txt
	@touch $@
