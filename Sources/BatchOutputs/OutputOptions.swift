import BatchEngine

/// What a run that writes one output for each source is to do beside the work itself.
package struct OutputOptions: Sendable {
  /// What an output of the same name may replace.
  package enum Replacing: Sendable, Hashable {
    /// Nothing; an output with the time of its source is up to date.
    case never
    /// An output that is older than its source.
    case older
    /// Every file, even one that is up to date or newer.
    case always
  }

  /// How an output of an earlier run is recognized, which an older file has to be before it is replaced.
  package struct Recognition: Sendable {
    /// How many of the first bytes of a file are looked at; 1 or more.
    let length: Int
    let isOutput: @Sendable ([UInt8]) -> Bool

    package init(length: Int, isOutput: @escaping @Sendable ([UInt8]) -> Bool) {
      self.length = length
      self.isOutput = isOutput
    }
  }

  package var naming: OutputNaming
  let recognition: Recognition
  package var replacing = Replacing.older
  /// Removes a source after its output is verified and on the disk.
  package var removesSource = false
  /// Brings outputs to the disk before they get their names.
  package var isSynced = true
  /// How many outputs may be open at once, finished and waiting for the sync that they share; 1 or more.
  package var staged = 256
  /// How many folders may be kept open from output to output; 0 or more.
  package var keptFolders = 16
  /// Writes the outputs to a stream, one after the other, in the place of files.
  package var writesToStream = false
  /// Copies sources that get no compressed output to the folder that outputs are mirrored into.
  package var copiesOthers = false
  /// Decides about outputs, and writes none.
  package var isDryRun = false
  /// Writes outputs also when they are not smaller, and of files that are compressed already.
  package var compressesAll = false

  package init(naming: OutputNaming, recognizing recognition: Recognition) {
    self.naming = naming
    self.recognition = recognition
  }

  /// Descriptors that one output needs until it has its name: file, folder and lock, and the folder of a source that is
  /// removed, where that is another folder.
  package var descriptorsOfOutput: Int { removesSource && naming.directory != nil ? 4 : 3 }

  /// Descriptors that a lane needs at once: a folder, and the next one on the way or a file; where outputs are mirrored
  /// the same in the other tree.
  package var descriptorsOfLane: Int { naming.directory == nil ? 2 : 4 }
}
