import BatchEngine

/// A flat JSON object on one line, as in plans and results.
struct JSONFields {
  private let values: [String: JSONObjectParser.Value]

  /// - Throws: `malformed` for a line that is not a flat object, or that contains a key twice.
  init(_ line: some Collection<UInt8>) throws(BatchError) {
    var parser = JSONObjectParser(Array(line))
    var values: [String: JSONObjectParser.Value] = [:]
    do throws(MalformedLine) {
      while let (key, value) = try parser.next() {
        guard values.updateValue(value, forKey: key) == nil else {
          throw MalformedLine("a member that occurs twice")
        }
      }
    } catch {
      throw BatchError(.malformed, "has a line that is not valid: \(error.reason)")
    }
    self.values = values
  }

  func text(_ key: String) throws(BatchError) -> String {
    guard case .string(let bytes)? = values[key],
      let text = String(validating: bytes, as: UTF8.self)
    else {
      throw Self.missing(key)
    }
    return text
  }

  /// Bytes that are stored as text, or in hexadecimal digits as the member `key_hex` if they are not UTF-8.
  func bytes(_ key: String) throws(BatchError) -> [UInt8] {
    if case .string(let bytes)? = values[key] { return bytes }
    guard case .string(let digits)? = values["\(key)_hex"], digits.count.isMultiple(of: 2) else {
      throw Self.missing(key)
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 2)
    for start in stride(from: 0, to: digits.count, by: 2) {
      guard let high = Hexadecimal.value(of: digits[start]),
        let low = Hexadecimal.value(of: digits[start + 1])
      else { throw Self.missing(key) }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  func has(_ key: String) -> Bool { values[key] != nil }

  /// - Throws: `malformed` if the number is missing or does not fit the type.
  func number<Number: FixedWidthInteger>(_ key: String, as type: Number.Type = Number.self)
    throws(BatchError) -> Number
  {
    guard case .number(let digits)? = values[key], let number: Number = DecimalDigits.number(digits) else {
      throw Self.missing(key)
    }
    return number
  }

  /// All numbers whose keys begin with this prefix; the prefix is removed.
  func numbers(after start: String) throws(BatchError) -> [String: Int] {
    var numbers: [String: Int] = [:]
    for key in values.keys where key.hasPrefix(start) {
      numbers[String(key.dropFirst(start.count))] = try number(key)
    }
    return numbers
  }

  func digest(_ key: String) throws(BatchError) -> Digest {
    guard case .string(let digits)? = values[key], let digest = Digest(.sha256, hex: digits)
    else {
      throw Self.missing(key)
    }
    return digest
  }

  private static func missing(_ key: String) -> BatchError {
    BatchError(.malformed, "has a line without a valid member '\(key)'")
  }
}

extension JSONLine {
  /// Adds bytes as text, or in hexadecimal digits as the member `key_hex` if they are not UTF-8.
  mutating func add(_ key: String, bytes content: [UInt8]) {
    if let text = String(validating: content, as: UTF8.self) { return add(key, text) }
    add(
      "\(key)_hex",
      plain: { bytes in
        for byte in content { bytes += [Hexadecimal.digit(byte >> 4), Hexadecimal.digit(byte & 15)] }
      })
  }
}
