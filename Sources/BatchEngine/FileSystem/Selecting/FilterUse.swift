import Synchronization

/// A rule of a ``PathFilter`` as the user gave it, for messages.
package struct GivenRule: Sendable, Hashable {
  package enum Option: String, Sendable {
    case exclude, include
    case excludeFrom = "exclude-from"
  }

  package let option: Option
  /// The pattern, or the line of a file.
  package let pattern: PathBytes
  /// The file that contains the line.
  package var file: PathBytes?
}

/// Which rules of a filter have matched, for all threads that use the filter.
final class FilterUse: Sendable {
  /// One rule; set once.
  private final class Flag: Sendable {
    let isUsed = Atomic<Bool>(false)
  }

  private let flags: [Flag]
  private let unusedCount: Atomic<Int>

  init(count: Int) {
    flags = (0..<count).map { _ in Flag() }
    unusedCount = Atomic(count)
  }

  /// Whether there is a rule that has not matched so far; cheap.
  var hasUnused: Bool { unusedCount.load(ordering: .relaxed) > 0 }

  func isUsed(_ number: Int) -> Bool { flags[number].isUsed.load(ordering: .relaxed) }

  func mark(_ number: Int) {
    guard !isUsed(number), !flags[number].isUsed.exchange(true, ordering: .relaxed) else { return }
    unusedCount.subtract(1, ordering: .relaxed)
  }
}
