"""Makes `tests/oms/sigstore/private` anew: signatures by the method `sigstore` of a service of our own.

    python3 tests/oms/make_private_sigstore.py

Needs `cryptography` 45 or newer. The service is an authority for certificates, a log of
certificates (RFC 6962) and a log of signatures (Rekor 1, entries `dsse` 0.0.1), each with a key of
its own that is thrown away. What is signed is the statement over `vectors/word-count`, so the
folder is a whole skill. `skill.oms.sig` is right; `wrong.json` holds others by name, each right but
for what its name says: what only the service itself could make.
"""

import base64
import datetime
import hashlib
import json
import pathlib
import struct

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HERE = pathlib.Path(__file__).resolve().parent
TO = HERE / "sigstore" / "private"
IDENTITY = "ann@acme.example"
ISSUER = "https://login.acme.example"
NOW = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.timezone.utc)
MINUTES = datetime.timedelta(minutes=10)
YEARS = datetime.timedelta(days=3650)
CODE_SIGNING = x509.ObjectIdentifier("1.3.6.1.5.5.7.3.3")
SERVER = x509.ObjectIdentifier("1.3.6.1.5.5.7.3.1")
OLD_ISSUER = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
NEW_ISSUER = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
SCT_LIST = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")


def b64(data):
    return base64.b64encode(data).decode()


def sha256(data):
    return hashlib.sha256(data).digest()


def key():
    return ec.generate_private_key(ec.SECP256R1())


def spki(private):
    return private.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def sign(private, data):
    return private.sign(data, ec.ECDSA(hashes.SHA256()))


def compact(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def der(tag, content):
    assert len(content) < 1 << 16
    size = len(content)
    length = bytes([size]) if size < 128 else b"\x81" + bytes([size])
    length = length if size < 256 else b"\x82" + struct.pack(">H", size)
    return bytes([tag]) + length + content


class Service:
    def __init__(self):
        self.ca, self.ct, self.rekor = key(), key(), key()
        name = x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, "acme.example"),
                x509.NameAttribute(NameOID.COMMON_NAME, "signing"),
            ]
        )
        public = self.ca.public_key()
        builder = x509.CertificateBuilder(name, name, public, x509.random_serial_number())
        builder = builder.not_valid_before(NOW - YEARS).not_valid_after(NOW + YEARS)
        builder = builder.add_extension(x509.BasicConstraints(True, 0), True)
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        builder = builder.add_extension(usage, True)
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), False)
        self.root = builder.sign(self.ca, hashes.SHA384())

    def trusted_root(self):
        valid = {"start": (NOW - YEARS).strftime("%Y-%m-%dT%H:%M:%SZ")}

        def log(private, url):
            return {
                "baseUrl": url,
                "hashAlgorithm": "SHA2_256",
                "publicKey": {
                    "rawBytes": b64(spki(private)),
                    "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                    "validFor": valid,
                },
                "logId": {"keyId": b64(sha256(spki(private)))},
            }

        certificate = self.root.public_bytes(serialization.Encoding.DER)
        return {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log(self.rekor, "https://log.acme.example")],
            "certificateAuthorities": [
                {
                    "subject": {"organization": "acme.example", "commonName": "signing"},
                    "uri": "https://ca.acme.example",
                    "certChain": {"certificates": [{"rawBytes": b64(certificate)}]},
                    "validFor": valid,
                }
            ],
            "ctlogs": [log(self.ct, "https://ct.acme.example")],
            "timestampAuthorities": [],
        }

    def certificate(self, public, names, issuer, purpose, ct):
        builder = x509.CertificateBuilder(
            self.root.subject, x509.Name([]), public, x509.random_serial_number()
        )
        builder = builder.not_valid_before(NOW).not_valid_after(NOW + MINUTES)
        usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
        builder = builder.add_extension(usage, True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), False)
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), False)
        above = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.ca.public_key())
        builder = builder.add_extension(above, False)
        builder = builder.add_extension(x509.SubjectAlternativeName(names), True)
        old, new = issuer
        if old:
            said = x509.UnrecognizedExtension(OLD_ISSUER, old.encode())
            builder = builder.add_extension(said, False)
        if new:
            said = x509.UnrecognizedExtension(NEW_ISSUER, der(0x0C, new.encode()))
            builder = builder.add_extension(said, False)
        if ct:
            # RFC 6962, 3.2: over the certificate without this extension.
            bare = builder.sign(self.ca, hashes.SHA384()).tbs_certificate_bytes
            time = struct.pack(">Q", int(NOW.timestamp() * 1000))
            entry = struct.pack(">H", 1) + sha256(spki(self.ca))
            entry += struct.pack(">I", len(bare))[1:] + bare
            signature = sign(ct, b"\0\0" + time + entry + b"\0\0")
            sct = b"\0" + sha256(spki(ct)) + time + b"\0\0"
            sct += b"\x04\x03" + struct.pack(">H", len(signature)) + signature
            sct = struct.pack(">H", len(sct)) + sct
            listed = x509.UnrecognizedExtension(
                SCT_LIST, der(0x04, struct.pack(">H", len(sct)) + sct)
            )
            builder = builder.add_extension(listed, False)
        return builder.sign(self.ca, hashes.SHA384())

    def entry(self, body, time, rekor):
        body = compact(body)
        log_id = sha256(spki(rekor))
        index = 7
        promised = compact(
            {
                "body": b64(body),
                "integratedTime": time,
                "logID": log_id.hex(),
                "logIndex": index,
            }
        )
        # A log of two entries, of which this is the second.
        first = sha256(b"\0another entry")
        leaf = sha256(b"\0" + body)
        root = sha256(b"\1" + first + leaf)
        note = f"log.acme.example - 1\n2\n{b64(root)}\n"
        signed = b64(log_id[:4] + sign(rekor, note.encode()))
        return {
            "logIndex": str(index),
            "logId": {"keyId": b64(log_id)},
            "kindVersion": {"kind": "dsse", "version": "0.0.1"},
            "integratedTime": str(time),
            "inclusionPromise": {"signedEntryTimestamp": b64(sign(rekor, promised))},
            "inclusionProof": {
                "logIndex": "1",
                "rootHash": b64(root),
                "treeSize": "2",
                "hashes": [b64(first)],
                "checkpoint": {"envelope": f"{note}\n\u2014 log.acme.example {signed}\n"},
            },
            "canonicalizedBody": b64(body),
        }

    def signature(
        self,
        payload,
        names=(x509.RFC822Name(IDENTITY),),
        issuer=(ISSUER, ISSUER),
        purpose=CODE_SIGNING,
        ct=True,
        time=NOW + MINUTES / 2,
        rekor=None,
        logged=None,
        kind="application/vnd.in-toto+json",
        change=lambda bundle: None,
    ):
        private = key()
        ct = self.ct if ct is True else ct
        certificate = self.certificate(private.public_key(), names, issuer, purpose, ct)
        pae = f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload
        envelope = {
            "payload": b64(payload),
            "payloadType": kind,
            "signatures": [{"sig": b64(sign(private, pae))}],
        }
        pem = certificate.public_bytes(serialization.Encoding.PEM)
        spec = {
            "envelopeHash": {"algorithm": "sha256", "value": sha256(compact(envelope)).hex()},
            "payloadHash": {"algorithm": "sha256", "value": sha256(logged or payload).hex()},
            "signatures": [
                {"signature": envelope["signatures"][0]["sig"], "verifier": b64(pem)}
            ],
        }
        body = {"apiVersion": "0.0.1", "kind": "dsse", "spec": spec}
        entry = self.entry(body, int(time.timestamp()), rekor or self.rekor)
        bundle = {
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": {
                    "rawBytes": b64(certificate.public_bytes(serialization.Encoding.DER))
                },
                "tlogEntries": [entry],
            },
            "dsseEnvelope": envelope,
        }
        change(bundle)
        return bundle


