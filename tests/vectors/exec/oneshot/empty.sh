#!/bin/sh
# about: nothing on standard output and status 0 is no answer
# row: f03
# call: {"case": "none"}
# expect: code protocol.empty_response
# call: {"case": "space"}
# expect: code protocol.empty_response
read -r line
case $line in *'"space"'*) printf ' \n\n\t' ;; esac
