#!/usr/bin/env bash
# Fuzzes every target for a while, beginning from the inputs in corpus/.
#
#   tests/fuzz/run.sh SECONDS [TARGET...]
#   tests/fuzz/run.sh COUNTx [TARGET...]
#
# The first looks for something new each time, and new inputs stay in target/corpus/. The second tries as many inputs, the
# same ones each time, whatever was found before. A crash leaves its input in artifacts/ and makes this script fail. To keep
# what was found, minimise it into corpus/:
#   cargo +nightly fuzz cmin --fuzz-dir tests/fuzz TARGET tests/fuzz/target/corpus/TARGET
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

CARGO_FUZZ_VERSION=0.13.2

if [[ ! "${1:-}" =~ ^[1-9][0-9]*x?$ ]]; then
    echo "usage: tests/fuzz/run.sh SECONDS|COUNTx [TARGET...]   (for each target)" >&2
    exit 2
fi
amount=$1
shift

if ! cargo +nightly --version >/dev/null 2>&1; then
    echo "SKIPPED fuzzing: there is no nightly Rust toolchain, whose instrumentation it needs." >&2
    echo "Install one with 'rustup toolchain install nightly --profile minimal' and run this again." >&2
    exit 0
fi
if ! cargo fuzz --version >/dev/null 2>&1; then
    echo "Installing cargo-fuzz $CARGO_FUZZ_VERSION ..." >&2
    cargo install cargo-fuzz --version "$CARGO_FUZZ_VERSION" --locked --quiet
fi

# A target is a file in fuzz_targets/.
if [[ $# -gt 0 ]]; then
    targets=("$@")
else
    mapfile -t targets < <(basename -s .rs fuzz_targets/*.rs)
fi

# All at once, side by side; one that was asked for by itself is built alone.
mkdir -p target
log=target/build.log
alone=()
[[ ${#targets[@]} -ne 1 ]] || alone=("${targets[0]}")
if ! cargo +nightly fuzz build --fuzz-dir . --sanitizer none "${alone[@]}" >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "FAILED: the targets do not build; what the compiler says is above" >&2
    exit 1
fi

for target in "${targets[@]}"; do
    if [[ $amount == *x ]]; then
        found="target/same/$target"
        rm -rf "$found"
        bound=(-seed=1 -runs="${amount%x}")
        echo "fuzzing $target with ${amount%x} inputs ..." >&2
    else
        found="target/corpus/$target"
        bound=(-max_total_time="$amount")
        echo "fuzzing $target for $amount s ..." >&2
    fi
    mkdir -p "$found" "corpus/$target"
    log="target/$target.log"
    # No sanitizer: the fuzzed crates forbid unsafe code, and without one a run does several times the work.
    if ! cargo +nightly fuzz run --fuzz-dir . --sanitizer none "$target" "$found" "corpus/$target" -- \
        "${bound[@]}" -timeout=10 -print_final_stats=1 >"$log" 2>&1; then
        tail -n 60 "$log" >&2
        echo "FAILED: $target; the input that did it is in tests/fuzz/artifacts/$target/" >&2
        exit 1
    fi
    grep -E 'stat::number_of_executed_units|stat::average_exec_per_sec' "$log" >&2 || tail -n 5 "$log" >&2
done
