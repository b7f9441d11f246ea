#!/bin/bash
# /// rye
# version = "1.0.0"
# tool_type = "tool"
# executor_id = "rye/core/runtimes/shell/script"
# category = "runtimes"
# description = "Copies what it is given into a file"
# ///
cat > given.json
echo "written in $(basename "$RYE_PROJECT" | cut -c1-9)"
exit 0
