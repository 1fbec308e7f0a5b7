import BatchCore

extension ArchiveChoices {
  /// What the archive is written by.
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
