#!/usr/bin/env bash
# {{title}}
# /// rye
# version = "1.0.0"
# tool_type = "tool"
# executor_id = "rye/core/runtimes/shell/script"
# category = "{{category}}"
# description = "Greets somebody; say here what it does."
#
# [[parameters]]
# name = "name"
# type = "string"
# default = "world"
# description = "Whom to greet"
# ///
set -euo pipefail

# Parameters come as one JSON object on standard input. One of them, where `jq` is installed:
#     name=$(jq --raw-output .name <<<"$params")
params=$(cat)
printf '{"greeting": "hello", "params": %s}\n' "$params"
