"""A project whose tools, prompts and knowledge are signed items, and a server for it."""

import contextlib
import os
import pathlib
import subprocess
import tempfile

PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erk"
       "Jggg==")
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="

RESOURCE = ('{"type": "resource", "resource": {"uri": "rye://knowledge/note", "mimeType": "text/plain", '
            '"text": "This is an embedded resource content."}}')
IMAGE = f'{{"type": "image", "data": "{PNG}", "mimeType": "image/png"}}'
AUDIO = f'{{"type": "audio", "data": "{WAV}", "mimeType": "audio/wav"}}'


def content(*blocks):
    """A program that gives content in the words of the protocol."""
    return f"echo '{{\"content\": [{', '.join(blocks)}]}}'\n"


SCRIPTS = {
    "test_simple_text": "echo 'This is a simple text response for testing.'\n",
    "test_image_content": content(IMAGE),
    "test_audio_content": content(AUDIO),
    "test_embedded_resource": content(RESOURCE),
    "test_multiple_content_types": content('{"type": "text", "text": "Several:"}', IMAGE, RESOURCE),
    "test_tool_with_logging": "echo 'Tool execution started' >&2\nsleep 0.05\n"
                              "echo 'Tool processing data' >&2\nsleep 0.05\n"
                              "echo 'Tool execution completed' >&2\necho done\n",
    # What a tool says beside its answer, and an answer on a stream that nothing else stands on.
    "test_logging_tool": "echo 'a line' >&2\necho done\n",
    "test_streaming_elicitation": "echo done\n",
    "test_error_handling": "echo 'This tool intentionally returns an error' >&2\nexit 1\n",
    # Once a second it is told that a call still runs.
    "test_tool_with_progress": "sleep 3.5\necho done\n",
    "echo": "cat\n",
}

# Tools that ask a person before they go on, by the names that the conformance suite calls.
ASKING = ["asks", "test_elicitation", "test_input_required_result_elicitation",
          "test_input_required_result_request_state", "test_input_required_result_tampered_state",
          "test_input_required_result_multi_round"]

# Pages that the conformance suite reads and watches.
PAGES = {
    "note": "A note.",
    "static-text": "This is the content of the static text resource.",
    "watched-resource": "Somebody watches this page.",
    # The template of addresses is `rye://knowledge/{+id}`.
    "template/123/data": "Data for ID: 123",
}

# What each of them is, and what it runs: it is told who said yes.
ASKS = '''version: "1.0.0"
tool_type: exec
executor_id: rye/core/runtimes/exec/oneshot
description: Asks a person before it pays
exec: {command: ./asks-it.sh, files: [asks-it.sh]}
'''
ASKS_IT = '''#!/bin/sh
read -r call
case "$call" in
*'"approval":'*) echo '{"result": "paid"}' ;;
*) echo '{"pending": {"reason": "amount", "message": "Pay?"}}' ;;
esac
'''

HEADER = '''#!/bin/bash
# /// rye
# version = "1.0.0"
# tool_type = "tool"
# executor_id = "rye/core/runtimes/shell/script"
# description = "A tool of the fixture"
# ///
'''

SCHEMA = '''version: "1.0.0"
tool_type: tool
executor_id: rye/core/runtimes/native/program
description: Tool with JSON Schema 2020-12 features
config: {command: cat}
config_schema:
  $schema: https://json-schema.org/draft/2020-12/schema
  type: object
  $defs:
    address: {$anchor: address, type: object, properties: {street: {type: string}, city: {type: string}}}
  allOf: [{anyOf: [{required: [name]}, {required: [address]}]}]
  if: {required: [address]}
  then: {required: [name]}
  else: {properties: {address: false}}
  properties:
    name: {type: string}
    address: {$ref: '#/$defs/address'}
  additionalProperties: false
'''


def directive(name, inputs, body):
    """A directive with these inputs."""
    rows = "".join(f'    <input name="{i}" type="string" required="true">{i}</input>\n' for i in inputs)
    return f'''# {name}

```xml
<directive name="{name}" version="1.0.0">
  <metadata>
    <description>A prompt of the fixture</description>
    <category></category>
    <author>test</author>
  </metadata>
  <inputs>
{rows}  </inputs>
</directive>
```

{body}
'''


class Project:
    """The folder, and rye in it."""

    def __init__(self, rye, folder):
        self.rye = pathlib.Path(rye).resolve()
        self.home, self.path = folder / "home", folder / "project"
        for made in (self.home, self.path):
            made.mkdir(mode=0o755)
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        self.run("init")
        ai = self.path / ".ai"
        for kind in ("tools", "directives", "knowledge"):
            (ai / kind).mkdir(exist_ok=True)
        for name, script in SCRIPTS.items():
            (ai / "tools" / f"{name}.sh").write_text(HEADER + script)
        (ai / "tools" / "json_schema_2020_12_tool.yaml").write_text(SCHEMA)
        for name in ASKING:
            (ai / "tools" / f"{name}.yaml").write_text(ASKS)
        (ai / "tools" / "asks-it.sh").write_text(ASKS_IT)
        simple = directive("test_simple_prompt", [], "This is a simple prompt for testing.")
        (ai / "directives" / "test_simple_prompt.md").write_text(simple)
        words = "Prompt with arguments: arg1='{input:arg1}', arg2='{input:arg2}'"
        prompt = directive("test_prompt_with_arguments", ["arg1", "arg2"], words)
        (ai / "directives" / "test_prompt_with_arguments.md").write_text(prompt)
        for name, text in PAGES.items():
            page = ai / "knowledge" / f"{name}.md"
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(f"---\ntitle: {page.stem}\n---\n\n{text}\n")
        self.run("sign", "--all")

    def run(self, *args):
        """A call of rye that must succeed."""
        done = subprocess.run([self.rye, *args], cwd=self.path, env=self.env, capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0, f"{args}: {done.stdout}{done.stderr}"

    @contextlib.contextmanager
    def http(self, *args):
        """A server over HTTP: its address and its token."""
        command = [self.rye, "mcp", "--http", "127.0.0.1:0", *args]
        with subprocess.Popen(command, cwd=self.path, env=self.env, stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as server:
            try:
                said = {}
                while "listening on" not in said:
                    line = server.stderr.readline()
                    assert line, "the server ended"
                    for key in ("token: ", "listening on "):
                        if line.startswith(key):
                            said[key.strip(": ")] = line.removeprefix(key).strip()
                yield said["listening on"], said["token"]
            finally:
                server.terminate()
                server.wait(20)
        # By the signal that it was sent.
        assert server.returncode == -15, server.returncode


@contextlib.contextmanager
def project(rye):
    """A project in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        yield Project(rye, pathlib.Path(folder))
