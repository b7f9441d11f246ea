"""A receipt of rye, checked without rye: by securesystemslib and in-toto-attestation.

    python3 tests/receipts/verify.py <rye>

Makes a key, runs a tool with `--receipt`, verifies the envelope and the statement in it, runs the
example of the documentation page, and sees that altered envelopes are refused.
"""

import base64
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

PAGE = pathlib.Path(__file__).parents[2] / ".ai/knowledge/rye/receipts.md"


def run(rye, home, *args):
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    done = subprocess.run([rye, *args], cwd=home / "project", env=env, capture_output=True, text=True)
    assert done.returncode == 0, (args, done)
    return done.stdout


def verifies(document, pem):
    envelope = Envelope.from_dict(copy.deepcopy(document))
    public = load_pem_public_key(pem.encode())
    key = SSlibKey.from_crypto(public, document["signatures"][0]["keyid"])
    try:
        envelope.verify([key], 1)
    except VerificationError:
        return None
    return envelope.payload


def flipped(text):
    raw = bytearray(base64.b64decode(text))
    raw[len(raw) // 2] ^= 1
    return base64.b64encode(bytes(raw)).decode()


def main(rye):
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        (home / "project").mkdir()
        run(rye, home, "init")
        receipt = home / "receipt.json"
        run(rye, home, "execute", "rye/bash", "-i", "command=echo hello", "--receipt", str(receipt))
        pem = run(rye, home, "keys", "export")
        document = json.loads(receipt.read_text())

        payload = verifies(document, pem)
        assert payload is not None, "securesystemslib refuses the receipt"
        statement = json_format.Parse(payload, statement_pb2.Statement())
        Statement.copy_from_pb(statement).validate()
        assert statement.subject[0].name == "tool:rye/bash", statement
        assert statement.predicate_type == "urn:rye:receipt:v1", statement
        print("verified by securesystemslib, and a valid in-toto statement")

        page = PAGE.read_text()
        example = page.split("```python\n")[1].split("```")[0]
        (home / "key.pem").write_text(pem)
        done = subprocess.run(
            [sys.executable, "-c", example, str(receipt), str(home / "key.pem")],
            capture_output=True, text=True,
        )
        assert done.stdout == "success\n", done
        print("the example of the page prints `success`")

        altered = {
            "payload": lambda d: d.update(payload=flipped(d["payload"])),
            "payload type": lambda d: d.update(payloadType="application/json"),
            "signature": lambda d: d["signatures"][0].update(sig=flipped(d["signatures"][0]["sig"])),
        }
        for what, alter in altered.items():
            other = copy.deepcopy(document)
            alter(other)
            assert other != document and verifies(other, pem) is None, what
        print("refused with another", ", another ".join(altered))


main(os.path.abspath(sys.argv[1]))
