#!/usr/bin/env bash
# Writes `.cargo/order.txt`: the functions that the commonest runs call, in the order in which they do.
# `.cargo/ordered-cc` lays the optimised program out by it. For x86-64; about ten minutes.
#
#     tests/bench/order.sh
#
# Uses the program that RYE names, or builds one; it must have its symbols. To be run again when the line
# of a run, or the compiler's division into functions, changed much: a name that is missing here costs a
# run a few microseconds, and nothing else. Both levels of the sandbox must work here.
set -euo pipefail
cd -- "$(dirname -- "$0")/../.."
repository=$PWD
. tests/bench/world.sh

if [ -z "${RYE:-}" ]; then
    say 'building the release binary, with its symbols'
    CARGO_PROFILE_RELEASE_STRIP=none cargo build --release --locked --quiet --target-dir target/order
    RYE=target/order/release/rye
fi
RYE=$(realpath -- "$RYE")

new_world
new_project one
noop_tool 'Does nothing.' >.ai/tools/bench/noop.yaml
"$RYE" new tool bench/said --lang python >"$log"
"$RYE" new directive bench/follow >"$log"
"$RYE" sign --all >"$log"

# What a start costs counts most where the work is short.
names() {
    python3 "$repository/tests/bench/called.py" "$RYE" "$@"
}
{
    names execute tool:bench/noop
    names execute tool:bench/noop --dry-run
    names execute tool:bench/noop --json
    names execute tool:bench/noop --sandbox landlock
    names execute tool:bench/noop --sandbox bwrap
    names list
    names execute directive:bench/follow
    names execute tool:bench/said
    names verify --all
    names why tool:bench/noop
    names show tool:bench/noop
    names sign tool:bench/noop
} >"$results/called"
{
    printf '# What the commonest runs call, in that order. Written by tests/bench/order.sh.\n'
    sed 's/17h[0-9a-f]*E.*//' "$results/called" | awk '!seen[$0]++'
} >"$results/order"
cp -- "$results/order" "$repository/.cargo/order.txt"
say "$(grep -vc '^#' "$repository/.cargo/order.txt") functions"
