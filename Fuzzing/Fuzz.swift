import Glibc

/// The entry that `BATCHPROC_FUZZ` names. All entries are in one program, so that it is linked only once.
private let entry: @Sendable (UnsafePointer<UInt8>, Int) -> Void = {
  let name = getenv("BATCHPROC_FUZZ").map { String(cString: $0) } ?? ""
  guard let entry = fuzzEntries.first(where: { $0.name == name }) else {
    fatalError("BATCHPROC_FUZZ has to be one of \(fuzzEntries.map(\.name).joined(separator: " "))")
  }
  return entry.run
}()

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  entry(start, count)
  return 0
}
