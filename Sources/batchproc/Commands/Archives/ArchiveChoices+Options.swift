import BatchCore

extension ArchiveChoices {
  /// The options for writing the archive.
  var options: ArchiveOptions {
    var options = ArchiveOptions(format: format)
    options.level = level
    options.isReproducible = isReproducible
    options.latestTime = latestTime
    options.changes = changes
    options.isRemembered = isVerified
    return options
  }
}
