#!/usr/bin/env bash
# Prints one table of what the whole program costs, beside programs that do comparable work:
#
#     tests/bench/table.sh              all of it, about five minutes
#     tests/bench/table.sh p1 p3        these rows alone
#
# Uses the release binary (builds it), or the one that RYE names. Wants `hyperfine`, `just`,
# `minisign` and GNU `time`; what is missing is named and its rows are left out.
#
# Both sides run in turn on this machine: a few rounds, each with a block of runs of every side.
# A time is the median over the rounds' medians, and in brackets the minimum over all runs. Another
# machine gives other times; the ratios are what to compare.
# shellcheck disable=SC2016 # the backticks in single quotes are Markdown
set -euo pipefail
cd -- "$(dirname -- "$0")/../.."
repository=$PWD
. tests/bench/world.sh

rows=("$@")
[ "${#rows[@]}" -gt 0 ] || rows=(p1 p2 p3 p4 p5 p6 p10 p11 p12 p13 p14)

# Whether a row is asked for.
wanted() {
    local row
    for row in "${rows[@]}"; do
        [ "$row" != "$1" ] || return 0
    done
    return 1
}

# --- what there is ------------------------------------------------------------------------------

# Each world has a home of its own; the toolchain is in this one.
real_home=$HOME
if [ -z "${RYE:-}" ]; then
    say 'building the release binary'
    cargo build --release --locked --quiet
    RYE=${CARGO_TARGET_DIR:-$PWD/target}/release/rye
fi
# Measured is a copy, as `cargo install` makes one: what a linker has just written lies in memory in
# single pages, of which each start maps hundreds.
cp -- "$RYE" "$results/rye"
RYE=$results/rye
missing=()
has() {
    local program=$1 package=$2
    type -P "$program" >/dev/null && return
    missing+=("$program is not installed ($package): its rows are left out")
    return 1
}
if ! has hyperfine 'apt-get install hyperfine'; then
    # Memory alone can be measured without it.
    wanted p13 && rows=(p13) || rows=()
fi
has just 'cargo install just' && has_just=1 || has_just=
has minisign 'apt-get install minisign' && has_minisign=1 || has_minisign=
has time 'apt-get install time' && has_time=1 || has_time=

# The signature library's own rates, by the bench that measures nothing else.
declare -A rate
if wanted p5 || wanted p6; then
    say "measuring the signature library's own rates"
    while read -r name number; do
        rate[$name]=$number
    done < <(cargo bench --quiet --locked --bench line -- --rates)
fi

new_world
table=()

# row ID WORK NAME OTHER OTHER_TEXT GOAL: one side beside another, both from the last race.
row() {
    local mine theirs
    mine=$(times "$3")
    theirs=$(times "$4")
    table+=("$(awk -v id="$1" -v work="$2" -v mine="$mine" -v theirs="$theirs" -v text="$5" \
        -v goal="$6" 'BEGIN {
            split(mine, m); split(theirs, t)
            more = m[1] - t[1]
            printf "| %s | %s | %s (%s) | %s | %s (%s) | %.2f (%.2f) × | %s%s | %s |", id, work,
                ms(m[1]), ms(m[2]), text, ms(t[1]), ms(t[2]), m[1] / t[1], m[2] / t[2],
                more < 0 ? "−" : "+", ms(more < 0 ? -more : more), goal
        }
        function ms(x) { return x < 100 ? sprintf("%.2f", x) : sprintf("%.0f", x) }')")
}

# note ID WORK VALUE TEXT: a row that has no other side.
note() {
    table+=("| $1 | $2 | $3 | $4 | | | | ${5:-} |")
}

# --- p1: listing --------------------------------------------------------------------------------

if wanted p1; then
    say 'p1: listing 200 tools'
    new_project list
    {
        for i in $(seq 200); do
            noop_tool "Does thing $i." >".ai/tools/bench/task$i.yaml"
            printf '# Does thing %d.\ntask%d:\n    @/bin/true\n\n' "$i" "$i" >&3
        done
    } 3>justfile
    "$RYE" sign --all >"$log"
    race 5 40 list "$RYE list" long "$RYE list --long" bare "$RYE" \
        ${has_just:+just "just --list"}
    if [ -n "$has_just" ]; then
        beside='`just --list`'
        row p1 '`rye list`, 200 tools' list just "$beside" '≤ 1.2 ×'
        row p1 '`rye list --long`, each verified' long just "$beside" ''
        row p1 '`rye`, each verified' bare just "$beside" ''
    fi
