# `make run` and `make test` do all the set-up: virtual environment, locked dependencies, build.
.DEFAULT_GOAL := build
.PHONY: run test build lint docs validation bench bench-live fidelity fidelity-full clean wheel tools

VENV := .venv
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PATH := $(VIRTUAL_ENV)/bin:$(PATH)
# One interpreter for all builds: another would compile the Python binding anew.
export PYO3_PYTHON := $(VIRTUAL_ENV)/bin/python
PIP_INSTALL := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all:

# The folder whose files pip installs beside those of Python; its place is named in pyproject.toml.
WHEEL_DATA := target/wheel
BATOND := $(WHEEL_DATA)/scripts/batond

# Directories too, so that a file that went away is noticed.
RUST_SOURCES := $(shell find crates -type d -o -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
PYTHON_SOURCES := python tests scripts examples docs/conf.py
SITE := target/site

run: $(VENV)/built
	baton run scenarios/wavelan-to-gsm.toml --force

test: $(VENV)/built $(VENV)/installed-dev
	cargo test --workspace --locked --quiet
	@if [ "$$(id -u)" = 0 ]; then echo "As root, also what makes network namespaces:" && \
	    cargo test --package baton-live --tests --locked --quiet -- --ignored; \
	else echo "Not root: what makes network namespaces is left out (shown as ignored above)"; fi
	pytest --quiet

build: $(VENV)/built

# Every warning is an error, so that a link or an anchor that leads nowhere fails.
docs: $(VENV)/installed-dev
	sphinx-build --quiet --fresh-env --fail-on-warning --keep-going docs $(SITE)
	@echo "$(SITE)/index.html"

lint: docs $(VENV)/built $(VENV)/installed-dev
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	python scripts/check_architecture.py
	ruff check $(PYTHON_SOURCES)
	ruff format --check $(PYTHON_SOURCES)
	mypy
	stubtest --concise baton._baton
	python scripts/check_stub.py

# The tables and figures of the models' pages, and docs/validation.md.
validation: $(VENV)/built $(VENV)/installed-dev
	python scripts/model_tables.py
	python scripts/validate.py

bench: $(VENV)/built $(VENV)/installed-dev
	cargo bench --package baton-sim --bench engine --bench record --bench sweep --locked
	python scripts/bench.py

bench-live:
	cargo bench --package baton-live --bench live --locked

# Both go on where they were interrupted.
fidelity: $(VENV)/built
	baton fidelity --quick

fidelity-full: $(VENV)/built
	baton fidelity

wheel: $(VENV)/installed-build $(BATOND)
	rm -rf dist
	maturin build --release --locked --out dist

clean:
	rm -rf $(VENV) dist results target python/baton/*.so

tools:
	@scripts/check-tools.sh >/dev/null

# Stamps. An absent or unsuited tool is named before anything is made.
$(VENV)/bin/python:
	@python=$$(scripts/check-tools.sh) && echo "Virtual environment in $(VENV)" && "$$python" -m venv $(VENV)

$(VENV)/installed-build: requirements/build.lock | $(VENV)/bin/python
	$(PIP_INSTALL) --requirement $<
	@touch $@

$(VENV)/installed-dev: requirements/dev.lock | $(VENV)/bin/python
	$(PIP_INSTALL) --requirement $<
	@touch $@

$(BATOND): $(RUST_SOURCES)
	cargo build --release --locked --package baton-live
	@mkdir -p $(@D) && install -s "$${CARGO_TARGET_DIR:-target}/release/batond" $@

$(VENV)/built: $(RUST_SOURCES) pyproject.toml $(VENV)/installed-build $(BATOND)
	PIP_QUIET=1 maturin develop --release --locked
	@touch $@
