import BatchCore
import BatchEngine
import Foundation
import TestSupport
import Testing

/// `samples/read-archive.py`, which was written from docs/formats.md only, gives the same results as the
/// program.
@Suite(.enabled(if: Host.hasPython)) struct FormatReaderTests {
  private let t: TreeFixture
  private static let reader = Repository.root.appendingPathComponent(
    "samples/read-archive.py"
  ).path

  init() throws { t = try TreeFixture() }

  /// Trees of several kinds, and options that cut them into frames in several ways.
  private static let trees: [(make: String, options: String)] = [
    ("mkdir t; echo text >t/a", ""),
    ("mkdir -p t/empty/folders", ""),
    ("mkdir t; seq 50000 >t/a; seq 7 >t/b; : >t/c", "--level 19"),
    ("mkdir t; seq 900 | split -l 1 -a 4 - t/f", "--stride 100"),
    // Three frames of 8 MiB at most.
    ("mkdir t; head -c 17000000 /dev/urandom >t/large; echo 1 >t/z", "-j 2"),
    (
      "mkdir t; head -c 9000000 /dev/zero >t/zeros; ln t/zeros t/again; ln -s zeros t/link; mkfifo t/pipe",
      ""
    ),
    (
      "mkdir t; truncate -s 5M t/s; printf x | dd of=t/s bs=1 seek=3000000 conv=notrunc status=none; truncate -s 1M t/hole",
      ""
    ),
    (#"mkdir t; echo 1 >"t/$(printf 'new\nline')"; echo 2 >"t/$(printf '\377')"; echo 3 >t/é"#, ""),
    (
      "d=t; for i in $(seq 30); do d=$d/$(printf 'long%040d' $i); done; mkdir -p $d; echo leaf >$d/leaf",
      ""
    ),
    ("mkdir t; seq 9000 >t/a; chmod 600 t/a; touch -d @1.5 t/a", "--reproducible --level 1"),
  ]

  @Test("lists and verifies ten complete and ten damaged archives", arguments: trees.indices)
  func agrees(index: Int) throws {
    let (make, options) = Self.trees[index]
    let made = try t.shell("\(make); $BP archive -q --max-concurrency 2 \(options) -o a.tar.zst t")
    try #require(made.status == 0, "\(made.errorText)")
    let rows = try t.shell(
      "python3 '\(Self.reader)' list a.tar.zst | tr '\\n' '\\0' >theirs; $BP list -z a.tar.zst >ours; cat ours"
    )
    // A newline in a name does not end a row.
    if index != 7 { #expect(t.content("theirs") == t.content("ours")) }
    #expect(rows.output.contains(0))
    let whole = try t.shell(
      "$BP verify -q a.tar.zst; echo $?; python3 '\(Self.reader)' verify a.tar.zst; echo $?")
    #expect(whole.text.hasSuffix("0\n0\n"), "\(whole.text) \(whole.errorText)")

    var bytes = try #require(t.content("a.tar.zst"))
    var numbers = SeededNumbers(seed: UInt64(index))
    let tail = Data(bytes).range(of: Data([0x5a, 0x2a, 0x4d, 0x18]))?.lowerBound ?? bytes.count
    bytes[Int.random(in: 0..<tail, using: &numbers)] ^= UInt8.random(in: 1...255, using: &numbers)
    try t.file("a.tar.zst", bytes)
    let damaged = try t.shell(
      "$BP verify -q a.tar.zst >/dev/null; echo $?; python3 '\(Self.reader)' verify a.tar.zst; echo $?"
    )
    #expect(damaged.text == "4\n4\n", "\(damaged.text) \(damaged.errorText)")
  }

  @Test("samples/read-snapshot.py ends with 4 and a message for any invalid manifest")
  func manifests() throws {
    try t.file(
      "craft.py",
      #"""
      import hashlib, json, os, re, subprocess, sys
      reader, manifest = sys.argv[1:]
      lines = subprocess.run(["zstdcat", manifest], stdout=subprocess.PIPE).stdout.splitlines(True)
      def run(lines, name=os.path.basename(manifest)):
          body, end = b"".join(lines[:-1]), json.loads(lines[-1])
          end["manifest_sha256"] = hashlib.sha256(body).hexdigest()
          end["footer"] = body.index(b'{"type":"total"')
          open("crafted/" + name, "wb").write(body + json.dumps(end, separators=(",", ":")).encode() + b"\n")
          ran = subprocess.run([sys.executable, reader, "crafted/" + name], capture_output=True)
          return ran.returncode if b"Traceback" not in ran.stderr else "traceback"
      os.mkdir("crafted")
      os.link(manifest.replace("manifest", "tar"), "crafted/" + os.path.basename(manifest).replace("manifest", "tar"))
      print(run(lines))
      for row in [b"[1]", b"1", b"null", b"[" * 200000, b'{"type":[1]}', b'{"a":1}', b"\xff", b"1" * 9000,
                  lines[2].replace(b'"archive":"', b'"archive":[1],"x":"'), lines[2].replace(b'"archive":"', b'"archive":"../'),
                  re.sub(rb'"size":[0-9]+', b'"size":"x"', lines[2]), re.sub(rb'"size":[0-9]+', b'"size":1e400', lines[2])]:
          print(run([*lines[:2], row.rstrip() + b"\n", *lines[2:]]), end=" ")
      for old, new in [(b'"set":"', b'"set":"../'), (b'"set":"', b'"set":"\\u0000'), (b'"set":"', b'"set":1,"x":"'), (b'"id":"', b'"id":"../')]:
          print(run([lines[0].replace(old, new), *lines[1:]]), end=" ")
      print(run(lines, "other-20200101T000000Z.manifest.zst"))
      """#)
    let reader = Self.reader.replacing("read-archive.py", with: "read-snapshot.py")
    let run = try t.shell(
      "mkdir t; echo 1 >t/a; $BP backup -q --to set t; python3 craft.py '\(reader)' set/*.manifest.zst")
    #expect(run.text == "0\n" + String(repeating: "4 ", count: 16) + "4\n", "\(run.text)\(run.errorText)")
  }

  @Test("has at most a hundred lines")
  func length() throws {
    #expect(
      try String(contentsOfFile: Self.reader, encoding: .utf8).split(
        separator: "\n", omittingEmptySubsequences: false
      ).count <= 101)
  }
}
