import BatchEngine

/// One result of reading a list of manifests: a line, or a manifest that could not be read to its end or has no rows.
package enum CheckLine: Sendable {
  /// - Parameter isOfStandardInput: whether the manifest itself is standard input.
  case line(ManifestItem, of: PathBytes, isOfStandardInput: Bool)
  case unreadable(Problem)
}

/// The lines of a list of manifests, in their order.
///
/// A manifest is read on demand, so memory does not depend on its size.
package struct CheckLines {
  private let options: ManifestReader.Options
  private let context: SourceContext
  private var manifests: AnyIterator<PathBytes>
  private var current: OpenManifest?
  private var hasRows = false

  /// - Parameters:
  ///   - manifests: paths, `-` for standard input.
  ///   - context: its cancellation ends the wait for a manifest from a pipe; the run must reserve a descriptor for the
  ///     manifest.
  package init(
    _ manifests: some Sequence<PathBytes>, options: ManifestReader.Options, context: SourceContext
  ) {
    self.manifests = AnyIterator(manifests.makeIterator())
    self.options = options
    self.context = context
  }

  /// - Returns: nil at the end of the last manifest.
  /// - Throws: the reason when the run was stopped.
  package mutating func next() throws(BatchError) -> CheckLine? {
    while true {
      if let manifest = current {
        do throws(BatchError) {
          guard let item = try manifest.next() else {
            current = nil
            guard !hasRows else { continue }
            let error = BatchError(
              .malformed, "no properly formatted checksum lines found", path: manifest.path)
            return .unreadable(Problem(.malformed, error))
          }
          if case .text = item {} else { hasRows = true }
          return .line(item, of: manifest.path, isOfStandardInput: manifest.isStandardInput)
        } catch {
          try context.cancellation.check()
          current = nil
          return .unreadable(Problem(.unreadable, error.at(manifest.path)))
        }
      }
      guard let path = manifests.next() else { return nil }
      do throws(BatchError) {
        current = try OpenManifest(path, options: options, in: context)
        hasRows = false
      } catch {
        return .unreadable(Problem(error))
      }
    }
  }
}
