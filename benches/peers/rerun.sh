#!/usr/bin/env bash
# ackclock beside ns-3, and beside htsim where there is a copy, with one command, on a bare Debian or Ubuntu machine:
#
#   benches/peers/rerun.sh [CASE ...] [--rounds N] [--builds debian] [--htsim DIR] ...
#
# installs what is missing (as root; else it prints the one line to run), builds ackclock and ns-3, measures them in turn,
# prints the table and leaves target/peers/results.json. It may be interrupted at any time and given again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

declare -A packages=([g++]=g++ [make]=make [python3]=python3)
missing=()
if [[ " $* " != *" --builds htsim "* ]]; then
    packages+=([pkg-config]=pkg-config [cmake]=cmake [ninja]=ninja-build)
    pkg-config --exists ns3-core 2>/dev/null || missing+=(libns3-dev)
fi
for program in "${!packages[@]}"; do
    command -v "$program" >/dev/null || missing+=("${packages[$program]}")
done
python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)

if [[ ${#missing[@]} -gt 0 ]]; then
    install="apt-get install --yes --no-install-recommends ${missing[*]}"
    if ! command -v apt-get >/dev/null; then
        echo "error: this needs ${missing[*]} (by Debian's names), and there is no apt-get here to install them" >&2
        exit 1
    elif [[ $EUID -ne 0 ]]; then
        printf 'error: something is missing; install it and come back:\n  sudo %s\n' "$install" >&2
        exit 1
    fi
    echo "installing ${missing[*]}" >&2
    apt-get update -qq && $install
fi
if ! command -v cargo >/dev/null; then
    echo "error: cargo is missing, which builds ackclock: https://rustup.rs has the line that installs it" >&2
    exit 1
fi

make --no-print-directory build
exec .venv/bin/python benches/peers/run.py "$@"
