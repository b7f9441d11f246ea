"""A node, asked by programs that are not ours.

    python3 tests/node/check.py <rye>

Starts a node in a home of its own, and lets two keys ask it: one of rye, and one that never saw rye
and signs with `http-message-signatures`. That package verifies answers, and what rye sends; bytes
that are not HTTP get the structured error; `wrk` gets an answer to each request; schemathesis asks
for all that `/openapi.json` describes and finds nothing; and the memory stays as it is over 2,000
requests, or 100,000 with `RYE_TEST=all`.
"""

import http.client
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.parse
from types import SimpleNamespace

import requests

from fixture import NO_OP, REQUEST, Caller, Home, key_of, run_id, sha256, verify, verify_answer

HERE = pathlib.Path(__file__).parent
SCOPES = ("--scopes", "execute:tool:acme/**,objects", "--yes")

# A tool of the caller, with files that go and come.
COPIES = """#!/bin/bash
# /// rye
# version = "1.0.0"
# tool_type = "tool"
# category = "acme"
# executor_id = "rye/core/runtimes/shell/script"
# description = "Copies a file"
# remote = {inputs = ["in"], outputs = ["out"]}
# [sandbox.fs]
# write = ["{project_path}"]
# ///
cat in in >out
"""


def agrees(node, caller):
    """Requests that are not ours are let in, and their answers are the node's."""
    def ask(method, path, status, **more):
        answer = requests.request(method, node.url + path, auth=caller, timeout=30, **more)
        assert answer.status_code == status, answer.text
        verify_answer(answer, node.name)
        return answer

    # The object that `/openapi.json` gives as an example.
    assert ask("PUT", "/objects/" + sha256(b""), 200, data=b"").json() == {"bytes": 0}
    data = os.urandom(100_000)
    assert ask("PUT", "/objects/" + sha256(data), 200, data=data).json() == {"bytes": len(data)}
    assert ask("GET", "/objects/" + sha256(data), 200).content == data
    assert ask("PUT", "/objects/" + sha256(data), 400, data=b"other").json()["status"] == "error"
    run = {"run": run_id(), "item_id": "tool:acme/greet"}
    answer = ask("POST", "/execute", 200, json=run).json()
    assert answer["report"]["status"] == "success", answer
    assert ask("GET", "/threads/" + run["run"], 200).json() == answer
    assert ask("POST", f"/threads/{run['run']}/cancel", 200).json() == answer
    assert ask("GET", "/threads/%FF", 400).json()["code"] == "remote.bad_request"
    assert ask("POST", "/execute", 403, json={**run, "item_id": "tool:rye/bash"}).json()["help"]
    print("requests of http-message-signatures are let in, and it verifies the answers")


