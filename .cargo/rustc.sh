#!/bin/sh
# rustc for the crates of this folder, as `config.toml` names it. The optimised program starts in less
# than half the time when it is
#
# - linked static: no loader, no shared library to map and relocate. Left out where the C library cannot
#   be linked static, which would be an error;
# - laid out in the order that `ordered-cc` says, unless you name a linker of your own; on the one target
#   whose linker takes an order.
#
# The flags are for the program alone; cargo's own ways to give them reach build scripts and macros too,
# or move the build folder.
case " $* " in
*' --crate-name rye '*' --crate-type bin '*' -C opt-level=3 '*)
    case " $* " in
    *linker=* | *linker-flavor=*) ;;
    *' --target x86_64-unknown-linux-gnu '*) set -- "$@" -C linker="${0%/*}/ordered-cc" ;;
    *' --target '*) ;;
    *) set -- "$@" -C linker="${0%/*}/ordered-cc" ;;
    esac
    case " $* " in
    *' --target '*) ;;
    *)
        case $(cc -print-file-name=libc.a 2>/dev/null) in
        /*) set -- "$@" -C target-feature=+crt-static ;;
        esac
        ;;
    esac
    ;;
esac
exec "$@"
