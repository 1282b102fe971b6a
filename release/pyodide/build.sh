#!/usr/bin/env bash
# The wheel for Pyodide (Python in a browser) into dist/pyodide/; what is missing for it with --missing.
#
# The extension is compiled for wasm32-unknown-emscripten with a standard library from source, as a static library, and linked by
# rust-lld as a side module, which takes the C library and Python from Pyodide. So emcc is not needed. Exceptions of a user's
# class unwind the simulation; both sides use WebAssembly's exceptions.
#
# The source of the standard library is that of rustup (rustup component add rust-src), or else that of Debian's rustc-web with its
# compiler, as for the studio (studio/engine.sh). Cargo and rust-lld are rustup's. Needs .venv with maturin.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# The Python of the newest Pyodide, and the name of its ABI (PEP 783).
python=3.14
platform=pyemscripten_2026_0_wasm32

tools=${ACKCLOCK_WASM_TOOLS:-$PWD/target/wasm-tools}
packages=(rust-web-src rustc-web libstd-rust-web-1.96 libstd-rust-web-dev libllvm22)
root=$tools/root
bin=${VENV:-.venv}/bin
sysroot=$(rustc --print sysroot 2>/dev/null || true)
lld=("$sysroot"/lib/rustlib/*/bin/rust-lld)

has_source() { [[ -d $sysroot/lib/rustlib/src/rust/library ]]; }

missing() {
    command -v cargo >/dev/null || echo "a Rust toolchain (cargo)"
    [[ -x ${lld[0]} ]] || echo "rust-lld of a rustup toolchain"
    [[ -x $bin/maturin ]] || echo "maturin in $bin"
    has_source || [[ -x $root/usr/bin/rustc ]] || command -v apt-get >/dev/null ||
        echo "the source of Rust's standard library (rustup component add rust-src)"
}

if [[ ${1:-} == --missing ]]; then
    missing
    exit
fi
lacking=$(missing | paste -sd ';')
if [[ -n $lacking ]]; then
    echo "the wheel for Pyodide is left out, for want of: $lacking" >&2
    exit 1
fi

compiler=()
if ! has_source; then
    if [[ ! -x $root/usr/bin/rustc ]]; then
        mkdir -p "$tools"
        (cd "$tools" && apt-get download "${packages[@]}")
        for package in "$tools"/*.deb; do dpkg -x "$package" "$root"; done
    fi
    compiler=(RUSTC="$root/usr/bin/rustc" LD_LIBRARY_PATH="$root/usr/lib/x86_64-linux-gnu:$root/usr/lib")
fi
# Without link-time optimisation, which takes longer than all else.
env "${compiler[@]}" PATH="$(dirname "${lld[0]}"):$PATH" RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Crelocation-model=pic" \
    PYO3_CROSS=1 PYO3_CROSS_PYTHON_VERSION=$python \
    CARGO_PROFILE_RELEASE_DEBUG=false CARGO_PROFILE_RELEASE_STRIP=true CARGO_PROFILE_RELEASE_LTO=off \
    CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_PANIC=unwind \
    cargo rustc --quiet --locked --release -Zbuild-std=std,panic_unwind --target wasm32-unknown-emscripten \
    -p ackclock-python --crate-type staticlib
made=${CARGO_TARGET_DIR:-target}/wasm32-unknown-emscripten/release
"${lld[0]}" -flavor wasm -shared --experimental-pic --no-entry --allow-undefined --gc-sections --strip-all \
    --export=PyInit__core "$made/lib_core.a" -o "$made/_core.abi3.so"
"$bin/python" release/pyodide/wheel.py "$made/_core.abi3.so" --platform "$platform" --out dist/pyodide
