#!/bin/sh
# about: `env_base: none` leaves the named ones alone
# row: f08
# exec: env: [ACME_NAMED]
# exec: env_base: none
# expect: result "canary-named,,"
printf '{"result": "%s,%s,%s"}' "$ACME_NAMED" "$HOME" "$ACME_IDLE"
