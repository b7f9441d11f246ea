"""The example of `knowledge:rye/mcp-client`, as it stands there.

    example.py RYE BIN

BIN is a folder with `uv`. Each line of the page's first block is run by a shell, with `--yes` behind
`rye import mcp`.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).parents[2] / ".ai/knowledge/rye/mcp-client.md"


def main(rye, tools):
    block = PAGE.read_text().split("```sh\n", 1)[1].split("```", 1)[0]
    lines = block.strip().splitlines()
    assert any("uvx" in line for line in lines), lines
    with tempfile.TemporaryDirectory() as folder:
        home, project, bin = (pathlib.Path(folder, name) for name in ("home", "project", "bin"))
        for made in (home, project, bin):
            made.mkdir()
        (bin / "rye").symlink_to(rye)
        # A machine may have certificates of its own, which `uvx` takes where it is told to.
        uvx = bin / "uvx"
        uvx.write_text('#!/bin/sh\nexec "${0%/*}/uv" tool run --system-certs "$@"\n')
        uvx.chmod(0o755)
        # A sandbox shows a program the folder that it lies in.
        shutil.copy(f"{tools}/uv", bin / "uv")
        path = f"{bin}:{tools}:{os.environ['PATH']}"
        env = {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "TZ": "Etc/UTC"}
        for line in ["rye init", *lines]:
            line = line.replace("rye import mcp", "rye import mcp --yes")
            done = subprocess.run(line, shell=True, cwd=project, env=env, capture_output=True, text=True,
                                  timeout=300)
            assert done.returncode == 0, (line, done)
        assert "Europe/Berlin" in done.stdout, done
    print("the example of the page runs: " + lines[0])


main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]))
