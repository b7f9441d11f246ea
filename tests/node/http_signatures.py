"""Requests to a node and its answers, signed and verified by an implementation that is not ours.

    python3 tests/node/http_signatures.py sign|verify

Needs `http-message-signatures` (tried with 3.0.0) and `cryptography`. Reads messages as a JSON list
on standard input. A request has `method`, `url` and `node`, an answer `status` and `request`; both
have `created`, `body` and `label`, and a request `expires` and `nonce`.

`sign` gives each message its `headers`, by the key of `seed` in hex, and prints the list; so
`vectors.json` is what `sign` makes of it. `verify` holds the `headers` of each message against
`public`, a key in PEM, and its clock; it prints the nonces, and fails where one is not good.
"""

import datetime
import hashlib
import json
import sys
from types import SimpleNamespace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from http_message_signatures import HTTPMessageSigner, HTTPMessageVerifier, HTTPSignatureKeyResolver
from http_message_signatures.algorithms import ED25519

REQUEST = ("@method", "@target-uri", "content-digest", "rye-node")


class Keys(HTTPSignatureKeyResolver):
    def __init__(self, private, public):
        self.private, self.public = private, public
        self.name = hashlib.sha256(public.public_bytes_raw()).hexdigest()[:32]

    def resolve_private_key(self, key_id):
        return self.private

    def resolve_public_key(self, key_id):
        return self.public if key_id == self.name else None


def message(told, headers):
    if "request" in told:
        asked = message(told["request"], told["request"]["headers"])
        return SimpleNamespace(status_code=told["status"], headers=headers, request=asked)
    return SimpleNamespace(method=told["method"], url=told["url"], headers=headers)


def components(told):
    if "request" not in told:
        return REQUEST
    label = told["request"]["headers"]["Signature"].split("=")[0]
    return ("@status", "content-digest", f'"signature";req;key="{label}"')


def time(seconds):
    return seconds and datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)


def sign(told):
    private = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(told["seed"]))
    keys = Keys(private, private.public_key())
    headers = {} if "request" in told else {"rye-node": told["node"]}
    HTTPMessageSigner(signature_algorithm=ED25519, key_resolver=keys).sign(
        message(told, headers),
        key_id=keys.name,
        created=time(told["created"]),
        expires=time(told.get("expires")),
        nonce=told.get("nonce"),
        label=told["label"],
        tag=tag(told),
        covered_component_ids=components(told),
        body=told["body"].encode(),
    )
    return {**told, "headers": headers}


def tag(told):
    return "rye-answer-v1" if "request" in told else "rye-request-v1"


def verify(told):
    keys = Keys(None, load_pem_public_key(told["public"].encode()))
    results = HTTPMessageVerifier(signature_algorithm=ED25519, key_resolver=keys).verify(
        message(told, told["headers"]),
        expect_tag=tag(told),
        require_components=components(told),
        body=told["body"].encode(),
    )
    assert len(results) == 1, results
    return results[0].nonce


if __name__ == "__main__":
    work = {"sign": sign, "verify": verify}[sys.argv[1]]
    json.dump([work(told) for told in json.load(sys.stdin)], sys.stdout, indent=1)
    print()
