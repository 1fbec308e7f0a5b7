import Glibc

/// The entry that `BATCHPROC_FUZZ` names: one program for all of them is linked once.
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
