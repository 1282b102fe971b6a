#!/usr/bin/env bash
# The same bytes on another processor: sums over the results of scenarios, built for this machine and for 64-bit ARM,
# which qemu runs.
#
#   tests/other-processor.sh [FILE...]
#
# Skipped, saying so, where the compiler's target, the linker or the emulator are missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

OTHER=aarch64-unknown-linux-gnu
LINKER=aarch64-linux-gnu-gcc
EMULATOR=qemu-aarch64-static
TARGET=${CARGO_TARGET_DIR:-target}

skip() {
    echo "SKIPPED the comparison with another processor: $1" >&2
    exit 0
}
[[ $(uname -m) != aarch64 ]] || skip "this one is 64-bit ARM itself"
[[ -d $(rustc --print sysroot)/lib/rustlib/$OTHER ]] || skip "install its library with 'rustup target add $OTHER'"
command -v "$LINKER" >/dev/null || skip "there is no $LINKER; on Debian it is in gcc-aarch64-linux-gnu, with libc6-dev-arm64-cross"
command -v "$EMULATOR" >/dev/null || skip "there is no $EMULATOR; on Debian it is in qemu-user-static"

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$LINKER
cargo build --quiet --locked --profile soak -p ackclock-scenario --example digest
cargo build --quiet --locked --profile soak -p ackclock-scenario --example digest --target "$OTHER"

# Random ones have every controller, queue, effect and kind of traffic among them, and are short: qemu is slow.
files=("$@")
if [[ ${#files[@]} -eq 0 ]]; then
    folder=$TARGET/other-processor
    rm -rf "$folder"
    .venv/bin/python tests/python/random_scenarios.py --write 100 "$folder"
    files=("$folder"/*.json)
fi

here=$("$TARGET/soak/examples/digest" 1 "${files[@]}" 2>/dev/null)
there=$("$EMULATOR" -L /usr/aarch64-linux-gnu "$TARGET/$OTHER/soak/examples/digest" 1 "${files[@]}" 2>/dev/null)
if [[ $here != "$there" ]]; then
    echo "FAILED: results differ on another processor: here (<), on 64-bit ARM (>)" >&2
    diff <(echo "$here") <(echo "$there") >&2 || true
    exit 1
fi
echo "${#files[@]} scenarios have the same results on 64-bit ARM"
