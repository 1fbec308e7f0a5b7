import BatchEngine

extension ValueSyntax {
  /// Bytes from a text of ``ByteSize``.
  static func size(_ value: PathBytes, minimum: Int64) throws(Mismatch) -> Int64 {
    let size: Int64
    do throws(ByteSize.Failure) {
      size = try ByteSize.bytes(of: value.bytes)
    } catch {
      switch error {
      case .malformed: throw sizeExpected
      case .tooLarge: throw .tooLarge
      }
    }
    guard size >= minimum else {
      throw Mismatch(sentence: "Please provide a size of \(minimum) or more.")
    }
    return size
  }

  private static let sizeExpected = Mismatch(
    sentence: "Please provide a size such as '4096', '64K', '10MiB' or '1.5G'.")
}
