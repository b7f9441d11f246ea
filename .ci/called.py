#!/usr/bin/env python3
"""Prints the functions of a program that a run of it calls, in the order in which it first does.

    .ci/called.py PROGRAM [ARGUMENT...]

Each function of the program begins with a breakpoint until it is called once; the program's output is
thrown away. It must have its symbols, and be for x86-64. Ends with the status 1 if the program does not
end with 0.
"""

import ctypes
import os
import signal
import subprocess
import sys

# Linux's numbers, from `sys/ptrace.h`.
TRACEME, PEEKUSER, POKEUSER, CONT, SETOPTIONS = 0, 3, 6, 7, 0x4200
# A child has its parent's memory or a copy of it, and with it the breakpoints, until it is a program of
# its own.
FOLLOW_CHILDREN = 2 | 4 | 8
# The instruction pointer in `struct user_regs_struct`: the seventeenth register of eight bytes.
RIP = 16 * 8
BREAKPOINT = b"\xcc"

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long] * 4


def functions(program):
    """The address in the file and the name of each function."""
    found = {}
    for line in subprocess.check_output(["nm", "--defined-only", program], text=True).splitlines():
        address, kind, name = line.split(maxsplit=2)
        if kind in "tTwWi":
            found.setdefault(int(address, 16), name)
    return found


def first_byte(pid, program):
    """Where the first byte of the program's file lies in memory."""
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            if line.split()[2] == "00000000" and line.rstrip().endswith(program):
                return int(line.split("-")[0], 16)
    sys.exit(f"called.py: {program} is not mapped")


def main(argv):
    program = os.path.realpath(argv[0])
    first = os.fork()
    if first == 0:
        nowhere = os.open("/dev/null", os.O_RDWR)
        for stream in range(3):
            os.dup2(nowhere, stream)
        libc.ptrace(TRACEME, 0, 0, 0)
        os.execv(program, argv)
    os.waitpid(first, 0)
    libc.ptrace(SETOPTIONS, first, 0, FOLLOW_CHILDREN)
    start = first_byte(first, program)
    names = {start + address: name for address, name in functions(program).items()}
    began_with, called = {}, set()
    with open(f"/proc/{first}/mem", "r+b", buffering=0) as memory:
        for address in names:
            began_with[address] = os.pread(memory.fileno(), 1, address)
            os.pwrite(memory.fileno(), BREAKPOINT, address)
    libc.ptrace(CONT, first, 0, 0)
    while True:
        pid, status = os.waitpid(-1, 0x40000000)  # __WALL: children by `clone` too
        if not os.WIFSTOPPED(status):
            if pid == first:
                break
            continue
        stopped = os.WSTOPSIG(status)
        if stopped == signal.SIGTRAP and status >> 16 == 0:
            address = libc.ptrace(PEEKUSER, pid, RIP, 0) - 1
            if address in names:
                if address not in called:
                    called.add(address)
                    print(names[address])
                # Also where another thread came first, or another process with a copy of the memory.
                with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
                    os.pwrite(memory.fileno(), began_with[address], address)
                libc.ptrace(POKEUSER, pid, RIP, address)
            stopped = 0
        elif stopped in (signal.SIGTRAP, signal.SIGSTOP):
            # A child is born, or became its program.
            stopped = 0
        libc.ptrace(CONT, pid, 0, stopped)
    if status != 0:
        sys.exit(f"called.py: `{' '.join(argv)}` ended with {status}")


main(sys.argv[1:])
