/// The identity of an option in code, independent of its name on the command line.
enum OptionID: String, Sendable, Hashable, CaseIterable {
  // General
  case config, profile
  case help, version, generateCompletionScript, generateManual, dumpHelp
  // Scheduling
  case maxConcurrency, threads, stride, maxOpenFiles, maxMemory, maxLoad, stallWarning, stallTimeout, control,
    qos
  // Selection
  case filesFrom, files0From, exclude, include, excludeFrom, excludeCaches, gitignore, oneFileSystem
  case minSize, maxSize, olderThan, newerThan, maxHole, maxLevels, followSymlinks
  // Policy
  case on, dryRun, fsync
  // Reporting
  case progress, quiet, verbose, color, json, report
  // Manifests
  case algorithm, format, tag, zero, output, force
  case checkMode, status, escape, warn, strict, ignoreMissing, ignoreMalformed, directory
  // Tuning
  case job, most, seconds, plot, save
  // Compression
  case level, fastest, best, suffix, outputDirectory, keep, removeSource, update, replace, compressAll,
    copyOthers, maxOutput
  // Archives
  case reproducible, mtime, verify, gzip, zstd, xz, excludeVCS, owner, group, mode, transform
  case archiveFile, longRows, digests, index, allFormats, stripComponents, overwrite, toStdout, sameOwner,
    numericOwner, attributes, escaped
  // Recovery data
  case parity, parityBlocks, blockSize, blockCount, volumes, base
  // Backups
  case target, setName, fullEvery, full, checksum, acceptRot, allowEmpty, allowOtherFileSystem, initialize,
    lockWait
  case keepLast, keepHourly, keepDaily, keepWeekly, keepMonthly, keepYearly, keepWithin, groupBy, pruneFirst,
    checkpoint,
    unlisted, minUsed, compact
  case at, host, source, sample, all, timeBudget, againstLive
  case find, listFiles, compareSnapshots, maxAge, complete, usage, share
  case before, after, onFailure, hookTimeout, metrics, notify, rate
  case cache, cacheVerify, link, folders
  case cron, systemd, startAt, writeTo, enable
  case copyFrom, copyTo, copyKeepLast, copyKeepDaily, copyKeepWeekly, copyKeepMonthly, copyKeepYearly,
    appendOnly
  case identity, passphraseFile, encryptTo, encryptToFile, plain
  // Commands of the user
  case replaceSuffix, inPlace, stdin, accept, timeLimit, retry, stopAfter, log, batch, stderr
  // Mirrors
  case ignoreExisting, delete, mostDeleted, deleteExcluded, linkDest
  // Clusters
  case plan, shard, shards, planFolder, fewestShardBytes, allowMissing, removeParts
  case slurm, submitNow, wait, sbatch
  case samePermissions, devices, safeLinks, unsafeLinks, maxRatio, keepGoing, against
}

extension OptionID {
  /// The function of the completion scripts that offers names known only on this machine; nil for other options.
  var completion: String? {
    switch self {
    case .setName: "_batchproc_snapshots set"
    case .at, .listFiles, .compareSnapshots: "_batchproc_snapshots id"
    case .profile: "_batchproc_profiles"
    default: nil
    }
  }
}

/// Shells for which completion scripts are generated.
enum Shell: String, Sendable, CaseIterable {
  case bash, zsh, fish
}
