# `make demo` and `make test` set up everything they need in .venv; nothing else has to be done first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
READY_TEST := $(VENV)/.ready-test

.PHONY: demo test quick pages bench soak reproduce check lint types wheel docs clean

demo: $(READY)          ## audit an unfair score on embedded data
	$(BIN)/evenscore demo

test: $(READY_TEST)     ## run the tests (and the examples in the docstrings); six minutes on two cores
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not soak'

quick: $(READY_TEST)    ## the same without the slow ones
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow and not soak'

# BENCH=--quick makes it smaller. benchmarks/compare.py names what got slower between two such files.
bench: $(READY_TEST)    ## measure speed as ratios, to results/bench.json and results/bench.html
	$(BIN)/python benchmarks/run_all.py $(BENCH)

# The hard problems come last: they end with an error if a fit was worse than not having asked.
soak: $(READY_TEST)     ## hours: simulations of the tests ten times over, coverage, made-up audits, certified choices, altered files, stopped processes, hard learning problems
	EVENSCORE_SOAK=10 $(BIN)/python -m pytest -n 2 --dist worksteal
	$(BIN)/python benchmarks/cuts_coverage.py --samples 100
	$(BIN)/python benchmarks/coverage.py --samples 60
	$(BIN)/python benchmarks/fuzz_audits.py --audits 10000 --calls 100000
	mkdir -p results
	$(BIN)/python benchmarks/certified.py --samples 200
	$(BIN)/python benchmarks/fuzz_models.py --samples 10000
	$(BIN)/python benchmarks/fuzz_processes.py --kills 200 --interrupts 100
	$(BIN)/python benchmarks/never_worse.py --again --strict --out results/never_worse.jsonl

# PART=real does one experiment, DATA=compas one data set, QUICK=1 a little of everything in a minute.
reproduce: $(READY_TEST) ## hours: the tables and figures of the paper, to results/paper; what is finished is kept
	$(BIN)/python -m reproduction $(if $(PART),--part $(PART)) $(if $(DATA),--data $(DATA)) $(if $(QUICK),--quick)

check: lint types wheel docs pages test  ## what continuous integration runs

wheel: $(READY_TEST)    ## wheel and source archive: contents, without extras, with them, with the lowest versions promised
	$(BIN)/python tools/check_wheel.py

docs: $(READY_TEST)     ## the site, in site/; a warning or a broken link is an error
	$(BIN)/zensical build --clean --strict

pages: $(READY_TEST)    ## run all code of the documentation: it prints what it shows, and draws its pictures
	$(BIN)/python tools/pages.py

lint: $(READY_TEST)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY_TEST)
	$(BIN)/mypy

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[boosted,files]'
	@touch $@

$(READY_TEST): pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[boosted,files,test,docs]'
	@touch $@ $(READY)

clean:
	rm -rf $(VENV) .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist site
