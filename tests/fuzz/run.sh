#!/usr/bin/env bash
# Lets libFuzzer search the targets of `src/fuzz.rs` for inputs that break their promises:
#
#     tests/fuzz/run.sh [seconds] [target…]
#
# Without a target each one is searched, one after the other; without seconds, 120 s each. Needs the
# stable toolchain and a C++ compiler. What is found along the way is kept in `target/fuzz/found`
# and serves as the start of the next run; a finding is a file `target/fuzz/<target>-crash-…`, and
#
#     tests/fuzz/run.sh keep [target…]
#
# takes the inputs that reach anything which the committed ones do not reach into
# `tests/fuzz/corpus/<target>`, which `cargo test` replays.
set -euo pipefail
cd -- "$(dirname -- "$0")/../.."

what=${1:-120}
shift || true
host=$(rustc -vV | sed -n 's/^host: //p')
work=$PWD/target/fuzz
corpus=tests/fuzz/corpus

# What `cargo fuzz` passes, less the sanitizers, which only a nightly compiler has: count every edge,
# tell the fuzzer what is compared with what, and keep branches apart that an optimiser would join.
export RUSTFLAGS="-Cpasses=sancov-module \
-Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares \
-Cllvm-args=-simplifycfg-branch-fold-threshold=0"
# A named target platform keeps the flags away from build scripts.
cargo build --quiet --release --manifest-path tests/fuzz/Cargo.toml \
    --target "$host" --target-dir "$work/build"
fuzz=$work/build/$host/release/fuzz

targets=("$@")
if [ "${#targets[@]}" -eq 0 ]; then
    mapfile -t targets < <(ls "$corpus")
fi

for target in "${targets[@]}"; do
    export FUZZ_TARGET=$target
    found=$work/found/$target
    mkdir -p "$found" "$corpus/$target"
    if [ "$what" = keep ]; then
        "$fuzz" -merge=1 -max_len=1024 "$corpus/$target" "$found" 2>&1 | grep MERGE-OUTER
    else
        echo "== $target, $what s"
        "$fuzz" -max_total_time="$what" -max_len=4096 -timeout=10 -dict=tests/fuzz/words.dict -print_final_stats=1 \
            -artifact_prefix="$work/$target-" "$found" "$corpus/$target"
    fi
done
