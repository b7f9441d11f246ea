#!/usr/bin/env python3
"""rye as the conformance suite of OpenSSF Model Signing calls it: `verify-model` alone.

    pytest test/ --entrypoint tests/oms/adapter.py --skip-signing     (in the suite's folder)

with the program in the variable `RYE`. rye has no door of its own for models: the folder is imported
as a skill, and a signature that holds over a folder that is none ends with `import.nothing`, which
no folder reaches whose signature does not hold. Paths to ignore are taken away first, since rye
leaves out what the signature says and nothing else.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def main():
    if sys.argv[1] != "verify-model":
        sys.exit("rye signs skills, and no models")
    parser = argparse.ArgumentParser()
    for name in ["method", "model-path", "bundle", "public-key", "identity", "identity-provider"]:
        parser.add_argument(f"--{name}")
    for name in ["cert-chain", "ignore-paths"]:
        parser.add_argument(f"--{name}", action="append", default=[])
    for name in ["ignore-unsigned-files", "use-staging"]:
        parser.add_argument(f"--{name}", action="store_true")
    said = parser.parse_args(sys.argv[2:])
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as work:
        model, bundle = pathlib.Path(said.model_path), pathlib.Path(said.bundle)
        if model.is_file():
            folder = pathlib.Path(home, "model")
            folder.mkdir()
            model = shutil.copy(model, folder) and folder
        for path in said.ignore_paths:
            path = pathlib.Path(path)
            if path.is_relative_to(model) and path != bundle:
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        signers = [said.public_key] if said.method == "key" else said.cert_chain
        args = [arg for signer in signers if signer for arg in ("--signer", signer)]
        args += ["--signed-only"] if said.ignore_unsigned_files else []
        env = {"PATH": os.environ["PATH"], "HOME": home}
        done = subprocess.run(
            [os.environ["RYE"], "import", "skill", model, "--signature", bundle, *args, "--dry-run", "--json"],
            env=env, cwd=work, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    answer = json.loads(done.stdout)
    code = answer.get("code")
    print(code, answer.get("error"))
    # What fails for another reason than the signature is no answer to any test.
    assert code in (None, "import.nothing") or code.startswith("oms."), abort(code)
    sys.exit(1 if code and code.startswith("oms.") else 0)


def abort(code):
    """Leaves a word of it where the suite cannot take it for a refusal."""
    with open(os.environ["RYE"] + ".oms-adapter-failed", "a") as file:
        file.write(f"{code} {sys.argv[2:]}\n")


if __name__ == "__main__":
    main()
