import BatchEngine

/// How a run writes one output for each source.
package struct OutputOptions: Sendable {
  /// How an output of an earlier run is recognized; an older file is replaced only if it is one.
  package struct Recognition: Sendable {
    /// How many of the first bytes of a file are examined; 1 or more.
    let length: Int
    let isOutput: @Sendable ([UInt8]) -> Bool

    package init(length: Int, isOutput: @escaping @Sendable ([UInt8]) -> Bool) {
      self.length = length
      self.isOutput = isOutput
    }
  }

  package var naming: OutputNaming
  let recognition: Recognition
  /// What an output of the same name may replace.
  package var replacing = Replacing.older
  /// Whether an older output is also replaced if its mark does not say that its source was kept.
  package var replacesUnmarked = false
  /// Removes a source after its output is verified and on the disk.
  package var removesSource = false
  /// Syncs outputs to the disk before they are renamed.
  package var isSynced = true
  /// How many finished outputs may be open at once while they wait for a common sync; 1 or more.
  package var staged = 256
  /// How many folders may be kept open from output to output; 0 or more.
  package var keptFolders = 16
  /// Writes the outputs to a stream, one after the other, instead of files.
  package var writesToStream = false
  /// The command that makes the outputs; nil if they are made by this program.
  package var command: CommandMark?
  /// Copies sources without a compressed output to the output directory.
  package var copiesOthers = false
  /// Whether each folder is synced after the renames of a batch. Without that, a job that removes no source syncs the names of all
  /// outputs once, at its end.
  package var syncsFolders = true
  /// Decides about outputs, and writes none.
  package var isDryRun = false
  /// Writes outputs even if they are not smaller, and even for files that are already compressed.
  package var compressesAll = false

  /// Whether an output is written even if it is not smaller. An existing one would keep the old content of its source.
  package func writesAll(_ decision: OutputDecision) -> Bool { compressesAll || decision.isReplacing }

  package init(naming: OutputNaming, recognizing recognition: Recognition) {
    self.naming = naming
    self.recognition = recognition
  }

  /// Descriptors that one output needs until it is committed: file, folder and lock; also the source's folder if the source is
  /// removed and the output is in another folder.
  package var descriptorsOfOutput: Int { removesSource && naming.directory != nil ? 4 : 3 }

  /// Descriptors that a lane needs at once: a folder, and the next folder on the way or a file; twice that if outputs are
  /// mirrored into another tree.
  package var descriptorsOfLane: Int { naming.directory == nil ? 2 : 4 }
}
