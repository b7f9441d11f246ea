#!/bin/sh
# about: a program that stopped itself is ended with its group
# row: f06
# exec: timeout_ms: 300
# within: 6000
# expect: code protocol.timeout
sleep 600 &
kill -STOP $!
kill -STOP $$
