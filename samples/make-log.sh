#!/bin/sh
# Writes samples/logs/access.log, about 1 MiB of lines that compress well. The bytes are always the same.
set -eu
cd "$(dirname "$0")/logs"
awk 'BEGIN {
  state = 20240229
  for (line = 0; line < 12000; line++) {
    state = (state * 16807) % 2147483647
    second = int(line * 7.2)
    status = state % 50 ? 200 : 404
    printf "10.0.%d.%d - - [29/Feb/2024:%02d:%02d:%02d +0000] \"GET /photos/%04d.png HTTP/1.1\" %d %d\n",
      state % 4, state % 251, int(second / 3600) % 24, int(second / 60) % 60, second % 60,
      state % 997, status, 200 + state % 48611
  }
}' >access.log
