#!/bin/sh
# about: of standard error the last 4 KiB go into the error
# row: s2
# expect: error the tool ended with status 1
# tail: 001999
# not: 001000
i=1000
while [ $i -lt 2000 ]; do echo "line 00$i" >&2; i=$((i + 1)); done
exit 1
