import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Archives that are read back before they get their name.
@Suite("archive --verify", .timeLimit(.minutes(5))) struct ArchiveVerifyTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  @Test(
    "accepts a correct archive of each format",
    arguments: ["tar", "tar.zst", "tar.gz", "tar.xz", "tar.lz4", "tar.bz2", "cpio", "zip", "7z"])
  func whole(format: String) throws {
    try t.writeArchiveTree()
    // From 1 MiB on, libarchive passes on what it has written of zip and 7z, and .bz2 is decoded in parts.
    let noise = ["zip", "7z", "tar.bz2"].contains(format) ? "1100K" : "99K"
    // Files that 7z cannot store are refused beforehand.
    try t.shell(
      """
      touch -d @-7.5 src/a/f11; touch -d @-0.5 src/a/f12; { head -c \(noise) /dev/urandom; head -c 8M /dev/zero; } >src/c/huge
      [ \(format) != 7z ] || rm -f src/bytes src/not*
      """)
    let level = ["tar", "cpio"].contains(format) ? "" : "-l 1"
    let run = try t.shell("$BP archive --verify \(level) -j 1 -o a.\(format) src")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.contains(" verified\n"), "\(run.errorText)")
    let counted = try t.shell(
      "$BP archive --verify \(level) --json --no-fsync -j 7 -o b.\(format) src | tail -1; cmp a.\(format) b.\(format)"
    )
    #expect(counted.status == 0 && counted.text.contains("\"verified\":"), "\(counted.text)")
    #expect(t.temporaries().isEmpty)
  }

  @Test("accepts a file of more than 4 GiB", arguments: ["tar", "tar.zst"])
  func giant(format: String) throws {
    let run = try t.shell(
      "mkdir src; truncate -s 5G src/giant; printf end >>src/giant; $BP archive --verify -o a.\(format) src")
    #expect(run.status == 0 && run.errorText.contains(" verified\n"), "\(run.errorText)")
  }

  @Test("accepts times before 1970 with fractions")
  func early() throws {
    let run = try t.shell(
      """
      mkdir src o g b; for s in -7.5 -1.25 -0.5 -0.000000001 -0 0.5; do touch -d @$s src/f$s; done
      $BP archive -q --verify -o a.tar.zst src; $BP verify -q --against . a.tar.zst; echo $?; $BP extract -q -C o a.tar.zst
      (cd o; stat -c '%n %.9Y' src/*)
      # GNU tar reads it, and its own is read.
      tar --zstd -xf a.tar.zst -C g; (cd g; stat -c '%n %.9Y' src/*) | cmp - <(cd o; stat -c '%n %.9Y' src/*); echo $?
      tar --format=posix -cf p.tar src; $BP extract -q -C b p.tar; $BP verify -q --against . p.tar; echo $?
      (cd b; stat -c '%n %.9Y' src/*) | cmp - <(cd o; stat -c '%n %.9Y' src/*); echo $?
      """)
    let rows = [
      "-0 0.000000000", "-0.000000001 -0.000000001", "-0.5 -0.500000000", "-1.25 -1.250000000",
      "-7.5 -7.500000000", "0.5 0.500000000",
    ]
    let times = rows.map { "src/f\($0)\n" }.joined()
    #expect(run.text == "0\n" + times + "0\n0\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "makes no archive when a member is read back differently", .enabled(if: Host.canPreload, "needs cc"),
    arguments: ["tar", "tar.zst", "tar.gz", "tar.xz", "tar.lz4", "tar.bz2", "cpio", "zip", "7z"],
    [
      "pread(fd, &c, 1, size / 2); c ^= 16; pwrite(fd, &c, 1, size / 2)", "ftruncate(fd, size - 100)",
      "ftruncate(fd, size / 3)",
    ])
  func ruined(format: String, call: String) throws {
    try t.shell(
      "mkdir src; for i in 1 2 3 4 5; do head -c 30000 /dev/urandom >src/f$i; done; echo old >a.\(format)")
    try t.preloadRuin(call)
    let run = try t.shell(
      "LD_PRELOAD=$PWD/preload.so $BP archive --verify --force -o a.\(format) src; echo $?")
    #expect(run.text == "5\n", "\(run.errorText)")
    #expect(
      run.errorText.contains("a.\(format): the archive that was read back differs from the archived data"),
      "\(run.errorText)")
    #expect(t.content(PathBytes("a.\(format)")).map { String(decoding: $0, as: UTF8.self) } == "old\n")
    #expect(t.temporaries().isEmpty)
    if call.hasPrefix("pread"), !["tar.xz", "tar.bz2"].contains(format) {
      #expect(run.messages.contains { $0.hasPrefix("batchproc: src/f") }, "\(run.errorText)")
    }
  }

  @Test("notices a wrong index", .enabled(if: Host.canPreload, "needs cc"))
  func ruinedIndex() throws {
    try t.writeTree()
    try t.preloadRuin("pread(fd, &c, 1, size - 100); c ^= 1; pwrite(fd, &c, 1, size - 100)")
    for format in ["tar.zst", "tar.gz", "tar.xz", "tar.lz4", "tar.bz2"] {
      let run = try t.shell("LD_PRELOAD=$PWD/preload.so $BP archive --verify -o a.\(format) t; echo $?")
      #expect(run.text == "5\n" && !t.exists(PathBytes("a.\(format)")), "\(format): \(run.errorText)")
      #expect(run.errorText.contains("of the bytes after its members differ"), "\(run.errorText)")
    }
  }

  @Test("is a usage error when the archive is written to standard output")
  func standardOutput() throws {
    try t.writeTree()
    let run = try t.batchproc("archive", "--verify", "--format", "tar", "-o", "-", "t")
    #expect(run.status == 64 && run.text.isEmpty)
    #expect(run.errorText.contains("standard output cannot be read back"))
  }

  @Test(
    "keeps the status and the counts of files that could not be archived", .enabled(if: Host.canChangeUser))
  func partly() throws {
    try t.writeTree()
    let run = try t.shell(
      """
      chmod -R a+rwX .; chmod 777 .; chmod 0 t/text; ulimit -n 24
      for f in tar.zst zip; do
        setpriv --reuid=65534 --regid=65534 --clear-groups $BP archive --verify -j 32 -o a.$f t; echo $?
      done; $BP list a.tar.zst | wc -l; $BP archive -n --verify -o b.tar t | wc -l; ls b.tar
      """)
    #expect(run.text == "3\n3\n6\n7\n", "\(run.text)\(run.errorText)")
  }

  @Test("accepts names that are not UTF-8 in zip, and refuses them in formats that cannot store them")
  func names() throws {
    let run = try t.shell(
      #"""
      mkdir t; printf x >t/$'n\xff'; printf y >t/plain
      $BP archive -q --verify -o a.zip t; echo $?; $BP extract -q -C . --strip-components 1 a.zip; cat $'n\xff'
      $BP archive -q --verify -o a.7z t; echo $?; $BP list -q a.7z
      """#)
    #expect(run.text == "0\nx3\nt/plain\nt/\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("7z has no place for a name that is not UTF-8"))
  }
}
