"""Counts what of the official conformance suite rye passes, and beside it another server, in one run.

    python tests/mcp/compare.py target/debug/rye NODE SUITE COMMAND…

NODE and SUITE are those of `conformance.py`. COMMAND serves `http://localhost:PORT/mcp`, with the port in the
place of `{port}`; what it prints is dropped. The reference server of the official Python SDK is in its repository, in the folder
`examples/servers/everything-server`; from there, with an interpreter that has that SDK:

    PYTHONPATH=. python -m mcp_everything_server --port {port}

What rye does not pass is in `conformance.yaml` and `conformance-2026-07-28.yaml`, each with its reason.
"""

import contextlib
import pathlib
import re
import socket
import subprocess
import sys
import time

from conformance import REVISIONS, SERVED, door
from fixture import project


def summary(node, suite, url, revision):
    """The scenarios of a revision, each with whether it passes."""
    command = [node, suite, "server", "--url", url, "--requirements", revision]
    said = subprocess.run(command, timeout=300, check=False, capture_output=True, text=True).stdout
    # What follows is told a second time, by what it counts for.
    rows = said.split("=== SUMMARY ===")[-1].split("\nTotal:")[0]
    found = {name: mark == "✓" for mark, name in re.findall(r"^([✓✗]) (\S+):", rows, re.MULTILINE)}
    assert found, said
    return found


@contextlib.contextmanager
def reference(command):
    """The address of the other server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([word.replace("{port}", str(port)) for word in command],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as server:
        try:
            for _ in range(300):
                assert server.poll() is None, f"the server ended with {server.returncode}"
                with contextlib.suppress(OSError), socket.create_connection(("localhost", port), 1):
                    break
                time.sleep(0.1)
            yield f"http://localhost:{port}/mcp"
        finally:
            server.terminate()


def main(rye, node, suite, *command):
    """The table, and by name what only one of both passes."""
    suite = pathlib.Path(suite).resolve()
    with project(rye) as of, of.http(*SERVED) as (url, token), reference(command) as other:
        ours = door(url, token)
        print("revision     scenarios  rye passes  the other passes")
        for revision in REVISIONS:
            mine, theirs = (summary(node, suite, at, revision) for at in (ours, other))
            assert mine.keys() == theirs.keys(), mine.keys() ^ theirs.keys()
            print(f"{revision}   {len(mine):9}  {sum(mine.values()):10}  {sum(theirs.values()):16}")
            for name in mine:
                if mine[name] != theirs[name]:
                    print(f"  only {'rye' if mine[name] else 'the other'}: {name}")


main(*sys.argv[1:])
