#!/bin/sh
# Installs the Debian packages that a task needs, and only those that are missing.
# usage: scripts/bootstrap.sh GROUP...      groups: build, demo, test, bench, lint, package, slurm
set -eu

# Packages that the Swift linker needs, then the C libraries.
build="binutils gcc libc6-dev libstdc++-12-dev libarchive-dev libbz2-dev libdeflate-dev liblz4-dev liblzma-dev libsqlite3-dev libssl-dev \
libxxhash-dev libzstd-dev nettle-dev zlib1g-dev"
# Stock tools in the demo that may be missing on Debian.
demo=zstd
# Stock tools with which the tests compare our output, and tools that make faults and unusual trees.
test="acl age attr b3sum btrfs-progs bzip2 chromium cpio e2fsprogs fish gcc git hashdeep jq lbzip2 libarchive-dev libarchive-tools libcap2-bin libdeflate-tools lintian lz4 lzip man-db \
mandoc ncompress openssl p7zip-full par2 parallel procps python3 python3-jsonschema rclone restic rhash rsync shellcheck strace time tmux unzip xfsprogs xxhash xz-utils zip zsh zstd"
bench="b3sum borgbackup bzip2 fpart hashdeep hyperfine isal lbzip2 libdeflate-tools lz4 openssl par2 parallel pbzip2 pigz python3 rclone restic rhash rsync time xxhash xz-utils zstd"
# Programs that check the style of scripts, and the C library of another processor, for which the C code is compiled.
lint="flake8 libc6-dev-arm64-cross shellcheck"
# A scheduler with several nodes on one machine.
slurm="munge slurm-client slurmctld slurmd"
# Tools that make an empty Debian system for a test installation, and check the package.
package="dpkg-dev lintian mmdebstrap"

build="$build libgf-complete-dev"
demo="$demo libgf-complete1" test="$test libgf-complete1" bench="$bench libgf-complete1"
# Libraries that are opened at run time if they exist; the package isal has igzip, which is measured.
if [ "$(uname -m)" = x86_64 ]; then
  build="$build libipsec-mb-dev libisal-dev"
  demo="$demo libipsec-mb1 libisal2" test="$test libipsec-mb1 libisal2" bench="$bench isal libipsec-mb1 libisal2"
fi

root=$(dirname "$0")
case " $* " in *" build "*) builds_library=yes ;; *) builds_library= ;; esac
# A library that has no package; it is built last, since it needs a compiler.
finish() {
  [ -z "$builds_library" ] || [ ! -e /etc/debian_version ] || "$root/blake3.sh"
  exit 0
}

packages=
for group in "$@"; do
  case $group in
    build) packages="$packages $build" ;;
    demo) packages="$packages $demo" ;;
    test) packages="$packages $test" ;;
    bench) packages="$packages $bench" ;;
    lint) packages="$packages $lint" ;;
    package) packages="$packages $package" ;;
    slurm) packages="$packages $slurm" ;;
    *) echo "bootstrap: unknown group '$group' (build, demo, test, bench, lint, package, slurm)" >&2; exit 64 ;;
  esac
done

if ! command -v swift >/dev/null 2>&1; then
  echo "bootstrap: no 'swift' in PATH; install Swift 6.3 or later from https://www.swift.org/install" >&2
  exit 1
fi

if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "bootstrap: not a Debian system; the BLAKE3 C library and these Debian packages, or equivalent ones, are needed:$packages" >&2
  exit 0
fi

missing=
for package in $packages; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=absent
  [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || finish

if [ "$(id -u)" -ne 0 ]; then
  echo "bootstrap: some packages are missing and only root can install them; run" >&2
  echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
  exit 1
fi

export DEBIAN_FRONTEND=noninteractive
apt() { apt-get -q -o DPkg::Lock::Timeout=300 "$@" </dev/null; }
# $missing is split into words.
# shellcheck disable=SC2086
install() { apt install -y --no-install-recommends $missing; }

echo "bootstrap: installing$missing" >&2
# A fresh image has no package lists, and the lists of an old one name files that the mirror no longer has.
# shellcheck disable=SC2086
if apt install -s $missing >/dev/null 2>&1 && install; then finish; fi
apt update
install
finish
