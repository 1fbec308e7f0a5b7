import BatchEngine

/// The report of `doctor` about a library that is opened at run time.
package struct OpenedLibrary: Sendable {
  package let name: String
  /// The version; nil if it is not used.
  package let version: String?
  /// What it is used for, or why it is not used.
  package let note: String

  /// Opens and tests each library.
  package static var all: [OpenedLibrary] {
    [
      OpenedLibrary("libIPSec_MB", MultiBufferDigests.shared) {
        ($0.version, "SHA-256 of \($0.method.width) short files at once")
      },
      OpenedLibrary("ISA-L", InflateLibrary.shared) { _ in ("2", "large .gz files are read by it") },
    ]
  }

  init<Tool>(
    _ name: String, _ library: OptionalLibrary<Tool>, _ describe: (Tool) -> (version: String, use: String)
  ) {
    self.name = name
    switch library.result() {
    case .success(let tool): (version, note) = describe(tool)
    case .failure(let error): (version, note) = (nil, error.message)
    }
  }
}
