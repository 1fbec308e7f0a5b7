#!/bin/sh
# offsite.sh DIR REMOTE [MOST]
#
# Copies the snapshots of a folder to REMOTE by rclone, for the --after of a backup or a crontab line of its own:
#
#   batchproc backup -q --to /mnt/backups --after '/usr/local/sbin/offsite.sh /mnt/backups away:snapshots' /home
#
# REMOTE is what rclone takes: the name of a remote with a path, or a local folder. Archives are copied before manifests,
# so that a manifest over there never names an archive that is not there. A file never changes under its name: where one
# here differs from its copy, rclone says so and leaves the copy; remove the wrong one of the two by hand. What was pruned
# here is removed there last, and nothing where more than MOST files (50) would go. The files of the locks are not copied.
#
# After a backup that failed nothing is done; after one that left out files (3) nothing is removed. Without a manifest in
# DIR, which may not be mounted, the script stops.
set -eu
most=${3:-50}
outcome=${BATCHPROC_OUTCOME:-success}
stop() {
  echo "offsite.sh: $*" >&2
  exit 1
}
list() { rclone lsf --files-only --include '/*.manifest' --include '/*.tar.zst' "$1"; }

[ "$outcome" != failure ] || stop "the backup failed: nothing is copied"
here=$(list "$1")
case "$here" in
*.manifest*) ;;
*) stop "there is no manifest in $1: nothing is copied or removed" ;;
esac
rclone copy --immutable --include '/*.tar.zst' "$1" "$2"
rclone copy --immutable --include '/*.manifest' "$1" "$2"

[ "$outcome" = success ] || exit 0
gone=$(list "$2" | grep -cvxF -e "$here") || [ "$gone" = 0 ]
[ "$gone" -le "$most" ] || stop "$gone files of $2 are not in $1: nothing is removed; the most is $most"
rclone sync --immutable --max-delete "$most" --include '/*.manifest' "$1" "$2"
rclone sync --immutable --max-delete "$most" --include '/*.tar.zst' "$1" "$2"
