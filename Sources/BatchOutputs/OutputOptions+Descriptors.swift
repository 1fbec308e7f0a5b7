import BatchEngine

extension BatchOptions {
  /// A large file's output is open until its last block is written: small outputs need another place, or the lanes that wait
  /// for one would never process the blocks.
  private static let fewestOutputs = 2
  private static let mostOutputs = 1024
  /// Folders that stay open from output to output.
  private static let mostFolders = 16

  /// Sets descriptors apart for outputs, half of those that there are.
  ///
  /// - Parameter outputs: receives how many outputs may be open at once, and how many folders may be kept open.
  /// - Throws: `exhausted` when there are too few for outputs and for reading beside them.
  package mutating func shareDescriptors(with outputs: inout OutputOptions) throws(BatchError) {
    let fewest = Self.fewestOutputs * outputs.descriptorsOfOutput + outputs.descriptorsOfLane
    guard descriptors >= fewest else {
      throw BatchError(
        .exhausted, "\(descriptors) file descriptors for files are too few: at least \(fewest) are needed",
        remedy: .raiseDescriptors)
    }
    outputs.keptFolders = min(Self.mostFolders, descriptors / 32)
    descriptors -= outputs.keptFolders
    let share = descriptors / (2 * outputs.descriptorsOfOutput)
    outputs.staged = min(Self.mostOutputs, max(Self.fewestOutputs, share))
    descriptors -= outputs.staged * outputs.descriptorsOfOutput
  }
}
