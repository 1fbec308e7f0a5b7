#!/bin/sh
# offsite.sh DIR HOST:PATH
#
# Copies the snapshots of a folder to another machine, for the --after of a backup or a crontab line of its own. Archives go
# before manifests, so that a manifest over there never names an archive that is not there; what was pruned here is
# removed there last. Files never change under their names, so that nothing is sent twice. Without the lock files.
set -eu
rsync -a --include='*.tar.zst' --exclude='*' "$1/" "$2/"
rsync -a --include='*.manifest' --exclude='*' "$1/" "$2/"
rsync -a --delete --include='*.manifest' --include='*.tar.zst' --exclude='*' "$1/" "$2/"
