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
  /// In bytes. The largest number of recipients needs less.
  static let largest = 1 << 20
  static let codeSize = 32
  static let lineLength = 64
  static let newline = UInt8(ascii: "\n")

  let stanzas: [Stanza]
  fileprivate let code: [UInt8]
  /// The bytes that the authentication code covers.
  fileprivate let authenticated: [UInt8]
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
    guard stanzas.count <= AgeHeaderReader.mostStanzas, bytes.count < Self.largest - 64 else {
      throw BatchError(
        .invalid,
        "a file of age has \(AgeHeaderReader.mostStanzas) recipients at most, and \(stanzas.count) are given")
    }
    let code = try Primitives.authenticate(bytes, key: Self.key(fileKey))
    self.init(
      stanzas: stanzas, code: code, authenticated: bytes,
      size: bytes.count + 2 + CanonicalBase64.encode(code).count)
  }
}

/// Reads a header from the growing beginning of a file. Each byte is examined once, however often more bytes arrive.
struct AgeHeaderReader {
  /// An identity is tried with each stanza, which takes some hundred microseconds.
  static let mostStanzas = 10_000
  /// Types of stanzas in use have one or two.
  static let mostArguments = 64

  private var stanzas: [AgeHeader.Stanza] = []
  private var hasVersion = false
  /// Of the stanza whose body follows; nil between stanzas.
  private var arguments: [[UInt8]]?
  private var body: [UInt8] = []
  /// The start of the next line.
  private var position = 0
  /// The bytes before this offset were searched for the end of the line.
  private var searched = 0

  /// - Parameters:
  ///   - bytes: the beginning of a file: the bytes of the previous call, and more.
  ///   - isAll: whether the file has no more bytes.
  /// - Returns: nil when more bytes are needed.
  /// - Throws: `malformed` for every deviation from the specification.
  mutating func read(_ bytes: [UInt8], isAll: Bool) throws(BatchError) -> AgeHeader? {
    while let line = next(bytes) {
      if let header = try take(line, bytes) { return header }
    }
    guard hasVersion || (bytes.count < AgeHeader.version.count + 1 && !isAll) else {
      // Of another version, or nothing like a header.
      throw AgeDamage.header("it has no version line")
    }
    guard !isAll else { throw AgeDamage.header("it is cut off") }
    guard bytes.count < AgeHeader.largest else { throw AgeDamage.header("it is too large") }
    return nil
  }

  /// The next line without its newline; nil when no whole line is left.
  private mutating func next(_ bytes: [UInt8]) -> ArraySlice<UInt8>? {
    guard let end = bytes[searched...].firstIndex(of: AgeHeader.newline) else {
      searched = bytes.count
      return nil
    }
    defer {
      position = end + 1
      searched = position
    }
    return bytes[position..<end]
  }

  private mutating func take(
    _ line: ArraySlice<UInt8>, _ bytes: [UInt8]
  ) throws(BatchError) -> AgeHeader? {
    guard hasVersion else {
      guard line.elementsEqual(AgeHeader.version) else {
        throw AgeDamage.header("its version is not \(String(decoding: AgeHeader.version, as: UTF8.self))")
      }
      hasVersion = true
      return nil
    }
    if let arguments {
      guard line.count <= AgeHeader.lineLength, let part = CanonicalBase64.decode(line) else {
        throw AgeDamage.header("the body of a recipient is not canonical base64 in lines of 64 characters")
      }
      body += part
      guard line.count < AgeHeader.lineLength else { return nil }
      stanzas.append(AgeHeader.Stanza(arguments: arguments, body: body))
      self.arguments = nil
      body = []
      return nil
    }
    guard line.starts(with: "---".utf8) else {
      guard stanzas.count < Self.mostStanzas else { throw AgeDamage.header("it has too many recipients") }
      arguments = try Self.arguments(of: line)
      return nil
    }
    guard !stanzas.isEmpty else { throw AgeDamage.header("it has no recipient") }
    guard line.count > 4, line[line.startIndex + 3] == UInt8(ascii: " "),
      let code = CanonicalBase64.decode(line.dropFirst(4)), code.count == AgeHeader.codeSize
    else { throw AgeDamage.header("its last line is not valid") }
    return AgeHeader(
      stanzas: stanzas, code: code, authenticated: Array(bytes[..<(line.startIndex + 3)]), size: position)
  }

  private static func arguments(of line: ArraySlice<UInt8>) throws(BatchError) -> [[UInt8]] {
    guard line.starts(with: "-> ".utf8) else {
      throw AgeDamage.header("a recipient does not begin as it has to")
    }
    let arguments = line.dropFirst(3).split(
      separator: UInt8(ascii: " "), maxSplits: mostArguments, omittingEmptySubsequences: false)
    guard arguments.count <= mostArguments,
      arguments.allSatisfy({ !$0.isEmpty && $0.allSatisfy { (33...126).contains($0) } })
    else { throw AgeDamage.header("the arguments of a recipient are not valid") }
    return arguments.map { Array($0) }
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