class Relay(http.server.BaseHTTPRequestHandler):
    """Hands everything on to a node, and keeps it."""

    protocol_version = "HTTP/1.1"

    def relay(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        there = http.client.HTTPConnection(self.server.node, timeout=30)
        there.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            there.putheader(name, value)
        there.endheaders(body)
        answer = there.getresponse()
        content = answer.read()
        url = f"http://{self.headers['host']}{self.path}"
        asked = SimpleNamespace(method=self.command, url=url, headers=self.headers, body=body)
        told = SimpleNamespace(
            status_code=answer.status, headers=answer.headers, content=content, request=asked)
        self.server.kept.append(told)
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = relay

    def log_message(self, *_):
        pass


def verifies(rye, folder, node, operator):
    """Every request of a run with files, and every answer to it."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Relay)
    server.node, server.kept = urllib.parse.urlsplit(node.url).netloc, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    caller = Home(rye, folder)
    caller.run("init")
    key = caller.json("remote", "add", "gpu", f"http://127.0.0.1:{server.server_port}",
                      "--node", node.name)["own_key"]
    signer = caller.json("keys", "show")["fingerprint"]
    operator.run("trust", "add", key, "--yes")
    operator.run("node", "authorize", key, "--signers", signer, *SCOPES)
    caller.write(".ai/tools/acme/copies.sh", COPIES)
    caller.write("in", "text\n")
    caller.run("sign", "--all", "--yes")
    caller.run("execute", "tool:acme/copies", "--target", "remote:gpu")
    assert (caller.project / "out").read_text() == "text\ntext\n"
    caller.run("remote", "ping", "gpu")
    server.shutdown()
    signed = [told for told in server.kept if "signature" in told.request.headers]
    asked = {told.request.method + " " + urllib.parse.urlsplit(told.request.url).path for told in signed}
    asked = {re.sub("[0-9a-f]{64}", "…", what) for what in asked}
    assert asked == {"GET /objects/…", "GET /threads", "POST /execute", "PUT /objects/…"}, asked
    for told in signed:
        verify(told.request, told.request.body, key_of(key), "rye-request-v1", REQUEST)
        verify_answer(told, node.name)
    print(f"http-message-signatures verifies {len(signed)} requests of rye, and their answers")


# Bytes, and the statuses of which one is answered.
MALFORMED = {
    "no HTTP": (b"hello\r\n\r\n", [400]),
    "TLS": (bytes.fromhex("16030100a5010000a10303") + bytes(160), [400]),
    "another version": (b"GET /health HTTP/9.9\r\n\r\n", [400]),
    "no target": (b"GET HTTP/1.1\r\nhost: x\r\n\r\n", [400]),
    "a space in the target": (b"GET /a b HTTP/1.1\r\nhost: x\r\n\r\n", [400]),
    "a header without a colon": (b"GET /health HTTP/1.1\r\nhost\r\n\r\n", [400]),
    "a control character": (b"GET /health HTTP/1.1\r\nhost: x\0\r\n\r\n", [400]),
    "a line that is folded": (b"GET /health HTTP/1.1\r\nhost: x\r\na: b\r\n c\r\n\r\n", [400]),
    "a length that is none": (b"PUT /objects/0 HTTP/1.1\r\nhost: x\r\ncontent-length: 1x\r\n\r\n", [400]),
    "two lengths": (
        b"PUT /objects/0 HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", [400]),
    "an unknown coding": (b"PUT /objects/0 HTTP/1.1\r\nhost: x\r\ntransfer-encoding: zip\r\n\r\n", [400]),
    "200 headers": (b"GET /health HTTP/1.1\r\nhost: x\r\n" + b"a: b\r\n" * 200 + b"\r\n", [431]),
    "a long header": (b"GET /health HTTP/1.1\r\na: " + b"x" * 1_000_000 + b"\r\n\r\n", [431]),
    "a long target": (b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", [414]),
    "no host": (b"GET /threads HTTP/1.1\r\n\r\n", [400]),
    "a target that is a URL": (b"GET http://x/threads HTTP/1.1\r\nhost: x\r\n\r\n", [400]),
    "another method": (b"PATCH /health HTTP/1.1\r\nhost: x\r\n\r\n", [405]),
    "another path": (b"GET /nothing HTTP/1.1\r\nhost: x\r\n\r\n", [401]),
    "a signature that is none": (b"GET /threads HTTP/1.1\r\nhost: x\r\nsignature: \xff\r\n\r\n", [401]),
}


def refuses(node):
    """Malformed bytes get a status and the structured error."""
    to = urllib.parse.urlsplit(node.url)
    for what, (sent, statuses) in MALFORMED.items():
        with socket.create_connection((to.hostname, to.port), timeout=20) as line:
            try:
                line.sendall(sent)
            except OSError:
                # It was refused before it was at its end.
                pass
            answer = http.client.HTTPResponse(line)
            answer.begin()
            body = answer.read()
        assert answer.status in statuses, (what, answer.status, body)
        assert answer.headers["content-type"] == "application/json", (what, answer.headers)
        told = json.loads(body)
        missing = {"status", "code", "error", "help", "chain", "metadata"} - set(told)
        assert not missing and told["status"] == "error", (what, told)
    print(f"{len(MALFORMED)} malformed requests get the structured error")


def answers_all(node):
    """Nothing fails under load."""
    assert shutil.which("wrk"), "`wrk` is not here (package wrk)"
    for path in ("/health", "/identity"):
        words = ["wrk", "--threads", "1", "--connections", "8", "--duration", "1s", node.url + path]
        told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert "Non-2xx" not in told and "Socket errors" not in told, told
        print(f"wrk: {re.search('Requests/sec: *([0-9]+)', told).group(1)} requests a second of {path}")


def ask_everything(node, caller, token):
    """Runs schemathesis, which must find nothing."""
    env = {**os.environ, "NODE": node.name, "SEED": caller.seed.hex(), "TOKEN": token,
           "SCHEMATHESIS_HOOKS": "schemathesis_hooks", "PYTHONPATH": str(HERE)}
    command = [
        pathlib.Path(sys.executable).parent / "schemathesis", "run", node.url + "/openapi.json",
        "--max-examples", "25", "--continue-on-failure", "--request-timeout", "30",
        "--generation-with-security-parameters", "false", "--generation-database", "none",
        # How hard it is to make a request says nothing of the node.
        "--suppress-health-check", "all", "--no-color", *sys.argv[2:],
    ]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(command, cwd=folder, env=env, check=True, timeout=300)


def memory(node):
    """Resident memory in KiB."""
    status = pathlib.Path(f"/proc/{node.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))


def stays_small(node, caller):
    """Memory does not grow with the number of requests."""
    count = 100_000 if os.environ.get("RYE_TEST") == "all" else 2_000
    session, run = requests.Session(), {"run": run_id(), "item_id": "tool:acme/greet"}
    before = None
    for number in range(count):
        method, path, more = "GET", "/threads/" + run["run"], {}
        if number % 50 == 0:
            run["run"] = run_id()
            method, path, more = "POST", "/execute", {"json": run}
        elif number % 5 == 1:
            data = number.to_bytes(4, "big") * 256
            method, path, more = "PUT", "/objects/" + sha256(data), {"data": data}
        elif number % 5 == 2:
            method, path, more = "POST", "/objects/has", {"json": {"digests": [sha256(b"")]}}
        answer = session.request(method, node.url + path, auth=caller, timeout=30, **more)
        assert answer.status_code == 200, answer.text
        if number == count // 4:
            before = memory(node)
    after = memory(node)
    print(f"{count} requests: {before} KiB after a quarter of them, {after} KiB after all")
    assert after < before + 8_192, "the memory of the node grows"


def main(rye):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        operator = Home(rye, folder / "node")
        operator.run("keys", "generate")
        operator.write("~/.ai/tools/acme/greet.yaml", NO_OP)
        operator.run("sign", "tool:acme/greet", "--space", "user", "--yes")
        with operator.node() as node:
            caller = Caller(node.name)
            operator.run("node", "authorize", caller.text(), "--name", "not rye", *SCOPES)
            agrees(node, caller)
            verifies(rye, folder / "caller", node, operator)
            refuses(node)
            answers_all(node)
            token = (operator.path / ".ai/state/node/metrics.token").read_text()
            ask_everything(node, caller, token)
            stays_small(node, caller)


if __name__ == "__main__":
    main(sys.argv[1])
