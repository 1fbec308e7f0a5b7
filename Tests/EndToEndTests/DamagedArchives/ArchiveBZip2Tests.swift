import BatchCore
import BatchEngine
import TestSupport
import Testing

/// `.tar.bz2`, which all lanes write as separate streams.
@Suite(".tar.bz2", .timeLimit(.minutes(5))) struct ArchiveBZip2Tests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  @Test("is read by stock tools, and is the same at every concurrency")
  func stock() throws {
    try t.writeArchiveTree()
    let run = try t.shell(
      """
      seq 9000 >src/c/big; { head -c 99K /dev/urandom; head -c 4M /dev/zero; head -c 99K /dev/urandom; } >src/c/huge
      for j in 1 2 7 32; do $BP archive -q -j $j -o $j.tar.bz2 src; done; cmp 1.tar.bz2 2.tar.bz2; cmp 1.tar.bz2 7.tar.bz2
      cmp 1.tar.bz2 32.tar.bz2; bzip2 -t 1.tar.bz2 && $BP archive -q -o 1.tar src && cmp <(tar -tf 1.tar) <(tar -tjf 1.tar.bz2)
      mkdir stock ours; tar -C stock --xattrs --acls -xjf 1.tar.bz2 2>/dev/null; $BP extract -q -C ours 1.tar.bz2
      """)
    #expect(
      run.text.isEmpty
        && run.errorText.replacing("tar: Ignoring unknown extended header keyword 'hdrcharset'\n", with: "")
          .isEmpty,
      "\(run.text)\(run.errorText)")
    #expect(try t.differences("src", "stock/src") == "")
    #expect(try t.differences("src", "ours/src") == "")
  }

  @Test("is listed, extracted and verified with the index, at every level", arguments: ["1", "5", "9"])
  func index(level: String) throws {
    try t.writeTree()
    let run = try t.shell(
      """
      $BP archive -q --verify -l \(level) -o a.tbz2 t; head -c 4 a.tbz2; echo; $BP list --digests a.tbz2 | sha256sum -c --quiet; echo $?
      $BP verify -v a.tbz2 2>&1 | grep -c 'checked the checksum of each'; $BP extract -q --to-stdout a.tbz2 t/text
      """)
    #expect(run.text == "BZh\(level)\n0\n1\na small text\n", "\(run.text)\(run.errorText)")
  }

  @Test("of other tools is read with all of its streams")
  func others() throws {
    try t.writeTree()
    let run = try t.shell(
      """
      tar -cf a.tar t; bzip2 -k a.tar; head -c 100000 a.tar | bzip2 >b; tail -c +100001 a.tar | bzip2 >>b; : | bzip2 >>b
      for a in a.tar.bz2 b; do $BP verify -q $a; echo $?; cmp <($BP list -q $a) <(tar -tf a.tar); done
      cat b - >c <<<garbage; $BP verify -q c; echo $?; mkdir o; $BP extract -q -C o b; diff -r t o/t
      """)
    // Bytes after the last stream belong to no member: verify reports them as damage, and extract ignores
    // them.
    #expect(run.text == "0\n0\n4\n", "\(run.text)\(run.errorText)")
  }

  @Test("damage and cuts are found, with an index and without")
  func damage() throws {
    // Both archives are larger than 1 MiB; blocks of 100 kB are decoded fast.
    try t.shell(
      """
      mkdir t; for i in 1 2 3 4 5 6; do head -c 176K /dev/urandom >t/f$i; done; tar -c t | bzip2 -1 >b
      $BP archive -q -l 1 --stride 2 -o a.tar.bz2 t
      """)
    for name in ["a.tar.bz2", "b"] {
      let size = try #require(t.content(PathBytes(name))).count
      for place in [10, 4000, size / 3, size / 2, size - 5] {
        let run = try t.shell(
          """
          cp \(name) x; printf '\\125\\252\\125' | dd of=x bs=1 seek=\(place) conv=notrunc status=none
          $BP verify -q x >rows 2>errors; echo $?; head -c \(place) \(name) >y; $BP verify -q y >/dev/null 2>&1; echo $?
          """)
        #expect(run.text == "4\n4\n", "\(name) at \(place): \(run.text)")
      }
    }
    let run = try t.shell(
      """
      cp a.tar.bz2 x; printf '\\125\\252\\125' | dd of=x bs=1 seek=4000 conv=notrunc status=none; $BP verify -q x 2>/dev/null
      mkdir o; $BP extract -q --keep-going -C o x 2>/dev/null; cmp t/f6 o/t/f6
      """)
    #expect(run.text.contains("t/f1: DAMAGED") && !run.text.contains("f6"), "\(run.text)")
  }

  @Test("compress does not write single files in this format")
  func single() throws {
    try t.writeTree()
    #expect(try t.batchproc("compress", "--format", "bz2", "t").status == 64)
    #expect(try t.shell("$BP --version | grep -c '^libbz2 1'").text == "1\n")
  }
}
