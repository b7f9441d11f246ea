#!/bin/sh
read -r call
case "$call" in
*good*) echo '{"result": {"glad": true}}' ;;
*) echo '{"error": "no mood is to be seen"}' ;;
esac
