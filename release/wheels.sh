#!/usr/bin/env bash
# Wheels for Linux with glibc 2.28 (2018) or later, linked by zig, stripped, into dist/:
#
#   release/wheels.sh [PROCESSOR...]     x86_64, aarch64; both by default
#
# A processor is left out, saying so, where Rust has no library for it: `rustup target add aarch64-unknown-linux-gnu`, or
# RUSTC may be another compiler that has one. Needs .venv with maturin and ziglang (`make -f release/Makefile wheels`).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PATH=$PWD/.venv/bin:$PATH
rustc=${RUSTC:-rustc}

# With the studio, if it was built (`make studio`), so that `ackclock studio` works from the wheel alone.
page=python/ackclock/studio_page
trap 'rm -rf "$page"' EXIT
if [[ -f studio/dist/index.html ]]; then
    rm -rf "$page" && cp -r studio/dist "$page"
else
    echo "without the studio, which is not built: make studio" >&2
fi
[[ $# -gt 0 ]] || set -- x86_64 aarch64
for processor in "$@"; do
    target=$processor-unknown-linux-gnu
    if [[ ! -d $("$rustc" --print sysroot)/lib/rustlib/$target ]]; then
        echo "SKIPPED the wheel for $processor: Rust has no library for it; rustup target add $target" >&2
        continue
    fi
    maturin build --quiet --release --locked --strip --zig --compatibility manylinux_2_28 --target "$target" \
        --interpreter python3.11 --out dist
done
ls -l dist/*.whl
