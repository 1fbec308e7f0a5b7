import BatchEngine
import Testing

/// Expects a `BatchError` with one of these codes, and that it names a path if one is given.
///
/// - Parameter comment: says for which case an error was expected.
/// - Returns: the error, for further expectations; nil if there was none.
@discardableResult
package func expectError<Result: ~Copyable>(
  _ codes: BatchError.Code..., at path: PathBytes? = nil, about comment: Comment? = nil,
  sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Result
) -> BatchError? {
  let error = #expect(throws: BatchError.self, comment, sourceLocation: sourceLocation) {
    _ = try body()
  }
  if let error {
    #expect(codes.contains(error.code), "\(error)", sourceLocation: sourceLocation)
    if let path { #expect(error.path == path, "\(error)", sourceLocation: sourceLocation) }
  }
  return error
}
