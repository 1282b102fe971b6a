# The list of commands. Each sets up what it needs, and rebuilds only what changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST_SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find crates -name '*.rs' -o -name Cargo.toml -o -name clippy.toml)
FUZZ_SECONDS ?= 600
SOAK_SECONDS ?= 3600
PROPERTY_SEED ?= 1
# Programs outside the workspace share its target folder, which holds most of what they need.
EXAMPLE := --manifest-path examples/rust-controller/Cargo.toml
IN_TARGET := --target-dir $(or $(CARGO_TARGET_DIR),target)
# One interpreter for every build, so that Cargo does not build the bindings anew for each.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

.DEFAULT_GOAL := help
.PHONY: help controller-grid emulator-bench studio studio-test setup build kernel fit-paths kernel-kills learn run test test-all test-slow test-rust test-programs test-python test-together test-alone test-learn bench instructions lint lint-rust lint-python format docs wheel wheels studies-wheel sdist install-test release-check licences test-ray deb torture proxy-bench publish-check fuzz fuzz-short soak other-processor claims-full record-controllers record-highspeed record-vegas record-learned evolve validate-linux peers lock programs clean record-kernel proxy-thesis proxy-faults soak-proxy dqn-twin site site-pages lessons gallery record-dqn

help: ## list the commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | \
		awk -F '\t' '{ printf "  make %-16s %s\n", $$1, $$2 }'

# ---- setting up -----------------------------------------------------------------------------------------------------

setup: build ## make the virtual environment .venv with the locked packages, and build the extension into it

$(VENV)/.packages: requirements/dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "ackclock needs Python 3.11 or later, and $(PYTHON) is older; run: make PYTHON=python3.x $(MAKECMDGOALS)"; exit 1; }
	@echo "installing the locked packages into $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	@touch $@

$(VENV)/.extension: $(VENV)/.packages $(RUST_SOURCES)
	@command -v cargo >/dev/null || { echo "a Rust toolchain is missing: cargo is not on the PATH"; exit 1; }
	@echo "building the extension in release (a minute or two from nothing)"
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
		--no-build-isolation --editable .
	@touch $@

build: $(VENV)/.extension ## build the extension in release, if its sources changed

$(VENV)/.learning: $(VENV)/.packages requirements/learn.lock | $(VENV)/.extension
	@echo "installing the packages for learning into $(VENV): PyTorch is large"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/learn.lock
	@touch $@

# Controllers for the kernel are compiled with clang and linked with libelf: what of these is missing.
LACKING := $(or $(if $(shell command -v $(or $(CLANG),clang)),,clang) $(if $(wildcard /usr/include/libelf.h),,libelf-dev) \
	$(if $(wildcard /usr/include/zlib.h),,zlib1g-dev) $(if $(shell command -v pkg-config),,pkg-config),)
WITHOUT_BPF := echo "controllers for the kernel are left out, for want of the Debian packages: $(strip $(LACKING))"
WITH_BPF := $(if $(strip $(LACKING)),--exclude ackclock-bpf,--features ackclock-kernel/bpf)

kernel: ## build ackclock-kernel, which runs scenarios on the kernel of this machine, and has its controllers where clang is there
	@$(if $(strip $(LACKING)),$(WITHOUT_BPF),true)
	cargo build --quiet --locked --release -p ackclock-kernel $(if $(strip $(LACKING)),,--features bpf)
	@echo $(or $(CARGO_TARGET_DIR),target)/release/ackclock-kernel

learn: $(VENV)/.learning ## add the packages of ackclock[learn], for `ackclock train`

# ---- using ----------------------------------------------------------------------------------------------------------

run: build ## simulate the O-claims and print them, paper beside measured, with the path of their report
	@$(BIN)/ackclock claims O

claims-full: build ## every claim over its whole grid of choices
	@$(BIN)/ackclock claims all --full

record-controllers: build ## record the claims about controllers anew, ten seeds each: measurements, figures, the page's tables
	@$(BIN)/ackclock claims controllers --full -o out/controllers
	@cp out/controllers/claims.json studies/controllers/recorded.json
	@cd out/controllers/figures && for figure in $$(ls ../../../docs/images | sed -n "s/^claims-controllers-//p"); do cp $$figure ../../../docs/images/claims-controllers-$$figure; done
	@ACKCLOCK_UPDATE_DOCS=1 $(BIN)/python -m pytest -q tests/python/test_claims_pages.py

