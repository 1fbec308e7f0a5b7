#!/bin/bash
# Builds both packages, and installs, runs and removes them in an empty Debian system. Needs root, and the
# network to install that system. Takes one to two minutes.
# usage: scripts/test-packages.sh BINARY
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."

binary=$(realpath "$1")
# shellcheck source=/dev/null
suite=${SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
work=$(mktemp -d)
root=$work/root
cleanup() {
  for mount in proc dev/null; do mountpoint -q "$root/$mount" && umount "$root/$mount"; done
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT
step() { echo "== $*"; }
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"; }
fail() { echo "test-packages: $*" >&2; exit 1; }

step "packages"
deb=$(scripts/package.sh deb "$binary")
dist=$(scripts/package.sh dist "$binary")
version=$("$binary" --version | sed -n '1s/^batchproc \([^ ]*\).*/\1/p')
version=${version/-/\~}
[ "$(dpkg-deb -f "$deb" Version)" = "$version" ] || fail "the version of $deb is not $version"

step "lintian"
lintian --no-cfg --allow-root --fail-on error,warning "$deb"

step "an empty $suite"
sources=/etc/apt/sources.list.d/debian.sources
[ -e "$sources" ] || sources=/etc/apt/sources.list
mmdebstrap --quiet --variant=apt --include=man-db --aptopt='Apt::Install-Recommends "false"' --dpkgopt='path-include=/usr/share/man/*' \
  "$suite" "$root" <"$sources"
# apt needs this file system; the test mounts no other one.
mountpoint -q "$root/proc" || mount -t proc none "$root/proc"
list() { inside find / -xdev \( -path /proc -o -path /tmp -o -path /root -o -path /var -o -path /dev \) -prune -o -print | sort; }
list >"$work/before"

step "install"
cp "$deb" "$root/tmp/batchproc.deb"
inside apt-get -q -y install /tmp/batchproc.deb >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "cannot be installed"; }
inside dpkg -s batchproc | grep -x "Version: $version"
inside dpkg -V batchproc

step "run"
cp -r samples "$root/tmp/samples"
# shellcheck disable=SC2016
inside sh -euc '
  cd /tmp
  batchproc --version | head -n 1
  batchproc hash -q samples | sha256sum --check --quiet
  batchproc archive -q --verify -o a.tar.gz samples; tar -tf a.tar.gz >/dev/null
  mkdir out; batchproc extract -q -C out a.tar.gz; batchproc verify -q --against out a.tar.gz
  batchproc backup -q --to set samples; batchproc drill -q --all set
  cp -r samples/notes n; batchproc compress -q --remove-source --compress-all n; gzip -t n/*.gz; batchproc decompress -q n
  batchproc config hash >/dev/null
  mkdir /tmp/units; batchproc schedule --systemd --to /tmp/units --name unit /tmp/samples/notes | sed -n "s/^ExecStart=\([^ ]* backup .*\)/\1/p" >start
  sh -eu start; batchproc snapshots /tmp/units | grep -q full
  set -- $(sed -n "s/^ExecStart=//p" /lib/systemd/system/batchproc@.service); "$1" --version >/dev/null
  man -w batchproc batchproc-hash batchproc-backup >/dev/null
  batchproc --generate-completion-script bash | cmp - /usr/share/bash-completion/completions/batchproc
  rm -rf out set n a.tar.gz units start
'
# All lines of the default configuration are comments; its profile must be valid when they are activated.
inside sh -euc "sed -i 's/^# \([a-z[]\)/\1/' /etc/batchproc.conf; batchproc config >/dev/null"

step "remove"
inside apt-get -q -y purge batchproc >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "cannot be removed"; }
inside apt-get -q -y autoremove --purge >"$work/log" 2>&1
list >"$work/after"
diff "$work/before" "$work/after" || fail "the package leaves these files"

step "tarball"
tar -xf "$dist" -C "$root/tmp"
inside sh -euc 'cd /tmp/batchproc-*/; sha256sum --check --quiet SHA256SUMS; bin/batchproc --version | head -n 1
  bin/batchproc check --quiet SHA256SUMS; bin/batchproc hash -q /tmp/samples | sha256sum --check --quiet --strict -'

step "done"
