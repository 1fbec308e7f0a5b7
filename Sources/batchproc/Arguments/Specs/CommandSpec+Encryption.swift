extension OptionSpec {
  /// For commands that read files that may be encrypted.
  static let opening: [OptionSpec] = [
    OptionSpec(
      .identity, "identity", short: "i", kind: .repeatable(.file), value: "file",
      help: "Decrypt with the identities in this file, which 'keygen' or age-keygen wrote."),
    passphraseFile("Decrypt with the passphrase in this file; /dev/tty asks for it."),
  ]

  /// For commands that write archives.
  static let sealing: [OptionSpec] = [
    OptionSpec(
      .encryptTo, "encrypt-to", kind: .repeatable(.glob), value: "recipient",
      help: """
        Encrypt for this recipient, age1..., in the format of age. With several recipients each of them can decrypt.
        """),
    OptionSpec(
      .encryptToFile, "encrypt-to-file", kind: .repeatable(.file), value: "file",
      help: "Encrypt for all recipients of this file, one a line."),
    passphraseFile(
      "Encrypt with the passphrase in this file, which only its owner may read; /dev/tty asks for it."),
  ]

  /// For commands that write to a set, or copy it.
  static func plain(_ help: String) -> OptionSpec { OptionSpec(.plain, "plain", help: help) }

  private static func passphraseFile(_ help: String) -> OptionSpec {
    OptionSpec(.passphraseFile, "passphrase-file", kind: .single(.file), value: "file", help: help)
  }
}

extension CommandSpec {
  static let keygen = CommandSpec(
    id: .keygen,
    abstract: "Write a new identity, and print its recipient.",
    discussion: [
      """
      An identity is a private key: it decrypts everything that was encrypted for its recipient. The file has the \
      format of age, and only its owner may read it. The recipient is the public key, for --encrypt-to; it is not a \
      secret. When the identity is lost, everything that was encrypted for it is lost: keep a copy of the file away \
      from the backups, also on paper.
      """
    ],
    operands: [],
    own: [
      OptionSpec(
        .output, "output", short: "o", kind: .single(.file), value: "file",
        help: "The file of the identity, which must not exist.")
    ],
    shared: [Group.general],
    examples: [
      Example(
        command: "batchproc keygen -o backup.key",
        meaning: "Make a key pair: backups need the printed recipient, restores need the file.")
    ])
}
