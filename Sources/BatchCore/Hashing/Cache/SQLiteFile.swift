import BatchEngine
import CSQLite

/// A connection to an SQLite database, for one thread at a time.
final class SQLiteFile {
  struct Failure: Error {
    let code: Int32
    let message: String

    /// Whether the file is not a database, or a damaged one.
    var isDamage: Bool { [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xff) }
  }

  /// How long a call waits for another process, in milliseconds.
  private static let patience: Int32 = 10_000

  private let handle: OpaquePointer

  /// - Parameter path: without symbolic links; SQLite refuses a path that contains one.
  init(_ path: PathBytes) throws(Failure) {
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
    let code = path.withCString { sqlite3_open_v2($0, &opened, flags, nil) }
    guard code == SQLITE_OK, let opened else {
      let message = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
      sqlite3_close(opened)
      throw Failure(code: code, message: message)
    }
    handle = opened
    sqlite3_busy_timeout(handle, Self.patience)
  }

  deinit { sqlite3_close_v2(handle) }

  func execute(_ sql: String) throws(Failure) {
    try check(sqlite3_exec(handle, sql, nil, nil, nil))
  }

  /// The first number that a query returns; nil when it returns nothing.
  func number(_ sql: String) throws(Failure) -> Int64? {
    let statement = try SQLiteStatement(self, sql)
    return try statement.step() ? statement.number(0) : nil
  }

  func hasTable(_ name: String) throws(Failure) -> Bool {
    try number("SELECT 1 FROM sqlite_master WHERE name='\(name)'") == 1
  }

  fileprivate func prepare(_ sql: String) throws(Failure) -> OpaquePointer {
    var statement: OpaquePointer?
    try check(sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
    guard let statement else { throw Failure(code: SQLITE_MISUSE, message: "an empty statement") }
    return statement
  }

  fileprivate func check(_ code: Int32) throws(Failure) {
    guard code != SQLITE_OK else { return }
    throw Failure(code: code, message: String(cString: sqlite3_errmsg(handle)))
  }
}

final class SQLiteStatement {
  private let file: SQLiteFile
  private let handle: OpaquePointer

  init(_ file: SQLiteFile, _ sql: String) throws(SQLiteFile.Failure) {
    self.file = file
    handle = try file.prepare(sql)
  }

  deinit { sqlite3_finalize(handle) }

  func bind(_ number: Int64, at index: Int32) { sqlite3_bind_int64(handle, index, number) }

  /// Runs the statement with a value that must stay valid during the call, then resets it.
  func run(_ bytes: [UInt8], at index: Int32) throws(SQLiteFile.Failure) {
    let code = bytes.withUnsafeBytes { buffer in
      sqlite3_bind_blob(handle, index, buffer.baseAddress, Int32(clamping: buffer.count), nil)
      return sqlite3_step(handle)
    }
    sqlite3_reset(handle)
    if code != SQLITE_DONE { try file.check(code) }
  }

  /// - Returns: whether there is a row.
  func step() throws(SQLiteFile.Failure) -> Bool {
    let code = sqlite3_step(handle)
    if code == SQLITE_ROW { return true }
    if code != SQLITE_DONE { try file.check(code) }
    return false
  }

  func reset() { sqlite3_reset(handle) }

  func number(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

  func withBlob<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    body(
      UnsafeRawBufferPointer(
        start: sqlite3_column_blob(handle, column), count: Int(sqlite3_column_bytes(handle, column))))
  }
}
