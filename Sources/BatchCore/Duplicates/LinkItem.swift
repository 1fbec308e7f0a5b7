import BatchEngine

/// How copies share the space of one file.
package enum LinkMode: String, Sendable, CaseIterable {
  /// As names of one file.
  case hard
  /// As separate files that share blocks.
  case reflink
}

/// The result for one copy.
package struct LinkOutcome: Sendable {
  package enum Result: Sendable, Hashable {
    case linked
    /// A dry run would link it.
    case planned
    /// It is not changed.
    case left(Reason)
  }

  package enum Reason: Sendable, Hashable {
    case otherFileSystem
    case otherMetadata
    case furtherNames
    case isOpen
    case keptIsOpen
    case tooManyNames
    case sharesNoBlocks
  }

  package let copy: PathBytes
  /// The file that it is, or would be, linked to.
  package let kept: PathBytes
  package let size: Int64
  package let result: Result
}

/// The groups whose copies will be linked.
package struct LinkSource: BatchSource {
  private var groups: ArraySlice<DuplicateGroup>

  package init(_ groups: [DuplicateGroup]) { self.groups = groups[...] }

  package mutating func next() -> Yielded<DuplicateGroup, Never>? { groups.popFirst().map { .item($0) } }

  package func weight(of group: DuplicateGroup) -> Int64 {
    let (product, isHuge) = group.size.multipliedReportingOverflow(by: Int64(group.files.count))
    return isHuge ? .max : product
  }

  package func count(of group: DuplicateGroup) -> Int { group.files.count }
}

extension DuplicateGroup: FileItem {
  package var path: PathBytes? { files.first?.path }
}

/// The result of a lane for one file of a group.
package enum LinkRow: Sendable {
  case kept
  /// Both have the same content, and other required properties are equal too.
  case equal(DuplicateFile, to: KeptFile)
  case left(DuplicateFile, beside: DuplicateFile, LinkOutcome.Reason)
}
