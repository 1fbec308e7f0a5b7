#!/bin/sh
# offsite.sh DIR REMOTE [MOST]
#
# Copies the snapshots of a folder to REMOTE with rclone. Use it as --after of a backup, or in a separate
# crontab line:
#
#   batchproc backup -q --to /mnt/backups --after '/usr/local/sbin/offsite.sh /mnt/backups away:snapshots' /home
#
# REMOTE is a remote of rclone with a path, or a local folder. Archives are copied before manifests, so that
# no manifest at REMOTE names a missing archive. A file never changes under its name: if a file in DIR differs
# from its copy, rclone reports it and keeps the copy; remove the wrong one by hand. Pruned files are removed
# from REMOTE last, and none if more than MOST files (50) would be removed.
# Lock files are not copied.
#
# After a failed backup the script does nothing; after one that left out files (3) it removes nothing. It
# stops when DIR has no manifest, for example because it is not mounted.
set -eu
most=${3:-50}
outcome=${BATCHPROC_OUTCOME:-success}
stop() {
  echo "offsite.sh: $*" >&2
  exit 1
}
list() { rclone lsf --files-only --include '/*.manifest' --include '/*.manifest.zst' --include '/*.tar.zst' "$1"; }

[ "$outcome" != failure ] || stop "the backup failed: nothing is copied"
here=$(list "$1")
case "$here" in
*.manifest*) ;;
*) stop "there is no manifest in $1: nothing is copied or removed" ;;
esac
rclone copy --immutable --include '/*.tar.zst' "$1" "$2"
rclone copy --immutable --include '/*.manifest' --include '/*.manifest.zst' "$1" "$2"

[ "$outcome" = success ] || exit 0
gone=$(list "$2" | grep -cvxF -e "$here") || [ "$gone" = 0 ]
[ "$gone" -le "$most" ] || stop "$gone files of $2 are not in $1: nothing is removed; the most is $most"
rclone sync --immutable --max-delete "$most" --include '/*.manifest' --include '/*.manifest.zst' "$1" "$2"
rclone sync --immutable --max-delete "$most" --include '/*.tar.zst' "$1" "$2"