# One run makes the whole record, so that all of it is of one engine and one commit. A run with --keep can be ended and taken up again.
record-highspeed: build ## the claims on the HighSpeed appliance anew: record, figures, tables of both pages (ACKCLOCK_KEPT; hours)
	@$(BIN)/ackclock claims highspeed-2005 --full --keep $(or $(ACKCLOCK_KEPT),out/kept) -o out/highspeed
	@cp out/highspeed/claims.json studies/highspeed-2005/recorded.json
	@cd out/highspeed/figures && for figure in $$(ls ../../../docs/images | sed -n "s/^claims-highspeed-//p"); do cp $$figure ../../../docs/images/claims-highspeed-$$figure; done
	@cp out/highspeed/figures/credit.png docs/images/claims-latency.png
	@cp out/highspeed/figures/credit-disciplines.png docs/images/claims-latency-disciplines.png
	@ACKCLOCK_UPDATE_DOCS=1 $(BIN)/python -m pytest -q tests/python/test_claims_pages.py

record-dqn: build ## the DQN study anew, twenty seeds by tuple and few on every other testbed: record, figures, the page's tables (ACKCLOCK_KEPT; some five hours of CPU)
	@$(BIN)/ackclock claims dqn-2023 --full --keep $(or $(ACKCLOCK_KEPT),out/kept) -o out/dqn
	@cp out/dqn/claims.json studies/dqn-2023/recorded.json
	@cd out/dqn/figures && for figure in $$(ls ../../../docs/images | sed -n "s/^claims-dqn-//p" | grep -v twin); do cp $$figure ../../../docs/images/claims-dqn-$$figure; done
	@ACKCLOCK_UPDATE_DOCS=1 $(BIN)/python -m pytest -q tests/python/test_claims_pages.py

record-vegas: build ## record the Vegas study anew over its whole grid: measurements, figures, the page's tables (ACKCLOCK_KEPT; some 40 minutes of CPU)
	@$(BIN)/ackclock claims vegas-1999 --full --keep $(or $(ACKCLOCK_KEPT),out/kept) -o out/vegas
	@$(BIN)/python studies/vegas-1999/record.py out/vegas
	@cd out/vegas/figures && for figure in $$(ls ../../../docs/images | sed -n "s/^claims-vegas-//p"); do cp $$figure ../../../docs/images/claims-vegas-$$figure; done
	@ACKCLOCK_UPDATE_DOCS=1 $(BIN)/python -m pytest -q tests/python/test_claims_vegas.py tests/python/test_claims_pages.py

record-learned: build ## the learned controller beside CUBIC, BBRv3, Copa and PCC Vivace anew (ACKCLOCK_TRACES: recorded traces; ACKCLOCK_KEPT; two minutes of CPU)
	@test -n "$$ACKCLOCK_TRACES" || { echo "ACKCLOCK_TRACES names no folder of recorded traces: claims on recorded cells would keep their old record"; exit 1; }
	@$(BIN)/ackclock claims learned --full --keep $(or $(ACKCLOCK_KEPT),out/kept) -o out/learned
	@cp out/learned/claims.json studies/learned/recorded.json
	@for figure in run trade; do cp out/learned/figures/learned-$$figure.png docs/images/claims-learned-$$figure.png; done
	@ACKCLOCK_UPDATE_DOCS=1 $(BIN)/python -m pytest -q tests/python/test_claims_learned.py tests/python/test_claims_pages.py

# With ACKCLOCK_KEPT runs that were made before are not made again. Verdicts that changed are for a person.
record-kernel: build kernel ## record anew what runs on the kernel, as root and in real time: some 100 minutes
	@$(BIN)/ackclock claims kernel --full --keep $(or $(ACKCLOCK_KEPT),out/kept-kernel) -o out/kernel
	@cp out/kernel/claims.json studies/kernel/recorded.json
	@ACKCLOCK_UPDATE_DOCS=1 $(BIN)/python -m pytest -q tests/python/test_claims_kernel.py

evolve: build ## learn the policy of `ackclock claims learned` anew (ACKCLOCK_TRACES: recorded traces)
	@$(BIN)/python -m studies.learned.evolve studies/learned/train -o out/evolve/first --force --seed 2 --candidates 15 --deviation 0.1 \
		--generations 70 --processes 2
	@$(BIN)/python -m studies.learned.evolve studies/learned/train -o out/evolve/second --force --seed 5 --candidates 15 --deviation 0.08 \
		--generations 30 --processes 2 --tie 0.1 --loss-weight 20 --begin out/evolve/first/parameters.json

validate-linux: build ## recorded flows of Linux beside the same settings simulated
	@$(BIN)/ackclock validate-linux

bench: build ## measure packets per second of CPU, events per second, and memory
	@$(BIN)/ackclock bench
	@$(BIN)/python benches/engine/instructions.py

