extension OptionSpec {
  /// Of commands that read what may be encrypted.
  static let opening: [OptionSpec] = [
    OptionSpec(
      .identity, "identity", short: "i", kind: .repeatable(.file), value: "file",
      help: "Open what is encrypted with the identities of this file, as 'keygen' or age-keygen writes it."),
    passphraseFile("Open what is encrypted with the passphrase in this file; /dev/tty asks for it."),
  ]

  /// Of commands that write archives.
  static let sealing: [OptionSpec] = [
    OptionSpec(
      .encryptTo, "encrypt-to", kind: .repeatable(.glob), value: "recipient",
      help: "Encrypt for this recipient, age1..., in the format of age; several can each open it."),
    OptionSpec(
      .encryptToFile, "encrypt-to-file", kind: .repeatable(.file), value: "file",
      help: "Encrypt for all recipients of this file, one a line."),
    passphraseFile(
      "Encrypt with the passphrase in this file, which only its owner may read; /dev/tty asks for it."),
  ]

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
      An identity is a private key: whoever has it reads what is encrypted for its recipient. The file is one of age, \
      and nobody but its owner may read it. The recipient is no secret; it is what --encrypt-to takes. What is \
      encrypted for a lost identity is lost: keep a copy of the file where the backups are not, also on paper.
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
        meaning: "Make a key pair: backups need what is printed, restores need the file.")
    ])
}
