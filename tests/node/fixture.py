"""Homes with rye, a node in one of them, and a caller that is not rye."""

import base64
import contextlib
import datetime
import hashlib
import json
import os
import pathlib
import secrets
import subprocess
from types import SimpleNamespace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from http_message_signatures import HTTPMessageSigner, HTTPMessageVerifier
from http_message_signatures.algorithms import ED25519
from requests.auth import AuthBase

from http_signatures import REQUEST, Keys

# A tool that does as good as nothing.
NO_OP = """version: "1.0.0"
tool_type: tool
category: acme
executor_id: rye/core/runtimes/native/program
description: Does nothing
config: {command: "true"}
"""


class Home:
    """A person's home and project, and rye for that person, started below the words of `inside`."""

    def __init__(self, rye, folder, inside=()):
        self.rye, self.inside = str(pathlib.Path(rye).resolve()), list(inside)
        self.path, self.project = folder / "home", folder / "project"
        for made in (folder, self.path, self.project):
            made.mkdir(mode=0o755, exist_ok=True)
        self.env = {"HOME": str(self.path), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}

    def start(self, *args, **more):
        more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        command = [*self.inside, self.rye, *args]
        return subprocess.Popen(command, cwd=self.project, env=self.env, text=True, **more)

    def run(self, *args, status=0):
        """What a call of rye prints that must end with this status."""
        child = self.start(*args)
        out, error = child.communicate(timeout=120)
        assert child.returncode == status, f"{args}: {child.returncode}\n{out}{error}"
        return out

    def json(self, *args, status=0):
        return json.loads(self.run(*args, "--json", status=status))

    def write(self, path, text):
        """Writes a file of the project, or of the home where the path begins with `~/`."""
        file = self.path / path[2:] if path.startswith("~/") else self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    @contextlib.contextmanager
    def node(self, *args, listen="127.0.0.1:0"):
        """A node that serves from this home, until the block ends."""
        with self.start("serve", "--listen", listen, *args, stdout=subprocess.DEVNULL) as process:
            ended = None
            try:
                said = {}
                while "listening on" not in said:
                    line = process.stderr.readline()
                    assert line, f"the node ended: {process.wait()}"
                    for key in ("node ", "listening on "):
                        if line.startswith(key):
                            said[key.strip()] = line.removeprefix(key).strip()
                yield SimpleNamespace(url=said["listening on"], name=said["node"], process=process)
                ended = process.poll()
            finally:
                process.terminate()
                process.wait(60)
        # By the signal that it was sent, and not before.
        assert (ended, process.returncode) == (None, -15), (ended, process.returncode)


class Caller(AuthBase):
    """A key whose requests are signed, and their answers verified, without rye."""

    def __init__(self, node, seed=None):
        self.node, self.seed = node, seed or secrets.token_bytes(32)
        self.private = Ed25519PrivateKey.from_private_bytes(self.seed)
        self.keys = Keys(self.private, self.private.public_key())

    def text(self):
        """The public key as `rye node authorize` takes it."""
        raw = self.private.public_key().public_bytes_raw()
        return "ed25519:" + base64.urlsafe_b64encode(raw).decode().rstrip("=")

    def __call__(self, request):
        now = datetime.datetime.now(datetime.timezone.utc)
        body = request.body or b""
        # It may have been signed before.
        for name in ("Signature", "Signature-Input", "Content-Digest"):
            request.headers.pop(name, None)
        request.headers["Rye-Node"] = self.node
        HTTPMessageSigner(signature_algorithm=ED25519, key_resolver=self.keys).sign(
            request,
            key_id=self.keys.name,
            created=now,
            expires=now + datetime.timedelta(seconds=120),
            nonce=secrets.token_urlsafe(16),
            label="sig1",
            tag="rye-request-v1",
            covered_component_ids=REQUEST,
            body=body.encode() if isinstance(body, str) else body,
        )
        return request


def key_of(text):
    """The keys of a message that `ed25519:…` made."""
    raw = text.removeprefix("ed25519:").replace("-", "+").replace("_", "/")
    return Keys(None, Ed25519PublicKey.from_public_bytes(base64.b64decode(raw + "=" * (-len(raw) % 4))))


def verify(message, body, keys, tag, components):
    """Verifies the one signature of a message."""
    verifier = HTTPMessageVerifier(signature_algorithm=ED25519, key_resolver=keys)
    done = verifier.verify(message, expect_tag=tag, require_components=components, body=body)
    assert len(done) == 1, done


def verify_answer(answer, node):
    """Verifies that a node signed an answer for its request: one of `requests`, or as one."""
    keys = key_of(answer.headers["Rye-Node-Key"])
    assert keys.name == node, keys.name
    label = answer.request.headers["Signature"].split("=")[0]
    components = ("@status", "content-digest", f'"signature";req;key="{label}"')
    verify(answer, answer.content, keys, "rye-answer-v1", components)


def run_id():
    """The id of a run: a UUID of version 7."""
    millis = int(datetime.datetime.now().timestamp() * 1000)
    number = millis << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    text = f"{number:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def sha256(data):
    return hashlib.sha256(data).hexdigest()
