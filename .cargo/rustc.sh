#!/bin/sh
# rustc for the crates of this folder, as `config.toml` names it: the optimised program is linked
# static, which makes it start in half the time (no loader, no shared library to map and relocate).
#
# The flag is for the program alone; cargo's own ways to give it reach build scripts and macros too,
# or move the build folder. It is left out where the C library cannot be linked static: it would be
# an error, and the program is as good without it.
case " $* " in
*' --target '*) ;;
*' --crate-name rye '*' --crate-type bin '*' -C opt-level=3 '*)
    case $(cc -print-file-name=libc.a 2>/dev/null) in
    /*) set -- "$@" -C target-feature=+crt-static ;;
    esac
    ;;
esac
exec "$@"