instructions: build ## count the instructions of a packet: no more than 5 % over the last line of benches/instructions.jsonl
	@$(BIN)/python benches/engine/instructions.py

dqn-twin: build ## the papers on controllers that learn in ns-3 and in ackclock, as a record (TWIN: rows and options)
	@$(BIN)/python benches/peers/dqn_twin.py $(TWIN)
	@$(BIN)/python benches/peers/dqn_picture.py

peers: ## the same scenarios on ackclock and ns-3, in turn, with intervals (PEERS: cases and options)
	@benches/peers/rerun.sh $(PEERS)

torture: ## the torture suite on this proxy, HAProxy, nginx and socat, where they are there
	cargo build --quiet --release -p ackclock-proxy
	@for proxy in ours haproxy nginx socat; do \
		target/release/ackclock-torture --proxy "benches/proxies/$$proxy.sh {listen} {upstream}" --name $$proxy --jobs 8 | tail -n 1; done

proxy-bench: ## the proxy beside HAProxy and nginx, in turn, with intervals
	cargo build --quiet --release -p ackclock-proxy
	@$(PYTHON) benches/proxy_bench.py

studio: ## the simulator in the browser, into studio/dist; `ackclock studio` serves it (needs npm, and Rust's library for wasm32 or Debian's rustc-web)
	@command -v npm >/dev/null || { echo "the studio is left out, for want of npm (apt-get install npm)"; exit 1; }
	@cd studio && npm ci --no-audit --no-fund --silent
	studio/engine.sh
	@cd studio && npm run --silent build && npm run --silent check

studio-test: build ## the built studio in a browser beside the native engine: scenarios to the byte, speed, frames, pictures in out/studio (STUDIO_SCENARIOS)
	@$(BIN)/python tests/python/studio_cases.py --scenarios $(or $(STUDIO_SCENARIOS),50)

emulator-bench: kernel ## how late the emulator is, what passes through it, and the kernel's token bucket beside it (root; EMULATOR: options)
	@$(BIN)/python benches/appliance/emulator.py $(EMULATOR)

proxy-thesis: kernel ## the HighSpeed appliance of Isogaki's thesis with real hosts beside the simulated ones (root; THESIS: options)
	cargo build --quiet --release -p ackclock-proxy
	@$(BIN)/python benches/appliance/thesis.py $(THESIS)

proxy-faults: ## random connections through the proxy over links that lose, copy and reorder (root, `make kernel`; CONNECTIONS)
	cargo build --quiet --release -p ackclock-proxy
	@$(PYTHON) benches/appliance/faults.py --connections $(or $(CONNECTIONS),100000)

soak-proxy: ## idle and busy connections for 20 minutes: memory flat, no descriptor lost (SOAK: options)
	cargo build --quiet --release -p ackclock-proxy
	@$(PYTHON) benches/appliance/soak.py $(SOAK)

deb: kernel ## a Debian package of ackclock-proxy, ackclock-torture and ackclock-kernel in target/
	cargo build --quiet --locked --release -p ackclock-proxy
	@crates/proxy/packaging/build-deb.sh

# ---- checking -------------------------------------------------------------------------------------------------------

# What runs alone leaves a core free, and counts of instructions do not depend on what else runs.
test: build test-rust test-together ## the tests of a change: crates, package, command line, instructions per packet
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=line test-alone instructions

test-all: test test-slow fuzz-short ## every test: also those that compile, and fuzzing with fixed inputs

# The random cases of properties are the same in every run, so that what passes here passes elsewhere; a soak takes others.
test-rust: export PROPTEST_RNG_SEED = $(PROPERTY_SEED)
CRATES := --quiet --locked --workspace --exclude ackclock-python $(WITH_BPF)
test-rust: $(VENV)/.packages ## the tests of the crates, properties with the cases of PROPERTY_SEED
	@$(if $(strip $(LACKING)),$(WITHOUT_BPF),true)
	cargo test $(CRATES)

test-programs: ## compile the tests of the crates, and run none
	cargo test $(CRATES) --no-run

test-python: test-together test-alone ## the tests of the package and the command line

# A file of tests stays with one worker, as its tests share runs; the longest files come first in the alphabet.
test-together: build
	$(BIN)/python -m pytest -q --numprocesses auto --dist loadfile --no-loadscope-reorder -m "not alone and not slow"

test-alone: build
	$(BIN)/python -m pytest -q -m "alone and not slow" tests/python

# The example is built from crates with other features than in the workspace, hence anew: longer than its tests take.
test-slow: build ## the tests that build a wheel or a program
	CARGO_PROFILE_DEV_OPT_LEVEL=0 cargo test --quiet --locked $(EXAMPLE) $(IN_TARGET)
	$(BIN)/python -m pytest -q -m slow tests/python

