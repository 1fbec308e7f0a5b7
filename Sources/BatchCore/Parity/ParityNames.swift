import BatchEngine

/// The names of files with recovery data: `photo.tar.par2`, `photo.tar.vol000+100.par2`.
package enum ParityNames {
  package static let suffix = Array(".par2".utf8)

  /// The name of the index for a file.
  package static func index(_ name: PathBytes) -> PathBytes { PathBytes(name.bytes + suffix) }

  /// - Parameter zeros: how many zeros the numbers begin with at least.
  static func volume(
    _ stem: PathBytes, first: Int, count: Int, most: Int, zeros: Int = 0
  ) -> PathBytes {
    let width = String(max(1, most)).utf8.count + zeros
    func number(_ value: Int) -> String {
      let digits = String(value)
      return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
    return PathBytes(stem.bytes + Array(".vol\(number(first))+\(number(count)).par2".utf8))
  }

  /// The common beginning of the names of a set, of any of its files or of a protected file.
  package static func stem(_ name: PathBytes) -> PathBytes {
    guard let bytes = withoutSuffix(name.bytes) else { return name }
    return PathBytes(withoutVolume(bytes) ?? bytes)
  }

  package static func isParity(_ name: PathBytes) -> Bool { withoutSuffix(name.bytes) != nil }

  /// The name of the file whose recovery data these are, if the set is named after it; nil for any other name.
  package static func protected(_ name: PathBytes) -> PathBytes? {
    withoutSuffix(name.bytes).map { PathBytes(withoutVolume($0) ?? $0) }
  }

  /// How many recovery blocks a file has by its name; 0 for an index.
  static func recoveryCount(_ name: PathBytes) -> Int {
    guard let bytes = withoutSuffix(name.bytes), withoutVolume(bytes) != nil,
      let plus = bytes.lastIndex(of: UInt8(ascii: "+"))
    else { return 0 }
    return DecimalDigits.value(of: bytes[(plus + 1)...]).flatMap { Int(exactly: $0) } ?? 0
  }

  private static func withoutSuffix(_ bytes: [UInt8]) -> [UInt8]? {
    guard bytes.count > suffix.count, bytes.suffix(suffix.count).map({ $0 | 0x20 }).elementsEqual(lowered)
    else {
      return nil
    }
    return Array(bytes.dropLast(suffix.count))
  }

  private static let lowered = suffix.map { $0 | 0x20 }

  private static func withoutVolume(_ bytes: [UInt8]) -> [UInt8]? {
    guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")), dot > 0,
      bytes[(dot + 1)...].starts(with: Array("vol".utf8))
    else { return nil }
    let numbers = bytes[(dot + 4)...].split(separator: UInt8(ascii: "+"), omittingEmptySubsequences: false)
    guard numbers.count == 2, numbers.allSatisfy({ !$0.isEmpty && $0.allSatisfy(DecimalDigits.contains) })
    else {
      return nil
    }
    return Array(bytes[..<dot])
  }

  /// The files of a set in a folder: the index first, then the others in the order of their names.
  ///
  /// - Parameter stem: the common beginning of their names.
  static func files(of stem: PathBytes, in names: [PathBytes]) -> [PathBytes] {
    let index = index(stem)
    let others = names.filter {
      isParity($0) && $0.bytes.starts(with: stem.bytes + [UInt8(ascii: ".")]) && $0 != index
    }
    return (names.contains(index) ? [index] : []) + others.sorted()
  }
}
