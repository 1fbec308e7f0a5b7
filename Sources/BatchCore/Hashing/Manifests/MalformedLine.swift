import BatchEngine

/// Why a line of a manifest is not valid; the reason contains no bytes of the line.
struct MalformedLine: Error {
  let reason: String

  init(_ reason: String) {
    self.reason = reason
  }
}
