/// What a walk finds.
public enum WalkItem: Sendable {
  /// A file; if the walk takes everything, also a folder, link, FIFO or device.
  case file(FileRecord)
  /// Standard input, if `-` was given as an operand.
  case standardInput
}

/// One step of a walk: what it found, or a path that could not be examined.
package typealias Walked = Yielded<WalkItem, Never>
