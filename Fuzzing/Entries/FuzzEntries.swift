/// What reads bytes from outside, by the name of its corpus. Each takes any bytes, and ends the program where something does not hold.
let fuzzEntries: [(name: String, run: @Sendable (UnsafePointer<UInt8>, Int) -> Void)] = [
  ("SnapshotManifest", fuzzSnapshotManifest),
  ("Companions", fuzzCompanions),
  ("ArchiveIndex", fuzzArchiveIndex),
  ("ArchiveEnds", fuzzArchiveEnds),
  ("TarHeaders", fuzzTarHeaders),
  ("ForeignHeaders", fuzzForeignHeaders),
  ("EncryptedFile", fuzzEncryptedFile),
  ("GzipBlocks", fuzzGzipBlocks),
  ("CompressedStreams", fuzzCompressedStreams),
  ("ManifestForms", fuzzManifestForms),
  ("ShardPlans", fuzzShardPlans),
  ("ArgumentTexts", fuzzArgumentTexts),
  ("CommandLineTexts", fuzzCommandLineTexts),
  ("PathPatterns", fuzzPathPatterns),
  ("CacheRows", fuzzCacheRows),
]
