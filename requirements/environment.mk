# What all Makefiles here share: the environment, the extension, the packages of extras, the programs for the kernel.
# Each is run in the root of the repository: make, or make -f FOLDER/Makefile TARGET.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST_SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find crates -path crates/ackclock/examples -prune -o \( -name '*.rs' -o -name '*.toml' \) -print)
# One interpreter for every build, so that Cargo does not build the bindings anew for each.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

.DEFAULT_GOAL := help
.PHONY: help build learn kernel docs

help:
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | \
		awk -F '\t' '{ printf "  make $(if $(filter-out Makefile,$(firstword $(MAKEFILE_LIST))),-f $(firstword $(MAKEFILE_LIST)) )%-18s %s\n", $$1, $$2 }'
	@$(or $(MORE),true)

$(VENV)/.packages: requirements/dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "ackclock needs Python 3.11 or later, and $(PYTHON) is older; run: make PYTHON=python3.x $(MAKECMDGOALS)"; exit 1; }
	@echo "installing the locked packages into $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	@touch $@

$(VENV)/.extension: $(VENV)/.packages $(RUST_SOURCES)
	@command -v cargo >/dev/null || { echo "a Rust toolchain is missing: cargo is not on the PATH"; exit 1; }
	@echo "building the extension in release (about five minutes from nothing)"
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
		--no-build-isolation --editable .
	@touch $@

build: $(VENV)/.extension

$(VENV)/.learning: $(VENV)/.packages requirements/learn.lock | $(VENV)/.extension
	@echo "installing the packages for learning into $(VENV): PyTorch is large"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/learn.lock
	@touch $@

learn: $(VENV)/.learning

# Controllers for the kernel are compiled with clang and linked with libelf: what of these is missing.
LACKING := $(or $(if $(shell command -v $(or $(CLANG),clang)),,clang) $(if $(wildcard /usr/include/libelf.h),,libelf-dev) \
	$(if $(wildcard /usr/include/zlib.h),,zlib1g-dev) $(if $(shell command -v pkg-config),,pkg-config),)
WITHOUT_BPF := echo "controllers for the kernel are left out, for want of the Debian packages: $(strip $(LACKING))"
WITH_BPF := $(if $(strip $(LACKING)),--exclude ackclock-bpf,--features ackclock-kernel/bpf)

kernel:
	@$(if $(strip $(LACKING)),$(WITHOUT_BPF),true)
	cargo build --quiet --locked --release -p ackclock-kernel $(if $(strip $(LACKING)),,--features bpf)
	@echo $(or $(CARGO_TARGET_DIR),target)/release/ackclock-kernel

# The reference of the crates, which says what is wrong in it.
docs: $(VENV)/.packages
	RUSTDOCFLAGS="-D warnings" cargo doc --quiet --locked --no-deps --workspace $(WITH_BPF)
	@echo $(or $(CARGO_TARGET_DIR),target)/doc/ackclock/index.html
