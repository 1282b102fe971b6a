# Everyday commands. Each sets up what it needs, and rebuilds only what changed.

include requirements/environment.mk

PROPERTY_SEED ?= 1
# Programs outside the workspace share its target folder, which holds most of what they need.
EXAMPLE := --manifest-path crates/ackclock/examples/rust-controller/Cargo.toml
IN_TARGET := --target-dir $(or $(CARGO_TARGET_DIR),target)

# The crates of the engine are the default members of the workspace, the others its satellites. A selection of crates decides
# the features of the packages that they share, hence what is compiled: with SATELLITES=1 one selection has all tests.
ENGINE := $(patsubst ackclock-ackclock,ackclock,$(patsubst crates/%,ackclock-%,$(shell sed -n 's/^default-members = //p' Cargo.toml | tr -d '[]",')))
EVERY_CRATE := --workspace --exclude ackclock-python $(WITH_BPF)
TESTED := --quiet --locked $(if $(SATELLITES),$(EVERY_CRATE))

.PHONY: run test test-all test-satellites test-slow lint format site lock clean
.PHONY: studio test-rust test-programs test-together test-alone test-long instructions lint-rust lint-python

help: ## list the commands
MORE := echo "make -f FOLDER/Makefile lists more; FOLDER is studies, benches, tests, docs, studio or release"

build: ## build the extension in release, if its sources changed, into .venv with the locked packages

run: build ## simulate the O-claims and print them, paper beside measured, with the path of their report
	@$(BIN)/ackclock claims O

# ---- checking -------------------------------------------------------------------------------------------------------

# Linking the extension leaves a core free.
test: $(VENV)/.packages ## the tests of a change: engine, package, command line
	@$(MAKE) --no-print-directory --jobs 2 build test-programs
	@$(MAKE) --no-print-directory test-rust
	@$(MAKE) --no-print-directory test-together

test-satellites: $(VENV)/.packages ## the tests of the crates around the engine
	@$(if $(strip $(LACKING)),$(WITHOUT_BPF),true)
	cargo test --quiet --locked $(EVERY_CRATE) $(addprefix --exclude ,$(ENGINE))

# The example is built from crates with other features than in the workspace, hence anew: longer than its tests take.
test-slow: build
	CARGO_PROFILE_DEV_OPT_LEVEL=0 cargo test --quiet --locked $(EXAMPLE) $(IN_TARGET)
	$(BIN)/python -m pytest -q -m slow tests/python

test-all: test test-satellites test-alone test-long instructions test-slow ## every test: studies, pages, instructions per packet, wheels, fuzzing
	@$(MAKE) -f tests/Makefile fuzz-short

# The random cases of properties are the same in every run, so that what passes here passes elsewhere; a soak takes others.
# Each test in documentation would warn that it cannot reach make's job server.
test-rust test-satellites: export PROPTEST_RNG_SEED = $(PROPERTY_SEED)
test-rust: $(VENV)/.packages
	@$(if $(strip $(LACKING)),$(WITHOUT_BPF),true)
	env -u MAKEFLAGS -u MFLAGS cargo test $(TESTED)

test-programs:
	cargo test $(TESTED) --no-run

# A file of tests stays with one worker, as its tests share runs; the longest files come first in the alphabet.
TOGETHER := $(BIN)/python -m pytest -q --numprocesses auto --dist loadfile --no-loadscope-reorder

test-together: build
	$(TOGETHER) -m "not alone and not slow$(if $(LONG),, and not long)"

test-long: build
	$(TOGETHER) -m "long and not slow"

test-alone: build
	$(BIN)/python -m pytest -q -m "alone and not slow" tests/python

instructions: build
	@$(BIN)/python benches/engine/instructions.py

lint: lint-rust lint-python ## formatting, lints, types, the crates' reference, the stub against the binary, requirements against the sources

lint-rust: docs
	cargo fmt --all --check
	cargo fmt $(EXAMPLE) --check
	cargo clippy --quiet --locked --workspace $(WITH_BPF) --all-targets -- -D warnings
	cargo clippy --quiet --locked $(EXAMPLE) $(IN_TARGET) --all-targets -- -D warnings

# One run checks all: each reads the types of all packages first. Modules of studies have the same names, hence these packages.
PACKAGES := $(dir $(wildcard studies/*/__init__.py))
STUDIES := $(filter-out $(PACKAGES),$(dir $(wildcard studies/*/claims.toml python/ackclock/claims/folders/*/claims.toml)))

lint-python: build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@rm -rf target/types && for folder in $(STUDIES); do \
		package=target/types/$$(basename $$folder | tr - _); mkdir -p $$package && touch $$package/__init__.py && \
		ln -s $(CURDIR)/$$folder*.py $$package || exit 1; done
	$(BIN)/mypy python studies/*.py $(PACKAGES) target/types benches/speed benches/engine/*.py docs/site/records/*.py --exclude "claims/folders/|ackclock/scenarios/"
	$(BIN)/python -m mypy.stubtest ackclock._core --mypy-config-file tests/stubtest.ini
	$(BIN)/python tests/stub.py
	$(BIN)/python tests/requirements.py
	$(BIN)/python tests/words.py

format: $(VENV)/.packages ## put every source file into the one form
	cargo fmt --all
	cargo fmt $(EXAMPLE)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# ---- publishing -----------------------------------------------------------------------------------------------------

site: ## build the site into target/site/html: pages, lessons as they ran, catalogue, references; links are followed
	@$(MAKE) -f docs/Makefile site

studio:
	@$(MAKE) -f studio/Makefile studio

lock: ## resolve the packages anew, with hashes
	$(PYTHON) -m venv target/lock
	target/lock/bin/python -m pip install --quiet uv
	UV_CUSTOM_COMPILE_COMMAND="make lock" target/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes pyproject.toml --extra report --extra gym -o requirements/base.lock
	UV_CUSTOM_COMPILE_COMMAND="make lock" target/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes pyproject.toml --extra report --extra notebook --extra gym --extra attack requirements/dev.in -c requirements/base.lock -o requirements/dev.lock
	UV_CUSTOM_COMPILE_COMMAND="make lock" target/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes pyproject.toml --extra learn -c requirements/dev.lock -o requirements/learn.lock
	UV_CUSTOM_COMPILE_COMMAND="make lock" target/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes pyproject.toml --extra ray -c requirements/dev.lock -o requirements/ray.lock
	UV_CUSTOM_COMPILE_COMMAND="make lock" target/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes requirements/site.in -c requirements/dev.lock -o requirements/site.lock

clean: ## remove what was built
	rm -rf $(VENV) dist target
