"""A public MCP server becomes signed items, is called, and is refused once it is another one.

    client.py RYE VENV

VENV holds `mcp-server-time` of an older version; a newer one is installed over it on the way, as an
update of a server's machine would.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

NEWER = "mcp-server-time==2026.10.19"


def main(rye, venv):
    with tempfile.TemporaryDirectory() as folder:
        home, project = pathlib.Path(folder, "home"), pathlib.Path(folder, "project")
        home.mkdir()
        project.mkdir()
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TZ": "Etc/UTC"}
        if "RYE_SYSTEM_SPACE" in os.environ:
            env["RYE_SYSTEM_SPACE"] = os.environ["RYE_SYSTEM_SPACE"]

        def run(*args):
            command = [rye, "--json", *args]
            done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, timeout=120)
            return done.returncode, json.loads(done.stdout or "null")

        def call():
            return run("execute", "time/get_current_time", "-i", "timezone=Asia/Tokyo")

        assert run("init")[0] == 0
        server = str(venv / "bin" / "mcp-server-time")
        status, got = run("import", "mcp", "--yes", "--category", "time", server)
        assert status == 0, got
        names = [item["item_id"] for item in got["items"]]
        assert names == ["tool:time/convert_time", "tool:time/get_current_time"], names
        # It is started from where pip put it, and pip may put another one there.
        assert any("integrity: external" in remark for remark in got["remarks"]), got["remarks"]
        print("imported: " + ", ".join(names))

        status, got = call()
        assert status == 0, got
        text = got["data"]["content"][0]["text"]
        assert json.loads(text)["timezone"] == "Asia/Tokyo", text
        print("called: " + text.replace("\n", ""))

        install = [venv / "bin" / "pip", "install", "--quiet", "--upgrade", NEWER, "mcp"]
        subprocess.run(install, check=True, timeout=300)
        status, got = call()
        assert (status, got["code"]) == (4, "mcp.tool_changed"), got
        fields = {change["field"]: change for change in got["data"]["changes"]}
        description = fields["description"]
        assert description["old"] == "Get current time in a specific timezones", description
        assert description["new"] == "Get current time in a specific timezone", description
        assert {"output_schema", "annotations"} <= set(fields), sorted(fields)
        print("changed, and not called: " + got["error"])

        status, got = run("import", "mcp", "--yes", "--force", "--category", "time", server)
        assert status == 0, got
        status, got = call()
        assert (status, got["data"]["timezone"]) == (0, "Asia/Tokyo"), got
        print("imported again, and called")


main(os.path.abspath(sys.argv[1]), pathlib.Path(os.path.abspath(sys.argv[2])))
