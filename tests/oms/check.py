"""Signatures over skills, by rye and by the implementation that is not ours: model-signing.

    python3 tests/oms/check.py <rye>

What rye signs is validated against the schemas of the specification and verified by model-signing,
by key, on the three curves. What model-signing signs is imported by rye, whole
and in parts, with each hash. Every good case is tried once more with one file changed.
"""

import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from cryptography.hazmat.primitives.asymmetric import ec
from jsonschema import Draft202012Validator
from model_signing import hashing, signing, verifying
from referencing import Registry, Resource

from make_vectors import CURVES, SKILL, pem, public

HERE = pathlib.Path(__file__).resolve().parent
SPEC = HERE / "spec"


class Rye:
    def __init__(self, program, home):
        self.program, self.home, self.project = program, home, home / "project"
        self.project.mkdir()
        self.run("init")

    def call(self, *args):
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        return subprocess.run([self.program, *map(str, args)], cwd=self.project, env=env,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def run(self, *args):
        done = self.call(*args)
        assert done.returncode == 0, (args, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout

    def code(self, *args):
        done = self.call(*args, "--json")
        return json.loads(done.stdout).get("code")


def schemas():
    texts = [json.loads(path.read_text()) for path in sorted((SPEC / "schemas").glob("*.json"))]
    registry = Registry().with_resources((it["$id"], Resource.from_contents(it)) for it in texts)
    named = {it["$id"].split("/")[3]: Draft202012Validator(it, registry=registry) for it in texts}
    return named["bundle"], named["statement"]


def is_valid(path):
    bundle, statement = schemas()
    try:
        said = json.loads(path.read_bytes())
        payload = json.loads(base64.b64decode(said["dsseEnvelope"]["payload"]))
    except (ValueError, KeyError):
        return False
    return bundle.is_valid(said) and statement.is_valid(payload)


def write_skill(folder):
    for path, text in SKILL.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def keys(home, curve):
    """A key: the paths of what either side is given."""
    made, key = home / curve, ec.generate_private_key(CURVES[curve])
    made.mkdir()
    public(made / "public.pem", key)
    return {"key": pem(made / "key.pem", key), "public": made / "public.pem"}


def holds(of, folder, signature, **more):
    try:
        config = verifying.Config().use_elliptic_key_verifier(public_key=of["public"])
        if more.get("signed_only"):
            config.set_ignore_unsigned_files(True)
        config.verify(folder, signature)
        return True
    except Exception as error:  # The library raises what its libraries raise.
        return str(error) or type(error).__name__


def ours_for_others(rye, all_keys):
    """Returns how many signatures of rye were verified."""
    count = 0
    rye.run("import", "skill", write_skill(rye.home / "word-count"), "--yes")
    for curve, of in all_keys.items():
        to = rye.home / f"out-{curve}"
        rye.run("export", "skill", "skills/word_count", "--to", to, "--oms", of["key"])
        folder, signature = to / "word-count", to / "word-count" / "skill.oms.sig"
        assert is_valid(signature), signature.read_text()
        said = holds(of, folder, signature)
        assert said is True, (curve, said)
        (folder / "SKILL.md").write_text("# Other\n")
        assert holds(of, folder, signature) is not True, "a changed file is not seen"
        count += 1
    of = all_keys["p256"]
    (rye.project / ".ai/tools/acme").mkdir(parents=True)
    (rye.project / ".ai/tools/acme/a.sh").write_text(
        '#!/bin/bash\n# /// rye\n# version = "1.0.0"\n# description = "Says hello"\n'
        '# executor_id = "rye/core/runtimes/shell/script"\n# ///\necho hello\n')
    rye.run("sign", "tool:acme/a")
    rye.run("bundle", "pack", "acme", "tool:acme/a", "--version", "1.0.0", "--yes", "--oms", of["key"])
    signature = rye.project / "acme-1.0.0.tar.zst.oms.sig"
    assert is_valid(signature)
    said = holds(of, rye.project, signature, signed_only=True)
    assert said is True, said
    with open(rye.project / "acme-1.0.0.tar.zst", "ab") as file:
        file.write(b"x")
    assert holds(of, rye.project, signature, signed_only=True) is not True
    return count + 1


def others_for_us(rye, all_keys):
    """Returns how many signatures of model-signing were accepted."""
    count = 0
    for curve, of in all_keys.items():
        for parts, algorithm in [("files", "sha256"), ("shards", "sha256"), ("files", "blake2"),
                                 ("shards", "blake2"), ("files", "blake3")]:
            skill = write_skill(rye.home / "theirs" / f"{curve}-{parts}-{algorithm}" / "word-count")
            (skill / "drafts").mkdir()
            (skill / "drafts" / "later.md").write_text("not ready\n")
            hashes = hashing.Config()
            if parts == "files":
                hashes.use_file_serialization(hashing_algorithm=algorithm, allow_symlinks=True)
            else:
                hashes.use_shard_serialization(hashing_algorithm=algorithm, shard_size=7, allow_symlinks=True)
            hashes.set_allow_symlinks(True)
            (skill / "again.md").symlink_to("SKILL.md")
            hashes.set_ignored_paths(paths=["skill.oms.sig", "drafts"])
            config = signing.Config().set_hashing_config(hashes)
            config.use_elliptic_key_signer(private_key=of["key"])
            config.sign(skill, skill / "skill.oms.sig")
            args = ["import", "skill", skill, "--signer", of["public"], "--category", f"c{count}", "--dry-run"]
            said = json.loads(rye.run(*args, "--json"))
            files = [file["from"] for item in said["items"] for file in item["files"]]
            want = sorted([*SKILL, "again.md"])
            want.remove("SKILL.md")
            assert sorted(files) == want, files
            assert said["items"][0]["signed_by"]["method"] == "key", said
            (skill / "scripts" / "count.py").write_text("print(1)\n")
            assert rye.code(*args) == "oms.files"
            count += 1
    return count


def main(program):
    for path in sorted((SPEC / "vectors").glob("*/*.json")):
        assert is_valid(path) == (path.parent.name == "valid"), path
    vectors = sorted((HERE / "vectors").glob("*-files-sha256.sig"))
    assert len(vectors) == 3
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        rye = Rye(program, home)
        all_keys = {curve: keys(home, curve) for curve in CURVES}
        print(f"{ours_for_others(rye, all_keys)} signatures of rye: valid by the schemas, verified by model-signing")
        print(f"{others_for_us(rye, all_keys)} signatures of model-signing: accepted by rye")
    print("each with one file changed: refused on both sides")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
