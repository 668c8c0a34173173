# `make run` and `make test` do all the set-up: virtual environment, locked dependencies, build.
.DEFAULT_GOAL := build
.PHONY: run test build batond deb image lint docs validation bench bench-daemon bench-gateway bench-live fidelity fidelity-full fuzz fuzz-kept stress soak clean wheel sdist tools

VENV := .venv
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PATH := $(VIRTUAL_ENV)/bin:$(PATH)
# Any Python from 3.10 on, for cargo and for maturin: otherwise each asks an interpreter, and compiles the binding anew.
export PYO3_CONFIG_FILE := $(CURDIR)/crates/py/pyo3-config.txt
PIP_INSTALL := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all:

# The folder whose files pip installs beside those of Python; its place is named in pyproject.toml.
WHEEL_DATA := target/wheel
EMULATOR := $(WHEEL_DATA)/scripts/baton-emulator
# Plotly's script as pages carry it.
PLOTLY := python/baton/report/assets/plotly.packed

# Directories too, so that a file that went away is noticed.
RUST_SOURCES := $(shell find crates -type d -o -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
PYTHON_SOURCES := action python tests scripts examples docs/conf.py
SITE := target/site

run: $(VENV)/built
	baton run scenarios/wavelan-to-gsm.toml --force

test: $(VENV)/built $(VENV)/installed-dev batond
	cargo test --workspace --locked --quiet
	@if [ "$$(id -u)" = 0 ]; then echo "As root, also what makes network namespaces:" && \
	    cargo test --workspace --tests --locked --quiet -- --ignored; \
	else echo "Not root: what makes network namespaces is left out (shown as ignored above)"; fi
	pytest --quiet --numprocesses 2 --dist loadfile -m "not quiet"
	pytest --quiet -m quiet

build: $(VENV)/built

# The daemon of operators, which is no part of the Python package.
batond:
	cargo build --release --locked --package baton-daemon

# Its Debian package, in dist/. The example writes the manual pages from the command line that the program has.
deb:
	cargo build --release --locked --package baton-daemon --bins --examples
	scripts/make-deb.sh

# Its container image.
image:
	@engine=$$(command -v podman || command -v docker) || { echo "make image needs podman or docker" >&2; exit 1; }; \
	    "$$engine" build --file packaging/Containerfile --tag batond .

# Every warning is an error, so that a link or an anchor that leads nowhere fails.
docs: $(VENV)/installed-dev
	sphinx-build --quiet --fresh-env --fail-on-warning --keep-going docs $(SITE)
	@echo "$(SITE)/index.html"

lint: docs $(VENV)/built $(VENV)/installed-dev
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	python scripts/check_architecture.py
	python scripts/check_builds.py
	python scripts/places.py --check
	python scripts/node_calls.py --check
	ruff check $(PYTHON_SOURCES)
	ruff format --check $(PYTHON_SOURCES)
	mypy
	stubtest --concise baton._baton
	python scripts/check_stub.py

# The generated parts of docs/reference and docs/models, docs/validation.md and docs/validation.
validation: $(VENV)/built $(VENV)/installed-dev
	python scripts/generate_reference.py
	python scripts/validate.py

bench: $(VENV)/built $(VENV)/installed-dev
	cargo bench --profile dist --package baton-sim --bench aerotp --bench engine --bench ldacs1 --bench mobility --bench record --bench sweep --locked
	cargo bench --profile dist --package baton-proto --bench fec --locked
	cargo bench --profile dist --package baton-path --bench seal --locked
	python scripts/bench.py
	python scripts/bench_ns3.py

# As root. A `wireguard-go` on the path, or named by WIREGUARD_GO, is measured beside it.
bench-daemon:
	cargo build --profile dist --package baton-daemon --locked
	cargo bench --profile dist --package baton-daemon --bench deployed --locked
	python scripts/bench_daemon.py target/dist/batond
	python scripts/bench_splice.py target/dist/batond

# As root: a pair of gateways beside other ways over bad links, all rows or ROW=two-links. One of the others needs Go.
bench-gateway: $(VENV)/built batond
	cargo build --release --package baton-example-quinn --locked
	cd scripts/bench_gateway/peers/kcp && go build -o $(CURDIR)/target/peers/kcp
	cargo build --release --manifest-path scripts/bench_gateway/peers/quic-multipath/Cargo.toml --target-dir target/peers --locked
	python scripts/bench_gateway $(if $(ROW),--row $(ROW))

bench-live:
	cargo bench --profile dist --package baton-live --bench live --locked

# Both go on where they were interrupted.
fidelity: $(VENV)/built
	baton fidelity --quick

fidelity-full: $(VENV)/built
	baton fidelity

# A coverage-guided search (libFuzzer) on stable Rust. Dependencies are those of the release build, and not searched.
# TARGET: one, or all in turn. The wrapper is named, not only its flags: so cargo keeps these builds apart.
TARGET ?= $(notdir $(wildcard fuzz/corpus/*))
SECONDS ?= 60
FUZZ_BUILD = RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/scripts/fuzz-rustc.sh \
    cargo build --package baton-fuzz --features search --release --locked
FUZZ_BINARIES := $${CARGO_TARGET_DIR:-target}/release

fuzz:
	$(FUZZ_BUILD)
	@for target in $(TARGET); do echo "== $$target, $(SECONDS) s"; mkdir -p target/fuzz/found/$$target target/fuzz/failed && \
	    $(FUZZ_BINARIES)/$$target -max_total_time=$(SECONDS) -max_len=4096 -timeout=20 -print_final_stats=1 \
	    -artifact_prefix=target/fuzz/failed/$$target- target/fuzz/found/$$target fuzz/corpus/$$target || exit 1; done

# Takes into the kept corpus, of what searches have found, the fewest and shortest inputs with all coverage.
fuzz-kept:
	$(FUZZ_BUILD)
	@for target in $(TARGET); do mkdir -p target/fuzz/found/$$target target/fuzz/kept/$$target && \
	    $(FUZZ_BINARIES)/$$target -merge=1 target/fuzz/kept/$$target fuzz/corpus/$$target target/fuzz/found/$$target 2>&1 | tail -1 && \
	    rm -rf fuzz/corpus/$$target && mv target/fuzz/kept/$$target fuzz/corpus/$$target || exit 1; done

# Random scenarios under invariants, from seed FIRST on.
COUNT ?= 20000
stress:
	BATON_STRESS_COUNT=$(COUNT) BATON_STRESS_FIRST=$(or $(FIRST),1) cargo test --release --package baton-sim --test stress --locked -- --nocapture

# As root. A pair of gateways in simulated time, from seed FIRST on, and then as daemons, each for SECONDS (30 minutes).
soak: SECONDS = 1800
soak:
	BATON_SOAK_SECONDS=$(SECONDS) BATON_SOAK_SEED=$(or $(FIRST),1) cargo test --release --package baton-daemon --test soak --locked -- --nocapture
	BATON_SOAK_SECONDS=$(SECONDS) cargo test --release --package baton-daemon --test deployed --locked -- --ignored --nocapture soak

wheel: $(VENV)/installed-build $(EMULATOR) $(PLOTLY)
	rm -f dist/*.whl
	maturin build --profile dist --locked --out dist

sdist: $(VENV)/installed-build
	rm -f dist/*.tar.gz
	maturin sdist --out dist

clean:
	rm -rf $(VENV) dist results target python/baton/*.so $(PLOTLY)

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

# The extension with it, so that both cores have work to the end; maturin then finds it built.
$(EMULATOR): $(RUST_SOURCES) crates/py/pyo3-config.txt
	cargo build --release --locked --package baton-live --package baton-py --features baton-py/extension-module
	@rm -rf $(@D) && mkdir -p $(@D) && install -s "$${CARGO_TARGET_DIR:-target}/release/baton-emulator" $@

$(PLOTLY): scripts/backend/pack_plotly.py $(VENV)/installed-build
	python $<

$(VENV)/built: $(RUST_SOURCES) pyproject.toml $(VENV)/installed-build $(EMULATOR) $(PLOTLY)
	PIP_QUIET=1 maturin develop --release --locked
	@touch $@
