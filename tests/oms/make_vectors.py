"""Makes `tests/oms/vectors` anew: signatures of one skill by the implementation that is not ours.

    python3 tests/oms/make_vectors.py

Needs `model-signing` 1.1 with `pyOpenSSL`. The private keys are thrown away; what stays are the
public key or the root of each signature, and the signatures. The certificates are valid until the
end of the year 9999, so no test depends on the day.
"""

import datetime
import pathlib
import shutil
import tempfile

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from model_signing import hashing, signing

HERE = pathlib.Path(__file__).resolve().parent / "vectors"
CURVES = {"p256": ec.SECP256R1(), "p384": ec.SECP384R1(), "p521": ec.SECP521R1()}
END = datetime.datetime(9999, 12, 31, 23, 59, 59)
START = datetime.datetime(2025, 1, 1)

SKILL = {
    "SKILL.md": "---\nname: word-count\ndescription: Counts the words of a text.\n---\n\n"
    "# Counting words\n\nRun `scripts/count.py` with the text on standard input.\n",
    "scripts/count.py": "import sys\n\nprint(len(sys.stdin.read().split()))\n",
    "references/a b.md": "# What a word is\n\nWhat stands between blanks.\n",
    "assets/ü.txt": "eins zwei drei\n",
    # Before `assets/` by its bytes, behind it by its parts.
    "assets-2.txt": "vier\n",
}


def pem(path, key):
    kind = serialization.PrivateFormat.PKCS8
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption()))
    return path


def public(path, key):
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    path.write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM, form))


def certificate(subject, key, issuer, issuer_key, is_ca):
    name = lambda text: x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
    made = x509.CertificateBuilder().subject_name(name(subject)).issuer_name(name(issuer))
    made = made.public_key(key.public_key()).serial_number(x509.random_serial_number())
    made = made.not_valid_before(START).not_valid_after(END)
    made = made.add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
    usage = dict.fromkeys(
        ["digital_signature", "content_commitment", "key_encipherment", "data_encipherment",
         "key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"], False)
    usage["key_cert_sign" if is_ca else "digital_signature"] = True
    made = made.add_extension(x509.KeyUsage(**usage), critical=True)
    if not is_ca:
        purposes = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING])
        made = made.add_extension(purposes, critical=False)
    return made.sign(issuer_key, hashes.SHA256())


def write_certs(path, *certs):
    path.write_bytes(b"".join(cert.public_bytes(serialization.Encoding.PEM) for cert in certs))
    return path


def hash_config(method, algorithm):
    config = hashing.Config()
    if method == "files":
        config.use_file_serialization(hashing_algorithm=algorithm)
    else:
        config.use_shard_serialization(hashing_algorithm=algorithm, shard_size=16)
    return config.set_ignored_paths(paths=["skill.oms.sig"])


def main():
    shutil.rmtree(HERE, ignore_errors=True)
    skill = HERE / "word-count"
    for path, text in SKILL.items():
        file = skill / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    with tempfile.TemporaryDirectory() as folder:
        secret = pathlib.Path(folder)
        for curve, kind in CURVES.items():
            key = ec.generate_private_key(kind)
            public(HERE / f"{curve}.pub.pem", key)
            own = pem(secret / f"{curve}.pem", key)
            rows = [("files", "sha256"), ("shards", "sha256")]
            if curve == "p256":
                rows += [("files", "blake2"), ("shards", "blake2"), ("files", "blake3")]
            for method, algorithm in rows:
                config = signing.Config().use_elliptic_key_signer(private_key=own)
                config.set_hashing_config(hash_config(method, algorithm))
                config.sign(skill, HERE / f"key-{curve}-{method}-{algorithm}.sig")
            root_key = rsa.generate_private_key(65537, 2048) if curve == "p384" else ec.generate_private_key(kind)
            middle_key = ec.generate_private_key(kind)
            root = certificate("Acme Root", root_key, "Acme Root", root_key, True)
            middle = certificate("Acme Skills", middle_key, "Acme Root", root_key, True)
            leaf = certificate("Acme signer", key, "Acme Skills", middle_key, False)
            write_certs(HERE / f"{curve}.root.pem", root)
            for method in ["files", "shards"]:
                config = signing.Config().use_certificate_signer(
                    private_key=own,
                    signing_certificate=write_certs(secret / "leaf.pem", leaf),
                    certificate_chain=[write_certs(secret / "middle.pem", middle)],
                )
                config.set_hashing_config(hash_config(method, "sha256"))
                config.sign(skill, HERE / f"certificate-{curve}-{method}-sha256.sig")


if __name__ == "__main__":
    main()
