import BatchEngine

/// One result of reading a list of manifests: a line, or a manifest that could not be read to its end.
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
            continue
          }
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
      } catch {
        return .unreadable(Problem(error))
      }
    }
  }
}
