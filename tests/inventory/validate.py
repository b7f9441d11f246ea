"""The inventory of a project, read without rye: by cyclonedx-python-lib.

    python3 tests/inventory/validate.py <rye>

Makes a project of 200 items of every kind, validates the document that `rye list --cyclonedx`
writes against the published schema, reads it into the library's own model, and looks for each item.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from cyclonedx.model.bom import Bom
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

TOOL = """#!/bin/bash
# /// rye
# version = "1.{n}.0"
# description = "Says its number"
# executor_id = "rye/core/runtimes/shell/script"
# secrets = ["TOKEN_{n}"]
# [sandbox]
# net = "any"
# ///
echo {n}
"""

DIRECTIVE = """# Number {n}

```xml
<directive name="d{n}" version="1.0.0">
  <metadata>
    <description>Number {n}</description>
    <category>acme</category>
    <author>somebody</author>
  </metadata>
  <process><step name="one">Say {n}.</step></process>
</directive>
```
"""

PAGE = "---\ntitle: Number {n}\n---\n\n# Number {n}\n"


def run(rye, home, *args):
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    done = subprocess.run([rye, *args], cwd=home / "project", env=env, capture_output=True, text=True)
    assert done.returncode == 0, (args, done.stderr[-2000:])
    return done.stdout


def items_of(project):
    kinds = {
        "tool": ("tools/acme/t{n}.sh", TOOL, 120),
        "directive": ("directives/acme/d{n}.md", DIRECTIVE, 40),
        "knowledge": ("knowledge/acme/k{n}.md", PAGE, 30),
        "config": ("config/acme/c{n}.yaml", "number: {n}\n", 10),
    }
    for kind, (path, text, count) in kinds.items():
        for n in range(count):
            file = project / ".ai" / path.format(n=n)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.format(n=n))
            yield f"{kind}:acme/{file.stem}"


def main(rye):
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        (home / "project").mkdir()
        run(rye, home, "init")
        items = set(items_of(home / "project"))
        assert len(items) == 200
        run(rye, home, "sign", "--all")

        text = run(rye, home, "list", "--cyclonedx")
        fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
        assert fault is None, fault
        print("valid by the published schema of CycloneDX 1.6")

        bom = Bom.from_json(json.loads(text))
        bom.validate()
        found = {component.name: component for component in bom.components}
        assert items <= set(found), items - set(found)
        said = {it.name: it.value for it in found["tool:acme/t7"].properties}
        assert said["rye:reach:secrets"] == "TOKEN_7" and said["rye:reach:net"] == "any", said
        assert found["tool:acme/t7"].version == "1.7.0" and found["tool:acme/t7"].hashes
        print(f"{len(found)} components, each of the 200 items among them")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
