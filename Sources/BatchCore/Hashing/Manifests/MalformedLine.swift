import BatchEngine

/// Why a line of a manifest says nothing; the reason quotes no byte of the line.
struct MalformedLine: Error {
  let reason: String

  init(_ reason: String) {
    self.reason = reason
  }
}
