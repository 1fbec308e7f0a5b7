import BatchEngine
import BatchOutputs

extension OutputOptions {
  /// Those of a run that compresses or decompresses: an output begins as a file in a compressed format.
  package init(naming: OutputNaming) {
    self.init(
      naming: naming,
      recognizing: Recognition(length: CompressionFormat.detectionLength) { start in
        CompressionFormat.detect(start) != nil
      })
  }
}
