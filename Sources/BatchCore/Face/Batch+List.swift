import BatchEngine

extension Batch {
  /// Which members of an archive are listed, and how.
  public struct ListOptions: Sendable {
    public var settings = Settings()
    /// The same as ``ExtractOptions/patterns``.
    public var patterns: [PathBytes] = []
    /// Excludes some of these members; nil excludes none.
    public var filter: PathFilter?
    /// Reads the headers of all members for modes, owners and targets of links, which no index contains. Then most of the archive
    /// is decoded.
    public var readsHeaders = false
    /// Computes the SHA-256 of all contents that no index contains. Then the archive is decoded.
    public var readsDigests = false
    /// Lists the members of the index, if the archive has one; otherwise those that every reader finds.
    public var usesIndex = true

    /// The defaults: all members, from the index if there is one.
    public init() {}
  }

  /// The members of an archive that were listed.
  public struct ListedMembers: Sendable {
    /// The members in the order of the archive, at most ``Settings/mostListed``.
    public internal(set) var members: [Member] = []
    /// Regular files.
    public internal(set) var files = 0
    /// Folders, links, FIFOs and devices.
    public internal(set) var others = 0
    /// Bytes of the contents.
    public internal(set) var bytes: UInt64 = 0
    /// Whether a part of the archive is damaged.
    public internal(set) var isDamaged = false
    /// Whether the list ended before the archive did.
    public internal(set) var isCutShort = false
    /// Patterns that no member matches.
    public internal(set) var unmatched: [PathBytes] = []
    /// Remarks about the archive, in sentences.
    public internal(set) var remarks: [String] = []

    init() {}

    mutating func add(_ member: Member, most: Int) {
      if member.kind == .file { files += 1 } else { others += 1 }
      bytes = bytes.addingReportingOverflow(member.size).partialValue
      if members.count < most { members.append(member) }
    }

    mutating func add(_ findings: ArchiveFindings) {
      isDamaged = findings.isDamaged
      isCutShort = findings.isCutShort
      unmatched = findings.unmatched.map(\.glob)
      remarks = findings.remarks
    }
  }

  /// Lists the members of an archive of the tar family, cpio, zip or 7z.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - archive: the path of the archive.
  ///   - options: which members are listed, and the resources that the call may use.
  ///   - progress: receives states without totals until the call returns.
  ///   - each: receives all members in the order of the archive, one call at a time, on a thread of the run. It may be slow,
  ///     because the run waits for it when too many results are pending; it must not wait for the end of the call.
  /// - Returns: the counts and the first members. Damage is among the failures.
  /// - Throws: the error of opening the archive; `malformed` if the file is not an archive, `unsupported` if it is encrypted,
  ///   `exhausted` if the machine does not allow a run.
  public static func list(
    _ archive: some PathName, _ options: ListOptions = ListOptions(), progress: Progress? = nil,
    each: (@Sendable (Member) -> Void)? = nil
  ) async throws(BatchError) -> Report<ListedMembers> {
    let archive = try archive.pathBytes()
    return try await BatchCall.perform(options.settings, progress: progress, details: ListedMembers()) {
      (library) throws(BatchError) in
      let selection = MemberSelection(globs: options.patterns, filter: options.filter)
      var call = ListCall(
        .archive(ReadArchive(archive == "-" ? "./-" : archive), selection, globs: options.patterns)
      ) { (member, bytes) in Member.append(member, to: &bytes) }
      call.isDetailed = options.readsHeaders
      call.showsDigests = options.readsDigests
      call.usesIndex = options.usesIndex
      let outcome = try library.run(call, [archive]) { rows in
        for member in rows.slices.lazy.compactMap({ Member($0) }) {
          library.note { $0.add(member, most: library.settings.mostListed) }
          each?(member)
        }
      }
      if let findings = outcome.result { library.note { $0.add(findings) } }
    }
  }
}
