#!/bin/sh
# Builds the BLAKE3 library, with its assembly, from the official C sources, and installs it in a folder that
# compilers search. Debian has these sources in the package of a Rust crate. The package is unpacked and not
# installed, since its dependencies are not needed. Does nothing if the library is installed.
# usage: scripts/blake3.sh [PREFIX]     default: /usr/local
set -eu

prefix=${1:-/usr/local}
[ -e "$prefix/lib/libblake3.a" ] && [ -e "$prefix/lib/pkgconfig/blake3.pc" ] && exit 0
if [ "$(id -u)" -ne 0 ] && [ ! -w "$prefix" ]; then
  echo "bootstrap: the BLAKE3 library is missing and only root can install it; run  sudo scripts/blake3.sh" >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# apt downloads as another user, who needs access to this folder.
chmod 755 "$work"
(
  cd "$work"
  if ! apt-get -q download librust-blake3-dev >log 2>&1; then
    apt-get -q update >>log 2>&1
    apt-get -q download librust-blake3-dev >>log 2>&1 || { cat log >&2; exit 1; }
  fi
  dpkg-deb -x librust-blake3-dev_*.deb .
  cd usr/share/cargo/registry/blake3-*/c
  case $(uname -m) in
    x86_64) parts="sse2_x86-64_unix.S sse41_x86-64_unix.S avx2_x86-64_unix.S avx512_x86-64_unix.S" ;;
    aarch64) parts=neon.c ;;
    *) parts= ;;
  esac
  compiler=$(command -v cc || command -v clang)
  for source in blake3.c blake3_dispatch.c blake3_portable.c $(for part in $parts; do echo "blake3_$part"; done); do
    "$compiler" -O3 -fPIC -DNDEBUG -c "$source"
  done
  ar rcs libblake3.a ./*.o
  install -d "$prefix/lib/pkgconfig" "$prefix/include"
  install -m 644 libblake3.a "$prefix/lib/"
  install -m 644 blake3.h "$prefix/include/"
  # Swift Package Manager reads the paths from this file.
  version=$(sed -n 's/^#define BLAKE3_VERSION_STRING "\(.*\)"/\1/p' blake3.h)
  cat >"$prefix/lib/pkgconfig/blake3.pc" <<END
Name: blake3
Description: the BLAKE3 digest, C implementation
Version: $version
Libs: -L$prefix/lib -lblake3
Cflags: -I$prefix/include
END
)
