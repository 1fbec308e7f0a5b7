import BatchEngine
import Synchronization
import func Glibc.time
import var Glibc.EEXIST

/// Digests of files by their inodes, in a database that several runs may use at the same time.
///
/// A digest holds while size, times of modification and of status are the same. It is stored only for a file that is
/// settled (``ChangeSettling``) when it is read: another one could change once more with the same times.
package final class DigestCache: Sendable {
  /// Grows when tables or values change their form.
  private static let version: Int64 = 1
  /// Entries that are written together.
  private static let batchSize = 8192

  private struct Entry: Sendable {
    let table: String
    let inode: UInt64
    let value: [UInt8]
  }

  private enum Rows {
    case loading
    /// Nil where there are too many.
    case loaded(CachedRows?)
  }

  private struct State {
    var entries: [Entry] = []
    var fileSystems: [UInt64: String] = [:]
    /// By the names of their tables.
    var rows: [String: Rows] = [:]
    var failure: String?
    var isDamaged = false
  }

  let path: PathBytes
  let settling: ChangeSettling
  /// The share of known files that are read all the same, from 0 to 1.
  package let verifiedShare: Double
  private let calls: any FileSystemCalls
  private let seed = UInt64.random(in: 0...UInt64.max)
  private let state = Mutex(State())
  private let rotten = Atomic<Int>(0)
  private let known = Atomic<Int>(0)

  /// - Parameters:
  ///   - folder: of caches, with an absolute path; the database lies in `batchproc` below it, and only its owner may
  ///     read it.
  ///   - trust: what says whose folders and files are used; nil for the rule of this process.
  ///   - now: the clock by which file systems note times.
  ///   - warn: called with a warning when a database is rebuilt.
  /// - Throws: the error of making the folder or the database; `.unreadable` or `.malformed` for a folder or file that
  ///   somebody else can change, or that is a link.
  package init(
    in folder: PathBytes, verifiedShare: Double, calls: any FileSystemCalls, trust: TrustedFile? = nil,
    now: @escaping @Sendable () -> FileStatus.Time = {
      FileStatus.Time(seconds: Int64(time(nil)), nanoseconds: 0)
    },
    warn: (BatchError) -> Void
  ) throws(BatchError) {
    self.calls = calls
    settling = ChangeSettling(calls: calls, now: now)
    self.verifiedShare = verifiedShare
    path = try Self.place(in: folder, trust ?? TrustedFile(calls: calls))
    do throws(SQLiteFile.Failure) {
      try Self.prepare(path)
    } catch {
      guard error.isDamage || error.code == 0 else { throw Self.error(error, path) }
      warn(
        BatchError(
          .malformed,
          error.code == 0
            ? "the cache is of another version, and is made anew" : "the cache is damaged, and is made anew",
          path: path))
      remove()
      do throws(SQLiteFile.Failure) {
        try Self.prepare(path)
      } catch {
        throw Self.error(error, path)
      }
    }
  }

  /// The path of the database, whose folder is made where it is missing.
  ///
  /// The library opens the database, and the files that it has beside it, by their paths. That is safe here: the path
  /// has no links in it, every folder on the way belongs to root or the user, and no other user can write there, and so
  /// cannot put a link in the way between this look and the opening.
  private static func place(in folder: PathBytes, _ trust: TrustedFile) throws(BatchError) -> PathBytes {
    let caches = try made(folder.lastComponent, in: folder.parent, trust)
    let own = try made("batchproc".utf8, in: caches, trust)
    guard own == caches.appending("batchproc".utf8) else {
      throw BatchError(
        .malformed, "is a symbolic link, and not a directory", path: caches.appending("batchproc".utf8))
    }
    let path = own.appending("digests.sqlite".utf8)
    for file in files(of: path) { try trust.checkFile(file) }
    // Other users must not see which files exist.
    do throws(BatchError) {
      _ = try trust.calls.openToChange(path)
    } catch {
      throw .syscall("open the cache", errno: error.errno, path: path)
    }
    return path
  }

  /// The path of a folder without links, made where it is missing.
  private static func made(
    _ name: some Collection<UInt8>, in parent: PathBytes, _ trust: TrustedFile
  ) throws(BatchError) -> PathBytes {
    let path = try trust.folder(parent, isOnTheWay: true).appending(name)
    let failed = -trust.calls.makeFolder(path, permissions: 0o700)
    guard failed == 0 || failed == EEXIST else {
      throw .syscall("make the folder of the cache", errno: failed, path: path)
    }
    return try trust.folder(path)
  }

  /// The database, and what the library has beside it.
  private static func files(of path: PathBytes) -> [PathBytes] {
    ["", "-wal", "-shm", "-journal"].map { PathBytes(path.bytes + Array($0.utf8)) }
  }

  private static func prepare(_ path: PathBytes) throws(SQLiteFile.Failure) {
    let file = try SQLiteFile(path)
    let found = try file.number("PRAGMA user_version") ?? 0
    let tables = try file.number("SELECT count(*) FROM sqlite_master") ?? 0
    guard found == version || (found == 0 && tables == 0) else {
      throw SQLiteFile.Failure(code: 0, message: "")
    }
    // Nothing is written where all is as it has to be.
    guard found != version else { return }
    try file.execute("PRAGMA journal_mode=WAL; PRAGMA user_version=\(version)")
  }

  private static func error(_ failure: SQLiteFile.Failure, _ path: PathBytes) -> BatchError {
    BatchError(.unwritable, "cannot use the cache: \(failure.message)", path: path)
  }

  private func remove() {
    for file in Self.files(of: path) { _ = calls.remove(file) }
  }

  // MARK: Calls of the lanes

  /// Files whose digest was taken from the cache.
  package var knownCount: Int { known.load(ordering: .relaxed) }
  /// Files whose bytes are others while size and times are not.
  package var rottenCount: Int { rotten.load(ordering: .relaxed) }

  func countKnown() { known.add(1, ordering: .relaxed) }
  func countRotten() { rotten.add(1, ordering: .relaxed) }

  /// The word for the file system of a file in the names of tables; nil where it is unknown.
  func fileSystem(of record: FileRecord) -> String? {
    let device = record.status.identity.device
    if let known = state.withLock({ $0.fileSystems[device] }) { return known }
    guard let identity = try? record.path.fileSystemID() else { return nil }
    let name = identity == 0 ? "d\(device)" : "f" + String(identity, radix: 16)
    state.withLock { $0.fileSystems[device] = name }
    return name
  }

  static func table(of algorithm: DigestAlgorithm, on fileSystem: String) -> String {
    "\(fileSystem)_\(algorithm.tableName)"
  }

  /// All rows of a table; nil while another lane reads them, and where there are too many.
  func rows(of table: String, _ algorithm: DigestAlgorithm) throws(SQLiteFile.Failure) -> CachedRows? {
    let known = state.withLock { state in
      let known = state.rows[table]
      if known == nil { state.rows[table] = .loading }
      return known
    }
    switch known {
    case .loaded(let rows): return rows
    case .loading: return nil
    case nil: break
    }
    let rows = try load(table, algorithm)
    state.withLock { $0.rows[table] = .loaded(rows) }
    return rows
  }

  private func load(_ table: String, _ algorithm: DigestAlgorithm) throws(SQLiteFile.Failure) -> CachedRows? {
    let file = try SQLiteFile(path)
    try file.execute("PRAGMA query_only=1; BEGIN")
    let statement = try SQLiteStatement(file, "SELECT inode, value FROM \(table) ORDER BY inode")
    return try CachedRows(algorithm) { (take) throws(SQLiteFile.Failure) in
      guard try statement.step() else { return false }
      let inode = statement.number(0)
      statement.withBlob(1) { take(inode, $0) }
      return true
    }
  }

  /// Whether a file that is known is to be read all the same.
  func isSampled(_ inode: UInt64) -> Bool {
    guard verifiedShare > 0 else { return false }
    var mixed = (inode ^ seed) &* 0x9e37_79b9_7f4a_7c15
    mixed = (mixed ^ (mixed >> 32)) &* 0xbf58_476d_1ce4_e5b9
    return Double(mixed >> 11) / Double(UInt64(1) << 53) < verifiedShare
  }

  /// Notes the digest of a settled file.
  ///
  /// - Parameter status: of the file when it had been read.
  func add(_ table: String, _ status: FileStatus, _ digest: Digest) {
    let entry = Entry(
      table: table, inode: status.identity.inode, value: CachedDigest(status, digest).bytes)
    let full = state.withLock { state -> [Entry]? in
      state.entries.append(entry)
      guard state.entries.count >= Self.batchSize else { return nil }
      defer { state.entries = [] }
      return state.entries
    }
    if let full { write(full) }
  }

  func damaged(_ failure: SQLiteFile.Failure) {
    state.withLock {
      $0.failure = failure.message
      if failure.isDamage { $0.isDamaged = true }
    }
  }

  /// Writes what is left.
  ///
  /// - Returns: why the cache could not be used all the time; what is damaged is removed.
  package func finish() -> BatchError? {
    write(
      state.withLock { state in
        defer { state.entries = [] }
        return state.entries
      })
    let (failure, isDamaged) = state.withLock { ($0.failure, $0.isDamaged) }
    if isDamaged { remove() }
    return failure.map {
      BatchError(.malformed, "the cache could not be used for all files: \($0)", path: path)
    }
  }

  private func write(_ entries: [Entry]) {
    guard !entries.isEmpty else { return }
    do throws(SQLiteFile.Failure) {
      let file = try SQLiteFile(path)
      try file.execute("PRAGMA synchronous=NORMAL; BEGIN IMMEDIATE")
      var statements: [String: SQLiteStatement] = [:]
      for entry in entries {
        let statement: SQLiteStatement
        if let made = statements[entry.table] {
          statement = made
        } else {
          try file.execute(
            "CREATE TABLE IF NOT EXISTS \(entry.table) (inode INTEGER PRIMARY KEY, value BLOB NOT NULL)")
          statement = try SQLiteStatement(file, "INSERT OR REPLACE INTO \(entry.table) VALUES (?1, ?2)")
          statements[entry.table] = statement
        }
        statement.bind(Int64(bitPattern: entry.inode), at: 1)
        try statement.run(entry.value, at: 2)
      }
      statements.removeAll()
      try file.execute("COMMIT")
    } catch {
      damaged(error)
    }
  }
}

extension DigestAlgorithm {
  fileprivate var tableName: String { rawValue.replacing("-", with: "_") }
}