fi

# --- p2, p3: one run ----------------------------------------------------------------------------

if wanted p2 || wanted p3; then
    say 'p2, p3: a tool that does nothing, through three verified links'
    new_project one
    noop_tool 'Does nothing.' >.ai/tools/bench/noop.yaml
    printf 'noop:\n    @/bin/true\n' >justfile
    "$RYE" sign tool:bench/noop >"$log"
    race 7 100 execute "$RYE execute tool:bench/noop" child /bin/true \
        dry "$RYE execute tool:bench/noop --dry-run" version "$RYE --version" \
        ${has_just:+just "just noop"}
    if wanted p2; then
        row p2 '`rye execute`, no-op' execute child 'the bare child' '≤ +1.5 ms'
        if runtime=$(mktemp -d -p /dev/shm 2>/dev/null); then
            worlds+=("$runtime")
            XDG_RUNTIME_DIR=$runtime race 7 100 execute-login "$RYE execute tool:bench/noop" \
                child-login /bin/true
            row p2 '…with `XDG_RUNTIME_DIR`, as in a login session' execute-login child-login \
                'the bare child' '≤ +1.5 ms'
        fi
        if [ -n "$has_just" ]; then
            row p2 '`rye execute`, no-op' execute just '`just`, same child' '≤ 1.0 ×'
        fi
    fi
    if wanted p3; then
        row p3 '`rye execute --dry-run`' dry version '`rye --version`' '≤ +1.2 ms'
        row p3 '`rye --version`' version child '`/bin/true`' ''
    fi
fi

# --- p14: the sandbox ---------------------------------------------------------------------------

if wanted p14; then
    say 'p14: the same tool in a sandbox'
    new_project held
    noop_tool 'Does nothing.' >.ai/tools/bench/noop.yaml
    "$RYE" sign tool:bench/noop >"$log"
    held="$RYE execute tool:bench/noop --sandbox"
    bare=()
    if has bwrap 'apt-get install bubblewrap'; then
        # What rye asks it for, for a tool that declares nothing.
        bare=(bwrap --unshare-user --unshare-ipc --unshare-pid --unshare-uts --unshare-cgroup-try
            --die-with-parent --cap-drop ALL --unshare-net)
        for folder in /usr /bin /sbin /lib /lib32 /lib64 /libx32 /etc /opt /nix/store; do
            if [ -L "$folder" ]; then
                bare+=(--symlink "$(readlink "$folder")" "$folder")
            elif [ -d "$folder" ]; then
                bare+=(--ro-bind "$folder" "$folder")
            fi
        done
        bare+=(--ro-bind /sys/devices/system/cpu /sys/devices/system/cpu --proc /proc --dev /dev
            --tmpfs /tmp --ro-bind "$PWD" "$PWD" --remount-ro / --chdir "$PWD" -- /bin/true)
    fi
    race 7 60 held-off "$held off" held-landlock "$held landlock" held-child /bin/true \
        ${bare:+held-bwrap "$held bwrap" held-bare "${bare[*]}"}
    row p14 '`rye execute` at the level `landlock`' held-landlock held-off 'without a sandbox' '≤ +0.5 ms'
    if [ "${#bare[@]}" -gt 0 ]; then
        row p14 '…at the level `bwrap`' held-bwrap held-off 'without a sandbox' '≤ the next row + 5 %'
        row p14 '`bwrap` alone, the same mounts' held-bare held-child 'the bare child' ''
    fi
fi

# --- p4: in process -----------------------------------------------------------------------------

if wanted p4; then
    say 'p4: the library beside the bare child'
    # Microseconds, `name median minimum`.
    declare -A micros least
    while read -r name median minimum; do
        micros[$name]=$median least[$name]=$minimum
    done < <(HOME=$real_home cargo bench --quiet --locked --bench line -- --overheads)
    # over ID WORK NAME OTHER OTHER_TEXT GOAL
    over() {
        table+=("$(awk -v id="$1" -v work="$2" -v a="${micros[$3]}" -v a0="${least[$3]}" \
            -v b="${micros[$4]}" -v b0="${least[$4]}" -v text="$5" -v goal="$6" 'BEGIN {
                printf "| %s | %s | %.2f (%.2f) | %s | %.2f (%.2f) | %.2f (%.2f) × | +%.2f (+%.2f) | %s |",
                    id, work, a / 1000, a0 / 1000, text, b / 1000, b0 / 1000, a / b, a0 / b0,
                    (a - b) / 1000, (a0 - b0) / 1000, goal
            }')")
    }
    over p4 'a run in process, 3 links' run bare '`std::process::Command`' '≤ +0.35 ms'
    over p4 '…of a tool that looks at its pinned copy' run_pinned_login run 'the same without a copy' '≤ +0.3 ms'
    over p4 '…on disk, without `XDG_RUNTIME_DIR`' run_pinned run 'the same without a copy' ''
