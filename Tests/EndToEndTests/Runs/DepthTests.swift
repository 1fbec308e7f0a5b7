import TestSupport
import Testing

@Suite("Trees of very many nested folders", .timeLimit(.minutes(10)))
struct DepthTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Makes nested folders `d` below `name`, with a file `f` in the last one and in every `every`-th one.
  private func makeChain(_ name: String, _ depth: Int, every: Int = .max) throws {
    let made = try t.shell(
      """
      python3 -c "
      import os
      os.mkdir('\(name)')
      at = os.open('\(name)', os.O_RDONLY)
      for level in range(\(depth)):
          os.mkdir('d', 0o750, dir_fd=at)
          inner = os.open('d', os.O_RDONLY, dir_fd=at)
          os.close(at)
          at = inner
          if level == \(depth) - 1 or level % \(every) == 0:
              with open(os.open('f', os.O_CREAT | os.O_WRONLY, 0o640, dir_fd=at), 'w') as file: file.write(str(level))
      " && echo made
      """)
    try #require(made.text == "made\n", "\(made.errorText)")
  }

  /// How many calls with file names a command makes, and how many bytes a trace of them with their paths has.
  private func calls(_ command: String) throws -> (count: Int, bytes: Int) {
    let run = try t.shell(
      """
      rm -rf into; mkdir into
      strace -qq -f --seccomp-bpf -s 5000 -e trace=%file,close -o trace $BP \(command) >out 2>errors || { cat errors; exit 9; }
      wc -lc <trace
      """, seconds: 300)
    let numbers = run.text.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
    try #require(
      run.status == 0 && numbers.count == 2, "\(run.text.suffix(300)) \(run.errorText.suffix(300))")
    return (numbers[0], numbers[1])
  }

  @Test(
    "calls and the bytes of their paths grow in proportion to the depth",
    .enabled(if: Host.canTrace && Host.hasPython, "needs strace"))
  func isLinear() throws {
    let depths = [500, 1000]
    for depth in depths {
      try makeChain("\(depth)", depth)
      let leaf = String(repeating: "d/", count: depth) + "f"
      let made = try t.shell(
        """
        tar -cf \(depth).tar \(depth) && $BP archive -q --no-fsync -o \(depth).tar.zst \(depth) &&
        tar -cf leaf-\(depth).tar --no-recursion -C \(depth) \(leaf) && echo made
        """)
      try #require(made.text == "made\n", "\(made.errorText.suffix(300))")
    }
    for command in [
      "hash -j 1 DEPTH", "archive -j 1 --no-fsync -o DEPTH.new.tar.zst DEPTH",
      "extract -j 2 --no-fsync DEPTH.tar -C into",
      "extract -j 2 --no-fsync leaf-DEPTH.tar -C into",
      "extract -j 2 --no-fsync DEPTH.tar.zst -C into",
    ] {
      let counts = try depths.map { try calls(command.replacing("DEPTH", with: "\($0)")) }
      // Twice the depth should double the numbers; a quadratic cost would give 4. The limit is 3, since a lane
      // may have a longer way back than in another run.
      #expect(Double(counts[1].count) / Double(counts[0].count) < 3, "\(command): \(counts)")
      #expect(Double(counts[1].bytes) / Double(counts[0].bytes) < 3, "\(command): \(counts)")
    }
  }

  @Test(
    "hundreds and thousands of levels are restored completely, with few descriptors and a small stack",
    .enabled(if: Host.hasPython),
    arguments: [(Campaign.isFull ? 10_000 : 2_500, 2), (500, 1), (500, 7), (500, 32)])
  func roundTrip(depth: Int, concurrency: Int) throws {
    try makeChain("t", depth, every: 500)
    let run = try t.shell(
      """
      walk='
      import os, sys
      at = os.open(sys.argv[1], os.O_RDONLY)
      level = 0
      while True:
          mine = os.stat(at)
          names = sorted(os.listdir(at))
          print(level, oct(mine.st_mode), mine.st_mtime_ns, names)
          if "f" in names:
              with open(os.open("f", os.O_RDONLY, dir_fd=at)) as file: print(file.read(), os.stat("f", dir_fd=at).st_mtime_ns)
          if "d" not in names: break
          inner = os.open("d", os.O_RDONLY, dir_fd=at)
          os.close(at)
          at = inner
          level += 1
      '
      python3 -c "$walk" t >before
      (
        ulimit -n 24; ulimit -s 256
        options="-q -j \(concurrency) --max-levels 20000"
        $BP archive $options --no-fsync -o a.tar.zst t; echo $?
        mkdir out; $BP extract $options --no-fsync a.tar.zst -C out; echo $?
        $BP hash $options t | sha256sum >digests
        (cd out && $BP hash $options t) | sha256sum >again
      )
      python3 -c "$walk" out/t >after
      cmp before after && cmp digests again && grep -c "'f'" before
      """, seconds: 600)
    #expect(run.text == "0\n0\n\(depth / 500 + 1)\n", "\(run.text.suffix(300)) \(run.errorText.suffix(300))")
  }

  @Test(
    "a folder that lies too deep is named with all below it left out; everything archived can be extracted",
    .enabled(if: Host.hasPython), arguments: [1, 2, 7, 32])
  func limit(concurrency: Int) throws {
    try makeChain("t", 30, every: 1)
    let run = try t.shell(
      """
      options="-q -j \(concurrency) --no-fsync"
      $BP archive $options -o all.tar.zst t; tar -cf all.tar t; mkdir one two three
      $BP hash $options --max-levels 11 t >rows 2>messages; echo "hash $? $(wc -l <rows)"
      $BP archive $options --max-levels 11 -o some.tar.zst t 2>>messages; echo "archive $?"
      # The members of a backup have absolute paths, so the limit is raised by the depth of this folder.
      above=$(pwd | tr -dc / | wc -c)
      $BP backup $options --max-levels $((11 + above)) --to set t 2>&1 | grep left >>messages; echo "backup ${PIPESTATUS[0]}"
      $BP extract $options -C one some.tar.zst 2>>messages; echo "extract $? $(find one -type f | wc -l)"
      for archive in all.tar.zst all.tar; do
        rm -rf two/t; $BP extract $options --max-levels 11 -C two $archive 2>>messages
        echo "extract $? $(find two -type f | wc -l) $(diff -r one two)"
      done
      $BP extract -j \(concurrency) --no-fsync --max-levels 11 -C three all.tar 2>&1 | grep -o "[0-9]* failed"
      $BP extract $options --max-levels 11 --strip-components 20 -C three all.tar 2>>messages; echo "extract $?"
      sed -E "s|$PWD/||; s/lie [0-9]+ deep/lie 11 deep/" messages | sort | uniq -c | sed 's/  *//'
      """)
    let deepest = "t" + String(repeating: "/d", count: 11)
    #expect(
      run.text == """
        hash 3 10
        archive 3
        backup 3
        extract 0 10
        extract 3 10\u{20}
        extract 3 10\u{20}
        40 failed
        extract 0
        5 batchproc: \(deepest): left out: folders may lie 11 deep in one another at most (--max-levels allows more)

        """, "\(run.text) \(run.errorText)")
  }

  @Test("folders count as 4 KiB for --max-output and --max-ratio", arguments: ["x.tar", "x.tar.zst"])
  func folders(archive: String) throws {
    let run = try t.shell(
      """
      mkdir t; mkdir $(seq -f t/%g 500); echo x >t/500/f
      if [ \(archive) = x.tar ]; then tar -cf x.tar t; else $BP archive -q -o x.tar.zst t; fi
      for options in "--max-output 2000K" "--max-output 2010K" "--max-ratio 1"; do
        rm -rf o; mkdir o; $BP extract -q --no-fsync $options -C o \(archive) 2>&1 | sed 's/.*: //'; echo ${PIPESTATUS[0]}
      done
      """)
    // With an index, the size is known before any file is made.
    let status = archive == "x.tar" ? 5 : 1
    #expect(
      run.text == """
        the content is larger than 2048000 bytes (see --max-output)
        \(status)
        0
        the content is more than 1 times as large as the archive (see --max-ratio)
        \(status)

        """, "\(run.text) \(run.errorText)")
  }
}
