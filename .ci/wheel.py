#!/usr/bin/env python3
"""Packs a program as a Python wheel.

    .ci/wheel.py PROGRAM VERSION MACHINE FOLDER

The program is static, so the wheel is for every Linux on that machine. The format is the one of
https://packaging.python.org/en/latest/specifications/binary-distribution-format/.
"""

import base64
import hashlib
import os
import sys
import time
import zipfile

program, version, machine, folder = sys.argv[1:]
platforms = [f"manylinux_2_17_{machine}", f"manylinux2014_{machine}", f"musllinux_1_1_{machine}"]
tag = f"py3-none-{'.'.join(platforms)}"
info = f"rye-{version}.dist-info"

with open(program, "rb") as file:
    binary = file.read()
with open("README.md", encoding="utf-8") as file:
    readme = file.read()

metadata = f"""Metadata-Version: 2.1
Name: rye
Version: {version}
Summary: A manager for directives and tools whose every file is signed
Description-Content-Type: text/markdown

{readme}"""
tags = "".join(f"Tag: py3-none-{platform}\n" for platform in platforms)
wheel = f"Wheel-Version: 1.0\nGenerator: rye\nRoot-Is-Purelib: false\n{tags}"

files = [
    (f"rye-{version}.data/scripts/rye", binary, 0o755),
    (f"{info}/METADATA", metadata.encode(), 0o644),
    (f"{info}/WHEEL", wheel.encode(), 0o644),
]
record = ""
for name, content, _ in files:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    record += f"{name},sha256={digest},{len(content)}\n"
record += f"{info}/RECORD,,\n"
files.append((f"{info}/RECORD", record.encode(), 0o644))

moment = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")))[:6]
path = os.path.join(folder, f"rye-{version}-{tag}.whl")
with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
    for name, content, mode in files:
        entry = zipfile.ZipInfo(name, moment)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100000 | mode) << 16
        archive.writestr(entry, content)