fi

# --- p5, p6: many items -------------------------------------------------------------------------

# library ID WORK NAME ACT GOAL: `count` items beside the library on all cores, by its rate alone.
library() {
    local cores=${rate[cores]} one=${rate[$4]} all=${rate[$4_all_cores]} mine
    mine=$(times "$3")
    table+=("$(awk -v id="$1" -v work="$2" -v mine="$mine" -v cores="$cores" -v one="$one" \
        -v all="$all" -v count="$count" -v act="$4" -v goal="$5" 'BEGIN {
            split(mine, m)
            best = count / (cores * one) * 1000
            printf "| %s | %s | %.0f (%.0f) | library: %d × %.0f/s (all at once: %.0f/s) | %.0f |", id, work, \
                m[1], m[2], cores, one, all, best
            printf " %.2g (%.2g) %% of its rate | %+.0f | %s |", 100 * best / m[1], \
                100 * best / m[2], m[1] - best, goal
        }')")
}

# many KIND COUNT: a project with that many unsigned items of 4 KiB, and a copy to start again from.
many() {
    new_project "$1-$2"
    items "$1" "$2"
    cp -r .ai unsigned
}

# Before each signing: the unsigned items, and none of what an earlier signing remembered.
unsign="rm -rf .ai \$HOME/.ai/state && cp -r unsigned .ai"

if wanted p5 || wanted p6 || wanted p13; then
    for kind in knowledge tools; do
        case $kind in
        knowledge) text='10,000 pages' ;;
        tools) text='10,000 Python tools' ;;
        esac
        if wanted p6; then
            # In memory a write costs no `fsync`; the difference to the disk is its share.
            (
                say "p6: signing $kind of 4 KiB in memory, 1,000 and 10,000"
                if [ -d /dev/shm ]; then
                    new_world /dev/shm
                    many "$kind" 1000
                    race_after "$unsign" 3 1 "sign-$kind-1000" "$RYE sign --all"
                    many "$kind" 10000
                    race_after "$unsign" 3 1 "sign-$kind-memory" "$RYE sign --all"
                fi
            )
        fi
        say "signing and verifying 10,000 $kind of 4 KiB"
        many "$kind" 10000
        count=10000
        if wanted p6; then
            race_after "$unsign" 3 1 "sign-$kind" "$RYE sign --all"
            library p6 "\`rye sign --all\`, $text, disk" "sign-$kind" sign ''
            if [ -n "$(times "sign-$kind-memory")" ]; then
                library p6 "the same in memory: no \`fsync\`" "sign-$kind-memory" sign '≥ 60 %'
                note p6 '…linear: 10,000 beside 10 × 1,000' \
                    "$(linear "sign-$kind-memory" "sign-$kind-1000")" ''
                note p6 '…share of `fsync` and disk in the wall time' \
                    "$(share "sign-$kind-memory" "sign-$kind")" ''
            fi
            note p6 '…user time, ms' "$(user_time "sign-$kind")" ''
        else
            "$RYE" sign --all >"$log"
        fi
        if wanted p5; then
            race 5 3 "verify-$kind" "$RYE verify --all"
            library p5 "\`rye verify --all\`, $text" "verify-$kind" verify '≥ 80 %'
            if [ "$kind" = knowledge ] && [ -n "$has_minisign" ]; then
                minisign_files 200
                race 3 3 minisign "sh minisign.sh"
                extrapolate minisign 50
                row p5 "\`rye verify --all\`, $text" "verify-$kind" minisign \
                    '`minisign -V` per file (200 files × 50)' '≤ 0.02 ×'
            fi
        fi
        if wanted p13 && [ -n "$has_time" ]; then
            note p13 "\`rye verify --all\`, $text" "$(peak "$RYE" verify --all) MB" '' '≤ 40 MB'
        fi
        cd / && rm -rf "${world:?}/$kind-10000"
    done
fi

# --- p10, p11: searching ------------------------------------------------------------------------

