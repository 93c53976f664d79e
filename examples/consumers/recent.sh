#!/bin/sh
# The last events of the topic, a line each: type, job, data. Needs kcat and jq.
#
#   examples/consumers/recent.sh localhost:9092 jobledger.cloudevents [number of events in each partition]
set -eu
kcat -C -e -q -J -b "$1" -t "$2" -o "-${3:-20}" -X isolation.level=read_committed |
  jq --raw-output '
    ([.headers | range(0; length; 2) as $i | {(.[$i]): .[$i + 1]}] | add) as $h
    | [$h.ce_type, "\($h.ce_namespace)/\($h.ce_subject)", .payload] | @tsv'
