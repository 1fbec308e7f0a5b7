@testable import BatchCore
@testable import BatchEngine

/// Digests from FIPS 180, FIPS 202, RFC 7693 and RFC 1321, and of xxHash and CRC-32.
enum DigestVectors {
  /// The empty message, `abc`, and a million letters `a`.
  static let messages: [[UInt8]] = [
    [], Array("abc".utf8), [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000),
  ]

  /// One digest for each message.
  static let digests: [(DigestAlgorithm, [String])] = [
    (
      .sha256,
      [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
      ]
    ),
    (
      .sha512,
      [
        "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
          + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
          + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
          + "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b",
      ]
    ),
    (
      .sha384,
      [
        "38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da"
          + "274edebfe76f65fbd51ad2f14898b95b",
        "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
          + "8086072ba1e7cc2358baeca134c825a7",
        "9d0e1809716474cb086e834e310a4a1ced149e9c00f248527972cec5704c2a5b"
          + "07b8b3dc38ecc4ebae97ddd87f3d8985",
      ]
    ),
    (
      .sha224,
      [
        "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f",
        "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7",
        "20794655980c91d8bbb4c1ea97618a4bf03f42581948b2ee4ee7ad67",
      ]
    ),
    (
      .sha1,
      [
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "a9993e364706816aba3e25717850c26c9cd0d89d",
        "34aa973cd4c4daa4f61eeb2bdbad27316534016f",
      ]
    ),
    (
      .md5,
      [
        "d41d8cd98f00b204e9800998ecf8427e",
        "900150983cd24fb0d6963f7d28e17f72",
        "7707d6ae4e027c70eea2a935c2296f21",
      ]
    ),
    (
      .blake2b,
      [
        "786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419"
          + "d25e1031afee585313896444934eb04b903a685b1448b755d56f701afe9be2ce",
        "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
          + "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
        "98fb3efb7206fd19ebf69b6f312cf7b64e3b94dbe1a17107913975a793f177e1"
          + "d077609d7fba363cbba00d05f7aa4e4fa8715d6428104c0a75643b0ff3fd3eaf",
      ]
    ),
    (
      .sha3Bits256,
      [
        "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a",
        "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532",
        "5c8875ae474a3634ba4fd55ec85bffd661f32aca75c6d699d0cdcb6c115891c1",
      ]
    ),
    (
      .sha3Bits512,
      [
        "a69f73cca23a9ac5c8b567dc185a756e97c982164fe25859e0d1dcc1475c80a6"
          + "15b2123af1f5f94c11e3e9402c3ac558f500199d95b6d3e301758586281dcd26",
        "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e"
          + "10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0",
        "3c3a876da14034ab60627c077bb98f7e120a2a5370212dffb3385a18d4f38859"
          + "ed311d0a9d5141ce9cc5c66ee689b266a8aa18ace8282a0e0db596c90b0a7b87",
      ]
    ),
    (
      .blake3,
      [
        "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
        "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85",
        "616f575a1b58d4c9797d4217b9730ae5e6eb319d76edef6549b46f4efe31ff8b",
      ]
    ),
    (
      .xxh3,
      [
        "2d06800538d394c2",
        "78af5f94892f3950",
        "b1fd6fae5285c4eb",
      ]
    ),
    (
      .xxh128,
      [
        "99aa06d3014798d86001c324468d497f",
        "06b05ab6733a618578af5f94892f3950",
        "a545df8e384a9579b1fd6fae5285c4eb",
      ]
    ),
    (
      .crc32,
      [
        "00000000",
        "352441c2",
        "dc25bfbc",
      ]
    ),
  ]
}