if wanted p10 || wanted p11; then
    has rg 'apt-get install ripgrep' && has_rg=1 || has_rg=
    for kind in knowledge tools; do
        case $kind in
        knowledge) text='10,000 pages' ;;
        tools) text='10,000 Python tools' ;;
        esac
        say "p10, p11: searching $text of 4 KiB"
        new_project "search-$kind"
        items "$kind" 10000
        "$RYE" sign --all >"$log"
        # Words that one item has, and all have.
        find="$RYE search 00017 --limit 5"
        if wanted p10; then
            race 5 3 "search-$kind" "$find"
            if [ -n "$has_rg" ]; then
                race_after true 5 3 "rg-$kind" 'rg --files -0 .ai | xargs -0 cat >/dev/null'
                row p10 "\`rye search\`, $text" "search-$kind" "rg-$kind" '`rg --files` and read' \
                    '≤ 0.6 ×'
            fi
        fi
        if wanted p11; then
            while read -r name middle least; do
                note p11 "\`rye_search\` through \`rye mcp\`, $text: $name, microseconds" "$middle ($least)" '' \
                    '≤ 5,000'
            done < <(user=$HOME && cd "$repository" && HOME=$real_home \
                cargo bench --quiet --locked --bench mcp -- --searches "$user" "$world/search-$kind")
        fi
        cd / && rm -rf "${world:?}/search-$kind"
    done
fi

# --- p12: growth --------------------------------------------------------------------------------

if wanted p12; then
    say 'p12: one run among 10, 1,000 and 100,000 items; chains of 3 and 10 links'
    sides=()
    for count in 10 1000 100000; do
        new_project "among-$count"
        noop_tool 'Does nothing.' >.ai/tools/bench/noop.yaml
        "$RYE" sign tool:bench/noop >"$log"
        # Never read by a run: what they hold does not matter, that they are there does.
        mkdir -p .ai/tools/bench/many
        (cd .ai/tools/bench/many && seq -f 'f%06.0f.yaml' "$count" | xargs -n 1000 touch)
        sides+=("among-$count" "$RYE --project $PWD execute tool:bench/noop")
    done
    new_project chain
    noop_tool 'Does nothing.' >.ai/tools/bench/noop.yaml
    previous=rye/core/runtimes/native/program
    for link in 1 2 3 4 5 6 7; do
        printf 'version: "1.0.0"\ntool_type: runtime\nexecutor_id: %s\ndescription: "A link."\n' \
            "$previous" >".ai/tools/bench/link$link.yaml"
        previous=bench/link$link
    done
    noop_tool 'Does nothing.' | sed "s|rye/core/runtimes/native/program|$previous|" \
        >.ai/tools/bench/long.yaml
    "$RYE" sign --all >"$log"
    race 5 60 "${sides[@]}" short "$RYE execute tool:bench/noop" long "$RYE execute tool:bench/long"
    row p12 '`rye execute` among 1,000 items' among-1000 among-10 'among 10' 'the same'
    row p12 '`rye execute` among 100,000 items' among-100000 among-10 'among 10' 'the same'
    row p12 '`rye execute`, chain of 10 links' long short 'chain of 3 links' 'linear'
fi

# --- p13: memory --------------------------------------------------------------------------------

if wanted p13 && [ -n "$has_time" ]; then
    say 'p13: peak memory'
    new_project memory
    noop_tool 'Does nothing.' >.ai/tools/bench/noop.yaml
    "$RYE" sign tool:bench/noop >"$log"
    note p13 '`rye --version`' "$(peak "$RYE" --version) MB" '' '≤ 12 MB'
    note p13 '`rye execute`, no-op' "$(peak "$RYE" execute tool:bench/noop) MB" '' '≤ 12 MB'
    note p13 '`rye`, each verified' "$(peak "$RYE") MB" '' '≤ 12 MB'
fi

# --- the table ----------------------------------------------------------------------------------

model=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)
echo "$(date -u +%Y-%m-%d) · ${model:-$(uname -m)} · $(nproc) cores · $(uname -sr) ·" \
    "$("$RYE" --version) · load before: $load"
echo
echo "Milliseconds: median (minimum). Ratio: of the medians (of the minima)."
echo
echo '| id | work | rye | beside | that | ratio | difference | goal |'
echo '|---|---|---|---|---|---|---|---|'
[ "${#table[@]}" -eq 0 ] || printf '%s\n' "${table[@]}" | sort -V --stable -k 2,2
for line in ${missing[@]+"${missing[@]}"}; do
    echo
    echo "$line"
done
