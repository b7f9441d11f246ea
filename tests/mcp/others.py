"""Runs `others.mjs` in the fixture project.

    python tests/mcp/others.py target/debug/rye NODE MODULES
"""

import os
import pathlib
import subprocess
import sys

from fixture import project


def main(rye, node, modules):
    """The clients, with the environment that a person's own shell would give."""
    script = pathlib.Path(__file__).resolve().parent / "others.mjs"
    with project(rye) as of:
        command = [node, script, os.path.abspath(modules), of.rye]
        env = {**of.env, "PATH": of.env["PATH"]}
        return subprocess.run(command, cwd=of.path, env=env, timeout=120, check=False).returncode


sys.exit(main(*sys.argv[1:4]))
