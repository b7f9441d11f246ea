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
# picks anew, from all that was found, the inputs in `tests/fuzz/corpus/<target>.tar` that `cargo test`
# replays. An input that stands for a mended fault is a file of its own, `corpus/<target>/<name>`:
# such files are replayed too, and stay as they are.
set -euo pipefail
cd -- "$(dirname -- "$0")/../.."

what=${1:-120}
shift || true
host=$(rustc -vV | sed -n 's/^host: //p')
work=$PWD/target/fuzz
corpus=tests/fuzz/corpus
# Most inputs of a target that are kept: each is run by every `cargo test`.
most=150

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
    mapfile -t targets < <(ls "$corpus" | sed 's/\.tar$//' | sort -u)
fi

for target in "${targets[@]}"; do
    export FUZZ_TARGET=$target
    found=$work/found/$target
    kept=$work/corpus/$target
    rm -rf "$kept"
    mkdir -p "$found" "$kept"
    [ ! -e "$corpus/$target.tar" ] || tar -xf "$corpus/$target.tar" -C "$kept"
    [ ! -d "$corpus/$target" ] || cp -t "$kept" "$corpus/$target"/*
    if [ "$what" = keep ]; then
        picked=$(mktemp -d)
        "$fuzz" -set_cover_merge=1 -max_len=1024 "$picked" "$kept" "$found" 2>&1 |
            grep "MERGE-OUTER.*added" || true
        # The first ones reach the most.
        find "$picked" -type f -printf '%T@ %f\n' | sort -n | sed -n "1,${most}p" | cut -d' ' -f2 |
            LC_ALL=C sort | tar --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner \
            --mode=644 -C "$picked" -cf "$corpus/$target.tar" -T -
        rm -r "$picked"
    else
        echo "== $target, $what s"
        "$fuzz" -max_total_time="$what" -max_len=4096 -timeout=10 -print_final_stats=1 \
            -dict=tests/fuzz/words.dict -artifact_prefix="$work/$target-" "$found" "$kept"
    fi
done