$(VENV)/.ray: $(VENV)/.packages requirements/ray.lock | $(VENV)/.extension
	@echo "installing Ray into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/ray.lock
	@touch $@

test-ray: $(VENV)/.ray ## sweeps and studies on a Ray cluster of two nodes on this machine
	$(BIN)/python -m pytest -q tests/python/test_ray_cluster.py

test-learn: learn ## the tests of training, which need the packages of ackclock[learn]
	$(BIN)/python -m pytest -q -m learn tests/python

lint: lint-rust lint-python ## formatting, lints, types, the crates' reference, the stub against the binary, requirements against the sources

lint-rust: docs
	cargo fmt --all --check
	cargo fmt $(EXAMPLE) --check
	cargo clippy --quiet --locked --workspace $(WITH_BPF) --all-targets -- -D warnings
	cargo clippy --quiet --locked $(EXAMPLE) $(IN_TARGET) --all-targets -- -D warnings

lint-python: build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy python --exclude "claims/folders/|ackclock/scenarios/"
	for folder in python/ackclock/claims/folders/*/ studies/*/ studies/learned/evolve/ benches/engine/ site/records/; do $(BIN)/mypy $$folder*.py || exit 1; done
	$(BIN)/python -m mypy.stubtest ackclock._core
	$(BIN)/python tests/stub.py
	$(BIN)/python tests/requirements.py
	$(BIN)/python tests/words.py

format: $(VENV)/.packages ## put every source file into the one form
	cargo fmt --all
	cargo fmt $(EXAMPLE)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

fuzz: ## fuzz each target for FUZZ_SECONDS seconds (skipped without a nightly toolchain)
	tests/fuzz/run.sh $(FUZZ_SECONDS)

fuzz-short: ## fuzz each target with the same 3,000 inputs each time
	tests/fuzz/run.sh 3000x

