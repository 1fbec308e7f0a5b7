import BatchEngine
import TestSupport
import Testing

/// A set that changes from night to night, so that later snapshots need little of the first archive.
struct CompactionFixture {
  let t: TreeFixture
  /// Whether the programs that the scripts need are installed.
  static let isPossible =
    Host.canPreload && Host.hasPython
    && (try? Outcome(shell: "command -v age && command -v zstd"))?.status == 0

  init() throws {
    t = try TreeFixture()
    try t.preloadClock()
    try t.copy("compaction-tree", make: Self.makeTree)
  }

  private static func makeTree(_ t: TreeFixture) throws {
    // From 16 MiB on a file is archived in blocks.
    let made = try t.shell(
      """
      umask 077
      mkdir -p src/d days
      for n in $(seq 12); do head -c 30000 /dev/urandom >src/d/r$n; seq $n 3000 >src/d/f$n; done
      head -c 17000000 /dev/zero | tr '\\0' x >src/large
      truncate -s 3M src/sparse; echo end >>src/sparse
      ln src/d/f12 src/d/link; ln src/d/f12 src/link; ln -s d/f12 src/symbolic
      "$BP" keygen -o key >recipient
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  /// Runs a script of ``Steps`` in which
  /// - `night N OPTION...` removes and changes some files, makes a snapshot on the next day, and keeps the tree of the day;
  ///   (with `GROWS=1` the archive of each night has something that only the next ones need);
  /// - `nights N` makes the first N nights, after which prune finds archives of which little is needed;
  /// - `restores SET OPTION...` prints how many snapshots of a set there are, and each one that differs from its day;
  /// - `stock SET` lists and extracts all archives with tar, after decryption with age;
  /// - `flip FILE PLACE` damages a file;
  /// - `E` are the options of a backup, and `K` those with the key.
  func run(_ script: String, isEncrypted: Bool = false, seconds: Double = 200) throws -> Outcome {
    try t.shell(
      #"""
      export LD_PRELOAD=$PWD/preload.so SHIFT=0 GROWS= RCLONE_CONFIG="$PWD/rclone.conf"
      E='\#(isEncrypted ? "--encrypt-to-file recipient" : "")' K='\#(isEncrypted ? "-i key" : "")'
      night() {
        local n=$1; shift
        SHIFT=$((SHIFT + 86400))
        [ $n = 1 ] || rm -f src/large src/d/?$((2 * n - 3)) src/d/?$((2 * n - 2)) src/new$((n - 2))
        echo $n >src/new$n
        # Of each night something stays for ever, and something for four nights.
        [ -z "$GROWS" ] || { head -c 20000 /dev/urandom >src/d/s$n; seq $n 500 >src/d/t$n; rm -f src/d/s$((n - 4)); }
        "$BP" backup -q --full-every 1000 $E --to set "$@" src || return
        cp -a src days/$("$BP" snapshots -q $K set | tail -1 | cut -c1-16)
      }
      nights() { for night in $(seq $1); do night $night; done; }
      restores() {
        local set=$1; shift
        local ids=$("$BP" snapshots -q "$@" $set | cut -c1-16)
        echo $ids | wc -w
        for id in $ids; do
          rm -rf out
          "$BP" restore -q --at $id "$@" -C out $set && diff -r --no-dereference days/$id out$PWD/src || echo "$id differs"
          [ out$PWD/src/d/link -ef out$PWD/src/link ] || echo "$id: no hard link"
        done
      }
      stock() {
        local archive
        for archive in $1/*.tar.zst*; do
          rm -rf by-hand; mkdir by-hand
          case $archive in *.age) age -d -i key $archive >plain.tar.zst ;; *) cp $archive plain.tar.zst ;; esac
          tar --zstd -tf plain.tar.zst >/dev/null && zstd -qt plain.tar.zst && tar --zstd -xf plain.tar.zst -C by-hand || echo "$archive: $?"
          "$BP" list -q $archive $K >/dev/null && "$BP" verify -q $archive $K || echo "$archive: $?"
          rm -rf mine; "$BP" extract -q $K -C mine $archive && diff -r --no-dereference by-hand mine || echo "$archive: $?"
        done
      }
      flip() { python3 -c 'import sys
      with open(sys.argv[1], "r+b") as file:
          file.seek(int(sys.argv[2]))
          byte = file.read(1)
          file.seek(int(sys.argv[2]))
          file.write(bytes([byte[0] ^ 1]))' $1 $2; }
      sizes() { stat -c %s $(ls $1/*.tar.zst* | head -${2:-1}); }
      \#(Steps.functions)
      \#(script)
      """#, seconds: seconds)
  }
}
