"""Runs the client half of the official conformance suite against `rye import mcp` and its tools.

    python tests/mcp/conformance_client.py target/debug/rye NODE SUITE

NODE and SUITE are those of `conformance.py`. The suite starts a server for each scenario and this file with
its address behind the other words: the server is imported into a new project, and each tool that it offers
is called, with the arguments that the scenario names. `conformance.yaml` and `conformance-2026-07-28.yaml`
list what does not apply.
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

from conformance import REVISIONS

# Arguments of tools that do not go without.
ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}, "valid_tool": {"region": "us-west1"}}
# Longest call of a tool: a server may wait for an answer that rye does not give.
CALL_S = 5


def client(rye, url):
    """Plays one scenario; the suite judges what its server saw."""
    with tempfile.TemporaryDirectory() as folder:
        home, project = pathlib.Path(folder, "home"), pathlib.Path(folder, "project")
        home.mkdir()
        project.mkdir()
        env = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}

        def run(*args):
            done = subprocess.run([rye, "--json", *args], cwd=project, env=env, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, check=False)
            print(done.stdout + done.stderr)
            return json.loads(done.stdout or "{}")

        run("init")
        got = run("import", "mcp", "--yes", "--category", "suite", url)
        context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
        named = {call["name"]: call["arguments"] for call in context.get("toolCalls", [])}
        for item in got.get("items", []):
            name = item["item_id"].rsplit("/", 1)[1]
            arguments = json.dumps(named.get(name, ARGUMENTS.get(name, {})))
            run("execute", item["item_id"], "--params", arguments, "--timeout", str(CALL_S))


def main(rye, node, suite):
    """The suite, with what does not apply."""
    here = pathlib.Path(__file__).resolve()
    command = shlex.join([sys.executable, str(here), os.path.abspath(rye)])
    failed = 0
    for revision, known in REVISIONS.items():
        print(f"\n# the client, the revision {revision}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            words = [node, suite, "client", "--command", command, "--requirements", revision,
                     "--expected-failures", here.parent / known]
            failed |= subprocess.run(words, cwd=folder, timeout=300, check=False).returncode
    return failed


if __name__ == "__main__":
    if sys.argv[-1].startswith("http"):
        client(sys.argv[1], sys.argv[-1])
    else:
        sys.exit(main(*sys.argv[1:4]))
