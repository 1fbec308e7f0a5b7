import BatchEngine

/// What the index and the reports say of how a member was read, beside its content.
package struct MemberFlags: OptionSet, Sendable, Hashable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// The index has a SHA-256 of its content.
  static let digest = MemberFlags(rawValue: 1)
  /// The file changed while it was read: the content is a mixture of states.
  package static let changed = MemberFlags(rawValue: 2)
  /// A part of the file could not be read, or was gone before it was read: it is missing, or zeros stand for it.
  package static let incomplete = MemberFlags(rawValue: 4)

  /// The flags for the outcome of reading a file.
  init(_ outcome: ReadOutcome) {
    self = outcome.isStable ? [] : outcome.becameShorter ? [.changed, .incomplete] : .changed
  }

  /// The flags for the outcome of reading a file in blocks.
  ///
  /// - Parameters:
  ///   - failure: why parts of it are zeros.
  ///   - isStable: whether it was the same file all the time.
  init(failure: BatchError?, isStable: Bool) {
    self = failure == nil ? [] : .incomplete
    if !isStable || failure?.code == .changed { insert(.changed) }
  }

  /// Those that version 3 of the index knows.
  static let ofVersion3: MemberFlags = [.digest]
  static let all: MemberFlags = [.digest, .changed, .incomplete]
}
