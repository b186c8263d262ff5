#!/bin/sh
# Polite retries with curl alone: sh retry.sh URL [COUNT]
#
# --retry repeats 429 and 503 (and 408, 500, 502, 504 and lost connections), waits 1, 2, 4 … seconds,
# and waits what Retry-After says where that is there. It adds no jitter of its own: the sleep in
# front spreads scripts that cron starts in the same second.
set -eu
url=$1
count=${2:-1}

spread=$(od -An -N1 -tu1 /dev/urandom)
sleep "$(awk "BEGIN { print $spread / 256 }")"

answer=$(mktemp)  # not /dev/null: curl empties the file before it tries again
trap 'rm -f "$answer"' EXIT
while [ "$count" -gt 0 ]; do
  curl --silent --show-error --output "$answer" --write-out '%{http_code}\n' \
    --retry 5 --retry-max-time 120 --max-time 30 "$url"
  count=$((count - 1))
done