def without(*names):
    def change(bundle):
        for name in names:
            del bundle["verificationMaterial"]["tlogEntries"][0][name]

    return change


def main():
    vector = json.loads((HERE / "vectors" / "key-p256-files-sha256.sig").read_text())
    payload = base64.b64decode(vector["dsseEnvelope"]["payload"])
    service, other = Service(), Service()
    mail, uri, name = x509.RFC822Name, x509.UniformResourceIdentifier, x509.DNSName
    by = service.signature
    wrong = {
        "another authority": other.signature(payload, ct=service.ct, rekor=service.rekor),
        "another log": by(payload, rekor=key()),
        "another log of certificates": by(payload, ct=key()),
        "not in the log of certificates": by(payload, ct=None),
        "for servers": by(payload, purpose=SERVER),
        "after the certificate ended": by(payload, time=NOW + 2 * MINUTES),
        "before the certificate began": by(payload, time=NOW - MINUTES),
        "another payload in the log": by(payload, logged=payload + b" "),
        "another type of payload": by(payload, kind="application/json"),
        "no proof": by(payload, change=without("inclusionProof")),
        "no promise": by(payload, change=without("inclusionPromise")),
        "no entry": by(
            payload, change=lambda it: it["verificationMaterial"].update(tlogEntries=[])
        ),
        "another's mail first": by(payload, names=[mail("eve@acme.example"), mail(IDENTITY)]),
        "a name of a server": by(payload, names=[name(IDENTITY)]),
        "a URI": by(payload, names=[uri(IDENTITY)]),
        "capital letters": by(payload, names=[mail(IDENTITY.capitalize())]),
        "a longer name": by(payload, names=[mail(IDENTITY + ".evil.example")]),
        "a dot at the end": by(payload, names=[mail(IDENTITY + ".")]),
        "a NUL": by(payload, names=[mail(IDENTITY + "\0.evil.example")]),
        "nobody": by(payload, names=[]),
        "another issuer": by(payload, issuer=("https://evil.example", "https://evil.example")),
        "two issuers": by(payload, issuer=(ISSUER, "https://evil.example")),
        "no issuer": by(payload, issuer=(None, None)),
        "an issuer with a slash": by(payload, issuer=(None, ISSUER + "/")),
    }
    TO.mkdir(exist_ok=True)

    def write(file, value):
        (TO / file).write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")

    write("trusted_root.json", service.trusted_root())
    write("skill.oms.sig", by(payload))
    write("wrong.json", wrong)


if __name__ == "__main__":
    main()
