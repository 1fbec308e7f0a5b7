import TestSupport
import Testing

/// Large files are read first, and those with unknown contents are archived after later items have begun. The rows and the archive
/// still have the order of the tree.
@Suite(.timeLimit(.minutes(4)), .enabled(if: Host.hasPython)) struct RowOrderTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    // Files on both sides of the sizes from which on files are read first (4 MiB) and are archived in blocks (16 MiB), each with further
    // names beside small files.
    try t.shell(
      """
      cat >make.py <<'EOF'
      import os, random, sys
      first, last = int(sys.argv[1]), int(sys.argv[2])
      r = random.Random(first)
      for d in range(first, last):
        os.makedirs("src/%02d" % d)
        for i in range(12):
          open("src/%02d/m%d" % (d, i), "wb").write(r.randbytes(r.choice([0, 10, 5000, 60000])))
        for g, size in enumerate((4200000, 16800000 if d % 10 == 1 else 200000)):
          open("src/%02d/a%d" % (d, g), "wb").write(r.randbytes(size + d))
          for k in range(4):
            os.link("src/%02d/a%d" % (d, g), "src/%02d/%s%d%d" % (d, "bz"[k % 2], g, k))
      EOF
      python3 make.py 0 3; find src -exec touch -d 2020-01-01 {} +
      """)
  }

  @Test("the rows of an increment are those of a full snapshot, in the same order", arguments: [1, 2, 7, 32])
  func order(jobs: Int) throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      rows() { zstdcat "$(ls -t $1/*.manifest.zst | head -1)" | jq -c 'select(.path) | [.path, .size, .sha256, .link_group]'; }
      same() {
        ends "increment $1" $BP backup -q -j \(jobs) --to set src; ends "full $1" $BP backup -q --to new$1 src
        diff <(rows set) <(rows new$1) >&2; echo "rows $1: $?"
        ends "restore $1" $BP restore -q -C out$1 set; ends "trees $1" diff -r src out$1$PWD/src
        d=$(dirname $(find out$1 -name a0 | sort | tail -n 1)); [ $d/a0 -ef $d/z01 ]; echo "links $1: $?"
      }
      ends first $BP backup -q -j \(jobs) --to set src
      # Known contents, under new names.
      mkdir moved; mv src moved/src; mkdir src; mv moved/src src/moved; same moved
      # Unknown ones between them.
      python3 make.py 10 16; same new
      tar --zstd -tf "$(ls -t set/*.tar.zst | head -1)" | sort -c; echo "archive: $?"
      """)
    run.expectSteps([
      "first": "0",
      "increment moved": "0", "full moved": "0", "rows moved": "0", "restore moved": "0", "trees moved": "0",
      "links moved": "0",
      "increment new": "0", "full new": "0", "rows new": "0", "restore new": "0", "trees new": "0",
      "links new": "0", "archive": "0",
    ])
  }
}
