#!/bin/sh
# about: a status other than 0 is an error, whatever was said; an `error` on standard output is its text
# row: s2
# call: {"case": "said"}
# expect: error no such table
# call: {"case": "silent"}
# expect: error the tool ended with status 3
# tail: opening the table
# call: {"case": "result"}
# expect: error the tool ended with status 3
# call: {"case": "waits"}
# expect: error the tool ended with status 3
# call: {"case": "garbage"}
# expect: error the tool ended with status 3
# call: {"case": "killed"}
# expect: error the tool ended with status 137, that of signal 9
read -r line
echo 'opening the table' >&2
case $line in
*'"said"'*) echo '{"error": "no such table"}' ;;
*'"result"'*) echo '{"result": 1}' ;;
*'"waits"'*) echo '{"pending": {}}' ;;
*'"garbage"'*) echo 'Traceback' ;;
*'"killed"'*) echo '{"result": 1}'; kill -KILL $$ ;;
esac
exit 3
