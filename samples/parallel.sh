#!/bin/sh
# Runs a command of batchproc in shards with GNU parallel, on this host or on several hosts that share the
# folders:
#   samples/parallel.sh /shared/plan 16 hash -o /shared/data.sha256 /shared/data
#   HOSTS=host1,host2 samples/parallel.sh /shared/plan 16 archive -o /shared/data.tar.zst /shared/data
set -eu
plan=$1 shards=$2 command=$3
shift 2
batchproc plan --shards "$shards" --out "$plan" -- "$@"
# The merge reports failed shards.
seq "$shards" | parallel ${HOSTS:+-S "$HOSTS"} -j "${JOBS:-2}" "batchproc $command -q --plan '$plan' --shard auto" || true
exec batchproc merge "$plan"
