#!/bin/bash
# Builds a package of the built program in .build/packages, and prints its path.
# usage: scripts/package.sh deb|dist BINARY
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."

kind=$1 binary=$(realpath "$2")
# The version is defined only in this source.
version=$(sed -n 's/.*static let number = "\(.*\)"/\1/p' Sources/batchproc/Text/Version.swift)
date=$(sed -n 's/.*static let date = "\(.*\)"/\1/p' Sources/batchproc/Text/Version.swift)
# In Debian a version with ~ comes before the release, and one with - after it.
debian=${version/-/\~}
machine=$(uname -m)
# Set MAINTAINER to build a package for others; the default address does not exist.
maintainer=${MAINTAINER:-The authors of batchproc <batchproc@example.org>}
homepage=${HOMEPAGE:+$'\n'Homepage: $HOMEPAGE}
out=$PWD/.build/packages
mkdir -p "$out"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage"
# Commands below must not write to the home of the user, or guess where it is.
export HOME=$stage

make_dist() {
  local name=batchproc-$version-linux-$machine
  make -s install RELEASE="$binary" DESTDIR="$stage" PREFIX="/$name"
  (cd "$stage/$name" && "$binary" --no-config hash -q -o SHA256SUMS bin share)
  "$binary" --no-config archive -q --force --reproducible --mtime "$date" --verify -o "$out/$name.tar.gz" -C "$stage" "$name"
  echo "$out/$name.tar.gz"
}

make_deb() {
  local architecture root=$stage/root
  architecture=$(dpkg --print-architecture)
  make -s install RELEASE="$binary" DESTDIR="$root" PREFIX=/usr
  local doc=$root/usr/share/doc/batchproc
  # On Debian, zsh searches another folder.
  mkdir -p "$root/usr/share/zsh/vendor-completions"
  mv "$root/usr/share/zsh/site-functions/_batchproc" "$root/usr/share/zsh/vendor-completions/"
  rmdir "$root/usr/share/zsh/site-functions"
  gzip -9n "$root"/usr/share/man/man[15]/* "$doc/CHANGELOG.md"
  printf 'batchproc (%s) stable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n -- %s  %s\n' \
    "$debian" "$maintainer" "$(date -uRd "$date")" | gzip -9n >"$doc/changelog.gz"
  {
    echo 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/'
    echo 'Upstream-Name: batchproc'
    echo
    echo 'Files: *'
    echo 'Copyright: 2026 the authors of batchproc'
    echo 'License: Apache-2.0'
    echo " On Debian systems the text is in /usr/share/common-licenses/Apache-2.0."
  } >"$doc/copyright"
  rm "$doc/LICENSE"
  install -d "$root/lib/systemd/system" "$root/etc" "$root/DEBIAN" "$root/usr/share/lintian/overrides"
  # The libraries are linked into the program, so that it starts in milliseconds and runs without them.
  echo 'batchproc: embedded-library' >"$root/usr/share/lintian/overrides/batchproc"
  chmod 644 "$root/usr/share/lintian/overrides/batchproc"
  install -m 644 samples/cron/batchproc@.{service,timer} "$root/lib/systemd/system/"
  sed -i 's#^ExecStart=/usr/local/bin/#ExecStart=/usr/bin/#' "$root/lib/systemd/system/batchproc@.service"
  # The sample shows the syntax. All its lines are comments, which the administrator can activate.
  sed 's/^\([^#]\)/# \1/' samples/batchproc.conf >"$root/etc/batchproc.conf"
  echo /etc/batchproc.conf >"$root/DEBIAN/conffiles"
  local depends
  depends=$(mkdir -p "$stage/debian" && cd "$stage" && : >debian/control \
    && dpkg-shlibdeps -O "root/usr/bin/batchproc" 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
  # Libraries that are opened at run time, in the version with which the program was built.
  local recommends=$'\nRecommends: libgf-complete1'
  [ "$architecture" != amd64 ] || recommends=$'\nRecommends: libgf-complete1, libipsec-mb1, libisal2'
  cat >"$root/DEBIAN/control" <<CONTROL
Package: batchproc
Version: $debian
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -sk --exclude DEBIAN "$root" | cut -f1)
Depends: $depends$recommends
Section: utils
Priority: optional$homepage
Description: hash, compress, archive and back up directory trees in parallel
 Hashes, compresses, archives and backs up directory trees on all cores.
 Its outputs have the formats of standard tools, such as sha256sum, gzip,
 zstd, xz and tar.
CONTROL
  (cd "$root" && find usr lib -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
  SOURCE_DATE_EPOCH=$(date -ud "$date" +%s) dpkg-deb --root-owner-group -Zxz --build "$root" \
    "$out/batchproc_${debian}_$architecture.deb" >/dev/null
  echo "$out/batchproc_${debian}_$architecture.deb"
}

case $kind in
  deb) make_deb ;;
  dist) make_dist ;;
  *) echo "package: unknown kind '$kind' (deb, dist)" >&2; exit 64 ;;
esac
