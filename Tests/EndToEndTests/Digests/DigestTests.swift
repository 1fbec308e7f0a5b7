import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Published test vectors, given to the command, and a comparison with the stock tool of each algorithm.
@Suite struct DigestTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// A text that is repeated. The test library writes down each argument, which takes long for a million bytes.
  struct Message: Sendable {
    let text: String
    var count = 1

    var bytes: [UInt8] { Array(String(repeating: text, count: count).utf8) }
  }

  private static let empty = Message(text: "")
  private static let abc = Message(text: "abc")
  private static let long = Message(text: "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
  private static let million = Message(text: "a", count: 1_000_000)

  /// From FIPS 180-4, FIPS 202, RFC 1321, RFC 7693, and the sources of xxHash and zlib.
  @Test(
    "the digests of published vectors are right",
    arguments: [
      ("sha256", empty, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("sha256", abc, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      ("sha256", long, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
      ("sha256", million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
      ("sha224", abc, "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
      ("sha224", long, "75388b16512776cc5dba5da1fd890150b0c6455cb4f58b1952522525"),
      (
        "sha384", abc,
        "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
      ),
      (
        "sha512", abc,
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
      ),
      (
        "sha512", million,
        "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973ebde0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b"
      ),
      ("sha1", abc, "a9993e364706816aba3e25717850c26c9cd0d89d"),
      ("sha1", million, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
      ("md5", empty, "d41d8cd98f00b204e9800998ecf8427e"),
      ("md5", abc, "900150983cd24fb0d6963f7d28e17f72"),
      ("sha3-256", abc, "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"),
      (
        "sha3-512", abc,
        "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0"
      ),
      (
        "blake2b", abc,
        "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923"
      ),
      ("xxh3", empty, "2d06800538d394c2"),
      ("xxh3", abc, "78af5f94892f3950"),
      ("xxh128", empty, "99aa06d3014798d86001c324468d497f"),
      ("crc32", Message(text: "123456789"), "cbf43926"),
      ("crc32", empty, "00000000"),
    ] as [(PathBytes, Message, String)])
  func vectors(algorithm: PathBytes, message: Message, digest: String) throws {
    let run = try t.batchproc("hash", "-a", algorithm, "--tag", "-", input: message.bytes)
    #expect(run.status == 0)
    #expect(run.text.hasSuffix(" (-) = \(digest)\n"), "\(run.text)")
  }

  @Test(
    "the rows are those of the stock tool",
    arguments: [
      ("sha256", "sha256sum"), ("sha512", "sha512sum"), ("sha384", "sha384sum"), ("sha224", "sha224sum"),
      ("sha1", "sha1sum"), ("md5", "md5sum"), ("blake2b", "b2sum"),
    ])
  func stockTools(algorithm: String, tool: String) throws {
    try t.writeTree()
    let run = try t.shell(
      """
      $BP hash -q -a \(algorithm) t >m; find t -type f | xargs \(tool) | sort >theirs; sort m | cmp - theirs; echo $?
      $BP hash -q --tag -a \(algorithm) t | sort >ours; find t -type f | xargs \(tool) --tag | sort | cmp - ours; echo $?
      \(tool) -c --quiet m; echo $?; $BP check -q theirs; echo $?; $BP check -q ours; echo $?
      """)
    #expect(run.text == String(repeating: "0\n", count: 5), "\(run.text) \(run.errorText)")
  }

  @Test(
    "openssl, xxhsum and rhash give the same digests",
    arguments: [
      ("sha3-256", "openssl dgst -sha3-256 -r", 64), ("sha3-512", "openssl dgst -sha3-512 -r", 128),
      ("xxh128", "xxhsum -H2", 32), ("blake3", "b3sum", 64), ("crc32", "rhash --simple --crc32", 8),
    ])
  func otherTools(algorithm: String, tool: String, digits: Int) throws {
    try t.writeTree()
    let run = try t.shell(
      """
      for f in t/big t/text t/empty; do
        \(tool) $f | cut -c1-\(digits); $BP hash -a \(algorithm) $f 2>/dev/null | cut -c1-\(digits)
      done
      """)
    let rows = run.text.split(separator: "\n")
    #expect(rows.count == 6)
    for index in stride(from: 0, to: rows.count - 1, by: 2) { #expect(rows[index] == rows[index + 1]) }
  }

  @Test("several digests of one reading are printed one after the other")
  func several() throws {
    try t.writeTree()
    let run = try t.batchproc("hash", "--tag", "-a", "md5", "-a", "sha256", "-a", "md5", "t/text", "t/empty")
    #expect(
      run.rows.map { String(decoding: $0.prefix { $0 != 0x20 }, as: UTF8.self) } == [
        "MD5", "SHA256", "MD5", "SHA256",
      ])
    try t.file("m", run.output)
    #expect(try t.batchproc("check", "m").status == 0)
    let deep = try t.shell(
      "$BP hash -q --format hashdeep -a md5 -a sha256 t >d; hashdeep -r -l -a -k d t >/dev/null; echo $?; $BP check -q d; echo $?"
    )
    #expect(deep.text == "0\n0\n", "\(deep.text)")
  }

  @Test("we verify bsdtar's mtree, and bsdtar verifies ours")
  func mtree() throws {
    try t.writeTree()
    let run = try t.shell(
      """
      bsdtar -cf theirs --format=mtree --options=mtree:sha256,mtree:size t; $BP check -q theirs; echo $?
      $BP hash -q --format mtree t >ours; bsdtar -tf ours | sed s,^./,, | sort >names; $BP hash -q t | cut -c67- | sort | cmp - names; echo $?
      $BP check -q ours; echo $?
      """)
    #expect(run.text == "0\n0\n0\n", "\(run.text) \(run.errorText)")
  }
}
