import BatchEngine

/// How a member was read, for the index and the reports.
package struct MemberFlags: OptionSet, Sendable, Hashable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// The index has a SHA-256 of its content.
  static let digest = MemberFlags(rawValue: 1)
  /// The file changed while it was read: the content is a mixture of states.
  package static let changed = MemberFlags(rawValue: 2)
  /// A part of the file could not be read, or disappeared before it was read: it is missing or replaced by zeros.
  package static let incomplete = MemberFlags(rawValue: 4)

  init(_ outcome: ReadOutcome) {
    self = outcome.isStable ? [] : outcome.becameShorter ? [.changed, .incomplete] : .changed
  }

  /// The flags for the outcome of reading a file in blocks.
  ///
  /// - Parameters:
  ///   - failure: why parts of it were replaced by zeros.
  ///   - isStable: whether the file did not change.
  init(failure: BatchError?, isStable: Bool) {
    self = failure == nil ? [] : .incomplete
    if !isStable || failure?.code == .changed { insert(.changed) }
  }

  static let ofVersion3: MemberFlags = [.digest]
  static let all: MemberFlags = [.digest, .changed, .incomplete]
}
