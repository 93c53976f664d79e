#!/bin/sh
# Why jobs failed: time, job, reason, message, separated by tabs. Needs jq.
#
#   examples/consumers/failures.sh events.jsonl           of files that `jobledger events export` or `publish` wrote
#   jobledger events tail --follow -o jsonl | examples/consumers/failures.sh        as it happens
set -eu
exec jq --raw-output --unbuffered '
  select(.type == "dev.jobledger.job.failed.v1")
  | [.time, "\(.namespace)/\(.name)", .data.reason, .data.cause.message // ""] | @tsv' "$@"