# The package as it stands, over an extension with every assertion and with overflows looked at.
SOAK := $(abspath $(or $(CARGO_TARGET_DIR),target))/soak
$(SOAK)/python/.extension: $(VENV)/.extension $(RUST_SOURCES)
	@echo "building the extension with assertions (some minutes from nothing)"
	@PYO3_BUILD_EXTENSION_MODULE=1 cargo build --quiet --locked --profile soak -p ackclock-python
	@rm -rf $(SOAK)/python && mkdir -p $(SOAK)/python/ackclock
	@ln -s $(CURDIR)/python/ackclock/* $(SOAK)/python/ackclock/
	@rm -f $(SOAK)/python/ackclock/_core.abi3.so && cp $(SOAK)/lib_core.so $(SOAK)/python/ackclock/_core.abi3.so
	@touch $@

# Half of the time for random networks, the rest for two tests of random changes and five of kills, each with an equal part;
# then the properties of the crates on new cases.
soak: $(SOAK)/python/.extension ## try to break it for SOAK_SECONDS seconds, with every assertion; scenarios that do stay in out/random
	PYTHONPATH=$(SOAK)/python $(BIN)/python tests/python/random_scenarios.py --seconds $$(( $(SOAK_SECONDS) / 2 )) out/random
	PYTHONPATH=$(SOAK)/python SOAK_SECONDS=$$(( $(SOAK_SECONDS) / 14 )) SOAK_SEED=$$(date +%s) $(BIN)/python -m pytest -q --timeout=0 \
		tests/python/test_wrong_inputs.py tests/python/test_mutations.py tests/python/test_kills.py
	$(MAKE) test-rust PROPERTY_SEED=$$(date +%s)

fit-paths: build ## find ten known paths again, 30 s of CPU
	ACKCLOCK_FIT_PATHS=1 $(BIN)/python -m pytest -q tests/python/test_fit.py

controller-grid: ## every controller through every disturbance on every stack, some minutes of CPU (GRID: words of the cells to show)
	ACKCLOCK_GRID='$(or $(GRID),all)' cargo test --quiet --locked -p ackclock-scenario --test suite controller_grid::every -- --nocapture

kernel-kills: ## kill runs on the kernel at 1,000 random moments, as root: nothing may be left (KILLS)
	ACKCLOCK_KILLS=$(or $(KILLS),1000) cargo test --quiet --locked -p ackclock-kernel --test namespaces killed

other-processor: build ## compare the results of scenarios with those on 64-bit ARM (skipped without its compiler or qemu)
	tests/other-processor.sh

# ---- publishing -----------------------------------------------------------------------------------------------------

# Zig links for an older Linux than this machine's, and for another processor where Rust has its library.
PROCESSORS ?= x86_64 aarch64
$(VENV)/.zig: $(VENV)/.packages
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check ziglang
	@touch $@

wheels: $(VENV)/.zig ## wheels for Linux 2018 and later (manylinux_2_28) into dist/, stripped, for PROCESSORS
	@release/wheels.sh $(PROCESSORS)

studies-wheel: ## the wheel ackclock-studies into dist/ (fetches its build backend)
	@$(PYTHON) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist ./studies
	@ls dist/ackclock_studies-*.whl

sdist: $(VENV)/.packages ## the source distribution into dist/
	@$(BIN)/maturin sdist --out dist
	@ls dist/*.tar.gz

target/twine/bin/twine:
	@$(PYTHON) -m venv target/twine
	@target/twine/bin/python -m pip install --quiet --disable-pip-version-check twine

release-check: target/twine/bin/twine ## one version everywhere, licences, and what PyPI will make of dist/
	@$(PYTHON) release/versions.py
	@$(MAKE) --no-print-directory licences
	@target/twine/bin/twine check --strict dist/*

install-test: ## install the wheel of dist/ from a local index into a clean environment, run, and hold times and sizes to their limits
	@$(PYTHON) release/install_test.py --wheels dist

licences: $(VENV)/.packages ## the licences of crates and packages against deny.toml
	@$(BIN)/python release/licences.py

wheel: $(VENV)/.packages ## build a wheel into dist/
	$(BIN)/maturin build --quiet --release --locked --out dist --interpreter $(BIN)/python
	@ls dist/*.whl

publish-check: ## package the crates as for crates.io, each built from its package alone (nothing is published; commit first)
	cargo publish --quiet --locked --workspace --exclude ackclock-python --exclude ackclock-bpf --dry-run

programs: ## what benchmarks simulate, without Python, for a profiler
	cargo build --quiet --locked --release -p ackclock-env --example steps
	cargo build --quiet --locked --release -p ackclock-scenario --example simulate

docs: $(VENV)/.packages ## the reference of the crates, into target/doc
	RUSTDOCFLAGS="-D warnings" cargo doc --quiet --locked --no-deps --workspace $(WITH_BPF)
	@echo $(or $(CARGO_TARGET_DIR),target)/doc/ackclock/index.html

lock: ## resolve the packages anew, with hashes
	$(PYTHON) -m venv target/lock
	target/lock/bin/python -m pip install --quiet uv
	UV_CUSTOM_COMPILE_COMMAND="make lock" target/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes pyproject.toml --extra report --extra gym -o requirements/base.lock
	UV_CUSTOM_COMPILE_COMMAND="make lock" target/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes pyproject.toml --extra report --extra notebook --extra gym requirements/dev.in -c requirements/base.lock -o requirements/dev.lock
	UV_CUSTOM_COMPILE_COMMAND="make lock" target/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes pyproject.toml --extra learn -c requirements/dev.lock -o requirements/learn.lock
	UV_CUSTOM_COMPILE_COMMAND="make lock" target/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes pyproject.toml --extra ray -c requirements/dev.lock -o requirements/ray.lock
	UV_CUSTOM_COMPILE_COMMAND="make lock" target/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes requirements/site.in -c requirements/dev.lock -o requirements/site.lock

# ---- the site --------------------------------------------------------------------------------------------------------

# An environment of its own, which sees the packages and the extension of the other one.
SITE := target/site/venv
$(SITE)/.packages: requirements/site.lock $(VENV)/.packages
	@echo "installing what makes the site into $(SITE)"
	@$(PYTHON) -m venv $(SITE)
	@$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/site.lock
	@$(BIN)/python -c 'import sysconfig; print("$(CURDIR)/python", sysconfig.get_path("purelib"), sep="\n")' > \
		$$($(SITE)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/ackclock-site.pth
	@touch $@

site: build docs $(SITE)/.packages ## build the site into target/site/html: pages, lessons as they ran, catalogue, references; links are followed
	@$(SITE)/bin/python site/build.py

site-pages: build $(SITE)/.packages ## the same without the reference of the crates, which takes minutes
	@$(SITE)/bin/python site/build.py --without-rust

lessons: build $(SITE)/.packages ## run the lessons as notebooks, and judge their solutions (LESSONS: names)
	@$(SITE)/bin/python site/lessons.py $(LESSONS)

gallery: build $(SITE)/.packages ## write docs/gallery/README.md, the list of figures and of what draws them
	@$(SITE)/bin/python site/gallery.py

clean: ## remove what was built
	rm -rf $(VENV) dist target
