# shellcheck shell=bash
# A world for `table.sh`: a home and projects below temporary folders, items, races. Sourced.

# What is measured must not see who measures it.
unset USER_SPACE XDG_RUNTIME_DIR "${!RYE_@}"
export LC_ALL=C.UTF-8

read -r load _ </proc/loadavg
results=$(mktemp -d)
log=$results/log
worlds=("$results")
trap 'rm -rf -- "${worlds[@]}"' EXIT

# Progress, beside the table.
say() {
    printf '%s\n' "$*" >&2
}

# A home of its own for what follows, below the folder given.
new_world() {
    world=$(mktemp -d ${1:+-p "$1"})
    worlds+=("$world")
    # Nobody else may write above a project; others may look.
    chmod 755 "$world"
    export HOME=$world/home
    mkdir "$HOME"
    # In a subshell the trap of the script does not run.
    if [ "$BASH_SUBSHELL" -gt 0 ]; then
        trap 'rm -rf -- "$world"' EXIT
    fi
}

# An accepted project, which becomes the working directory.
new_project() {
    mkdir -p "$world/$1/.ai/tools/bench"
    cd "$world/$1"
    "$RYE" init >"$log"
    # What stands beside it has no sandbox either; what one costs is a row of its own.
    if [ ! -e "$HOME/.ai/config/rye/policy.yaml" ]; then
        mkdir -p "$HOME/.ai/config/rye"
        echo 'sandbox_off: ["tool:bench/**"]' >"$HOME/.ai/config/rye/policy.yaml"
        "$RYE" sign config:rye/policy --space user >"$log"
    fi
}

# A tool of three links: itself, its runtime and the primitive.
noop_tool() {
    cat <<END
version: "1.0.0"
tool_type: tool
executor_id: rye/core/runtimes/native/program
category: bench
description: "$1"
config:
  command: /bin/true
END
}

# items KIND COUNT: unsigned items of 4 KiB each, a hundred in a folder.
items() {
    local i folder name filler
    for ((i = 0; i < $2; i++)); do
        printf -v folder '%03d' $((i / 100))
        printf -v name '%05d' "$i"
        case $1 in
        knowledge)
            [ -d ".ai/knowledge/bench/$folder" ] || mkdir -p ".ai/knowledge/bench/$folder"
            [ -n "${filler:-}" ] || filler=$(page_filler)
            printf -- '---\ntitle: Page %s\ntags: [bench]\n---\n\n# Page %s\n\n%s\n' \
                "$name" "$name" "$filler" >".ai/knowledge/bench/$folder/page$name.md"
            ;;
        tools)
            [ -d ".ai/tools/bench/$folder" ] || mkdir -p ".ai/tools/bench/$folder"
            [ -n "${filler:-}" ] || filler=$(tool_filler)
            printf '%s\n' "\"\"\"Tool $name.\"\"\"" '__version__ = "1.0.0"' \
                '__tool_type__ = "tool"' '__executor_id__ = "rye/core/runtimes/python/script"' \
                "__category__ = \"bench/$folder\"" "__tool_description__ = \"Tool $name.\"" '' \
                "$filler" >".ai/tools/bench/$folder/tool$name.py"
            ;;
        esac
    done
}

# About 4 KiB of prose.
page_filler() {
    local i
    for ((i = 0; i < 50; i++)); do
        printf 'Line %02d of a page that says nothing, at the length of a usual line of text.\n' "$i"
    done
}

# About 4 KiB of Python.
tool_filler() {
    local i
    for ((i = 0; i < 41; i++)); do
        printf 'def step_%02d(values, factor=2):\n' "$i"
        printf '    return [value * factor for value in values if value]\n\n\n'
    done
}

# race ROUNDS RUNS NAME COMMAND…: each round runs every side so many times; see `times`.
race() {
    race_after '' "$@"
}

# race_after PREPARE ROUNDS RUNS NAME COMMAND…: the same, with a command before each run.
race_after() {
    local prepare=$1 rounds=$2 runs=$3 round args=()
    shift 3
    while [ $# -gt 0 ]; do
        args+=(--command-name "$1" "$2")
        shift 2
    done
    # Short blocks warm up once; long ones are long enough.
    local common=(--shell none --style none --runs "$runs" --export-csv "$results/round.csv")
    if [ -n "$prepare" ]; then
        # Preparing needs a shell; its own cost is subtracted, and small beside these runs.
        common=(--shell sh "${common[@]:2}" --prepare "$prepare")
    else
        common+=(--warmup 1)
    fi
    for ((round = 0; round < rounds; round++)); do
        if ! hyperfine "${common[@]}" "${args[@]}" >"$log" 2>&1; then
            cat "$log" >&2
            exit 1
        fi
        tail -n +2 "$results/round.csv" >>"$results/times.csv"
    done
}

# The rounds of one side: hyperfine's columns, of which 4 is the median, 5 the user time, 7 the
# minimum, in seconds.
rounds_of() {
    awk -F, -v name="$1" '$1 == name' "$results/times.csv" 2>/dev/null || true
}

median() {
    sort -g | awk '{ v[NR] = $1 } END { if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

# The median and the minimum of one side, in milliseconds; nothing if it did not run.
times() {
    rounds_of "$1" | awk -F, '{ print $4 * 1000 }' | median | tr '\n' ' '
    rounds_of "$1" | awk -F, '{ print $7 * 1000 }' | sort -g | head -n 1
}

# The user time of one side, in milliseconds, over all cores.
user_time() {
    rounds_of "$1" | awk -F, '{ printf "%.0f\n", $5 * 1000 }' | median
}

# How much the first side takes over ten times the second.
linear() {
    awk -v ten="$(times "$1")" -v one="$(times "$2")" \
        'BEGIN { split(ten, a); split(one, b); printf "%.2f (%.2f) ×", a[1] / b[1] / 10, a[2] / b[2] / 10 }'
}

# What the second side takes more than the first, as a share of the second.
share() {
    awk -v less="$(times "$1")" -v more="$(times "$2")" \
        'BEGIN { split(less, a); split(more, b); printf "%.0f %%", 100 * (1 - a[1] / b[1]) }'
}

# extrapolate NAME FACTOR: as if that side had been given so many times its work.
extrapolate() {
    awk -F, -v OFS=, -v name="$1" -v factor="$2" \
        '$1 == name { for (i = 2; i <= 8; i++) $i *= factor } { print }' \
        "$results/times.csv" >"$results/scaled.csv"
    mv "$results/scaled.csv" "$results/times.csv"
}

# minisign_files COUNT: signs as many files of 4 KiB with minisign, and writes what verifies each.
minisign_files() {
    local i
    mkdir minisign
    for ((i = 0; i < $1; i++)); do
        page_filler >"minisign/$i"
        echo "minisign -V -q -p minisign.pub -m minisign/$i" >>minisign.sh
    done
    minisign -G -W -p minisign.pub -s minisign.key >"$log" 2>&1
    minisign -S -s minisign.key -m minisign/* >"$log" 2>&1
}

# The peak memory of a command, in MB of 1,000,000 bytes.
peak() {
    command time -f %M -o "$results/peak" "$@" >"$log" 2>&1
    awk '{ printf "%.1f", $1 * 1024 / 1e6 }' "$results/peak"
}
