import BatchEngine

/// The header of an age file: a stanza for each recipient, and the code that authenticates them (age-encryption.org/v1).
struct AgeHeader {
  /// A line of arguments, the first of which is the type, and a body.
  struct Stanza: Hashable {
    let arguments: [[UInt8]]
    let body: [UInt8]

    func isOf(_ type: String) -> Bool { arguments.first?.elementsEqual(type.utf8) ?? false }

    fileprivate func append(to bytes: inout [UInt8]) {
      bytes += "->".utf8
      for argument in arguments { bytes += [UInt8(ascii: " ")] + argument }
      bytes.append(newline)
      var text = CanonicalBase64.encode(body)[...]
      while text.count >= lineLength {
        bytes += text.prefix(lineLength) + [newline]
        text = text.dropFirst(lineLength)
      }
      bytes += text + [newline]
    }
  }

  static let version = Array("age-encryption.org/v1".utf8)
  /// A header that large would need a hundred thousand recipients.
  static let largest = 16 << 20
  private static let codeSize = 32
  static let lineLength = 64
  static let newline = UInt8(ascii: "\n")

  let stanzas: [Stanza]
  private let code: [UInt8]
  /// The bytes that the authentication code covers.
  private let authenticated: [UInt8]
  /// The size of the header in the file.
  let size: Int

  var bytes: [UInt8] { authenticated + [UInt8(ascii: " ")] + CanonicalBase64.encode(code) + [Self.newline] }

  /// - Throws: `malformed` when the header was changed.
  func check(_ fileKey: SecretBytes) throws(BatchError) {
    guard Primitives.areEqual(try Primitives.authenticate(authenticated, key: Self.key(fileKey)), code) else {
      throw AgeDamage.header("its authentication code is wrong")
    }
  }

  private static func key(_ fileKey: SecretBytes) throws(BatchError) -> SecretBytes {
    try Primitives.derive(fileKey, salt: [], info: "header")
  }
}

extension AgeHeader {
  init(_ stanzas: [Stanza], fileKey: SecretBytes) throws(BatchError) {
    var bytes = Self.version + [Self.newline]
    for stanza in stanzas { stanza.append(to: &bytes) }
    bytes += "---".utf8
    let code = try Primitives.authenticate(bytes, key: Self.key(fileKey))
    self.init(
      stanzas: stanzas, code: code, authenticated: bytes,
      size: bytes.count + 2 + CanonicalBase64.encode(code).count)
  }

  /// Reads a header.
  ///
  /// - Parameters:
  ///   - bytes: the beginning of a file.
  ///   - isAll: whether the file has no more bytes.
  /// - Returns: nil when more bytes are needed.
  /// - Throws: `malformed` for every deviation from the specification.
  static func read(_ bytes: [UInt8], isAll: Bool) throws(BatchError) -> AgeHeader? {
    var lines = Lines(bytes: bytes)
    guard let version = lines.next() else {
      // Of another version, or nothing like a header.
      guard bytes.count < Self.version.count + 1, !isAll else {
        throw AgeDamage.header("it has no version line")
      }
      return nil
    }
    guard version.elementsEqual(Self.version) else {
      throw AgeDamage.header("its version is not \(String(decoding: Self.version, as: UTF8.self))")
    }
    var stanzas = [Stanza]()
    while true {
      let start = lines.position
      guard let line = lines.next() else { return try more(bytes, isAll) }
      if line.starts(with: "---".utf8) {
        guard !stanzas.isEmpty else { throw AgeDamage.header("it has no recipient") }
        guard line.count > 4, line[line.startIndex + 3] == UInt8(ascii: " "),
          let code = CanonicalBase64.decode(line.dropFirst(4)), code.count == codeSize
        else { throw AgeDamage.header("its last line is not valid") }
        return AgeHeader(
          stanzas: stanzas, code: code, authenticated: Array(bytes[..<(start + 3)]), size: lines.position)
      }
      let arguments = try arguments(of: line)
      var body = [UInt8]()
      var isComplete = false
      while !isComplete {
        guard let line = lines.next() else { return try more(bytes, isAll) }
        guard line.count <= lineLength, let part = CanonicalBase64.decode(line) else {
          throw AgeDamage.header("the body of a recipient is not canonical base64 in lines of 64 characters")
        }
        body += part
        isComplete = line.count < lineLength
      }
      stanzas.append(Stanza(arguments: arguments, body: body))
    }
  }

  private static func more(_ bytes: [UInt8], _ isAll: Bool) throws(BatchError) -> AgeHeader? {
    guard !isAll else { throw AgeDamage.header("it is cut off") }
    guard bytes.count < largest else { throw AgeDamage.header("it is too large") }
    return nil
  }

  private static func arguments(of line: ArraySlice<UInt8>) throws(BatchError) -> [[UInt8]] {
    guard line.starts(with: "-> ".utf8) else {
      throw AgeDamage.header("a recipient does not begin as it has to")
    }
    let arguments = line.dropFirst(3).split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    guard arguments.allSatisfy({ !$0.isEmpty && $0.allSatisfy { (33...126).contains($0) } }) else {
      throw AgeDamage.header("the arguments of a recipient are not valid")
    }
    return arguments.map { Array($0) }
  }

  private struct Lines {
    let bytes: [UInt8]
    private(set) var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// The next line without its newline; nil when no line is left.
    mutating func next() -> ArraySlice<UInt8>? {
      guard let end = bytes[position...].firstIndex(of: AgeHeader.newline) else { return nil }
      defer { position = end + 1 }
      return bytes[position..<end]
    }
  }
}

/// The errors of a damaged age file.
enum AgeDamage {
  static func header(_ text: String) -> BatchError {
    BatchError(.malformed, "damaged: the header of the encrypted file is not valid: \(text)")
  }

  static func payload(_ text: String) -> BatchError { BatchError(.malformed, "damaged: \(text)") }

  static let armor = BatchError(.malformed, "damaged: its armor is not valid")
}
