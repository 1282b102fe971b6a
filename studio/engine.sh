#!/usr/bin/env bash
# The engine of the studio as WebAssembly, into studio/engine.wasm; what is missing for it with --missing.
#
# A toolchain that has the standard library for wasm32-unknown-unknown (rustup target add wasm32-unknown-unknown) is used as it is.
# Where that cannot be had, Debian's rustc-web has the source of one that fits it; its packages clash with rustup's when they are
# installed, so they are only unpacked, into $ACKCLOCK_WASM_TOOLS. Cargo is rustup's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools=${ACKCLOCK_WASM_TOOLS:-$PWD/target/wasm-tools}
packages=(rust-web-src rustc-web libstd-rust-web-1.96 libstd-rust-web-dev libllvm22)
root=$tools/root
libraries=$root/usr/lib/x86_64-linux-gnu:$root/usr/lib

# Whether the usual toolchain compiles for it by itself.
has_target() { [[ -d $(rustc --print sysroot 2>/dev/null)/lib/rustlib/wasm32-unknown-unknown/lib ]]; }

# What the machine lacks, in words; nothing if it lacks nothing.
missing() {
    command -v cargo >/dev/null || echo "a Rust toolchain (cargo)"
    ! has_target || return 0
    [[ -n $(rust_lld) ]] || echo "rust-lld of a rustup toolchain"
    [[ -x $root/usr/bin/rustc ]] || command -v apt-get >/dev/null || echo "apt-get, for Debian's rustc-web"
}

# The folder of rust-lld, which Debian's compiler does not bring.
rust_lld() {
    local found=("$(rustc --print sysroot 2>/dev/null)"/lib/rustlib/*/bin/rust-lld)
    [[ ! -x ${found[0]} ]] || dirname "${found[0]}"
}

unpack() {
    mkdir -p "$tools"
    (cd "$tools" && apt-get download "${packages[@]}")
    for package in "$tools"/*.deb; do dpkg -x "$package" "$root"; done
}

# What is on no packet's way is compiled for size: the page is fetched over networks.
small=()
for crate in ackclock-scenario schemars toml toml_parser winnow; do
    small+=(--config "profile.release.package.$crate.opt-level='s'")
done

build() {
    local compiler=(RUSTC="$root/usr/bin/rustc" RUSTC_BOOTSTRAP=1 LD_LIBRARY_PATH="$libraries" PATH="$(rust_lld):$PATH")
    local library=(-Zbuild-std=std,panic_abort)
    ! has_target || { compiler=() library=(); }
    # Each build with the same names of folders in it, wherever it is made.
    local flags="--remap-path-prefix=$PWD=. --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo --remap-path-prefix=$root=rust"
    env "${compiler[@]}" RUSTFLAGS="$flags" \
        CARGO_PROFILE_RELEASE_PANIC=abort CARGO_PROFILE_RELEASE_DEBUG=false CARGO_PROFILE_RELEASE_STRIP=true \
        cargo rustc --quiet --locked --release "${library[@]}" --target wasm32-unknown-unknown \
        -p ackclock-studio --crate-type cdylib "${small[@]}"
}

if [[ ${1:-} == --missing ]]; then
    missing
    exit
fi
lacking=$(missing | paste -sd ';')
if [[ -n $lacking ]]; then
    echo "the studio's engine is left out, for want of: $lacking" >&2
    exit 1
fi
has_target || [[ -x $root/usr/bin/rustc ]] || unpack
if ! has_target && ! LD_LIBRARY_PATH=$libraries "$root/usr/bin/rustc" --version >/dev/null; then
    echo "Debian's rustc-web does not run; apt-get install libedit2 libffi8 libxml2 libz3-4 libzstd1" >&2
    exit 1
fi
build
made=${CARGO_TARGET_DIR:-target}/wasm32-unknown-unknown/release/ackclock_studio.wasm
optimise=studio/node_modules/.bin/wasm-opt
cp "$made" studio/engine.wasm
if [[ -x $optimise ]]; then
    # What this rustc turns on for this target by itself.
    "$optimise" -O3 --enable-simd --enable-bulk-memory --enable-bulk-memory-opt --enable-mutable-globals --enable-nontrapping-float-to-int \
        --enable-sign-ext --enable-reference-types --enable-multivalue --enable-call-indirect-overlong "$made" -o studio/engine.opt &&
        mv studio/engine.opt studio/engine.wasm || echo "wasm-opt failed; the engine stays as rustc made it" >&2
fi
ls -l studio/engine.wasm
