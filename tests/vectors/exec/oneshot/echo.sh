#!/bin/sh
# about: numbers keep their precision, in and out
# row: s2
# call: {"n": 12345678901234567890.10, "e": 1E+400, "z": -0.0}
# expect: result {"n": 12345678901234567890.10, "e": 1E+400, "z": -0.0}
read -r line
args=${line#*:}
printf '{"result":%s}' "${args%\}}"
