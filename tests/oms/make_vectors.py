"""Makes `tests/oms/vectors` anew: signatures of one skill by the implementation that is not ours.

    python3 tests/oms/make_vectors.py

Needs `model-signing` 1.1. The private keys are thrown away; what stays are the
public key of each signature, and the signatures.
"""

import pathlib
import shutil
import tempfile

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from model_signing import hashing, signing

HERE = pathlib.Path(__file__).resolve().parent / "vectors"
CURVES = {"p256": ec.SECP256R1(), "p384": ec.SECP384R1(), "p521": ec.SECP521R1()}

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


if __name__ == "__main__":
    main()
