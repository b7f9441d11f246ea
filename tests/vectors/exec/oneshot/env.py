#!/usr/bin/env python3
# about: a program has the fixed list, what it named and what rye says, and nothing else of the host
# row: f08
# exec: env: [ACME_NAMED, ACME_ABSENT]
# expect: result ["ACME_NAMED", "HOME", "LANG", "PATH", "PERL_USE_UNSAFE_INC", "PYTHONSAFEPATH", "RYE_ITEM", "RYE_ITEM_PATH", "RYE_PIN", "RYE_PROJECT", "RYE_RUN_ID"]
import json
import os

json.dump({"result": sorted(set(os.environ) - {"LC_CTYPE", "PWD", "SHLVL", "_"})}, __import__("sys").stdout)
