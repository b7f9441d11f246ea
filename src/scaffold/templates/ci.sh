#!/bin/sh
# Written by `rye new ci`: judges what this repository holds below `.ai` by the keys named here.
# A key is named by its whole fingerprint. When somebody comes or goes, change the list in a commit
# that those review who own this file.
set -eu
cd "$(dirname "$0")/.."
{{install}}
{{commands}}
