#!/bin/sh
# about: a server has what it named, and its last words are shown without secrets
# row: f08
# exec: env: [ACME_NAMED]
# more: secrets: [ACME_SECRET]
# call: {}
# expect: result "canary-named, 13, "
# call: {"case": "tells"}
# expect: error bad key ***
# call: {"case": "dies"}
# expect: code protocol.server_exited
# tail: ***
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    case $line in
    *'"tells"'*) echo "{\"id\":$id,\"error\":{\"code\":1,\"message\":\"bad key $ACME_SECRET\"}}" ;;
    *'"dies"'*) echo "key $ACME_SECRET" >&2; exit 1 ;;
    *) echo "{\"id\":$id,\"result\":\"$ACME_NAMED, ${#ACME_SECRET}, $ACME_IDLE\"}" ;;
    esac
done
