import BatchEngine
import CLinux
import Glibc

/// The content of a fixture.
extension TreeFixture {
  /// The content of a file; nil when it cannot be read.
  package func content(_ name: PathBytes) -> [UInt8]? {
    let descriptor = path(name).withCString { open($0, O_RDONLY | O_CLOEXEC) }
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var content: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { return count == 0 ? content : nil }
      content += buffer[..<count]
    }
  }

  /// The content of a file as text; nil when it cannot be read.
  package func text(_ name: PathBytes) -> String? {
    content(name).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The value of an extended attribute as text; nil without one.
  package func attribute(_ attribute: String, of name: PathBytes) -> String? {
    let descriptor = path(name).withCString { open($0, O_RDONLY | O_CLOEXEC) }
    defer { close(descriptor) }
    var value = [UInt8](repeating: 0, count: 256)
    let count = value.withUnsafeMutableBytes {
      clinux_fgetxattr(descriptor, attribute, $0.baseAddress, $0.count)
    }
    return count < 0 ? nil : String(decoding: value[..<count], as: UTF8.self)
  }

  /// Sets an extended attribute.
  package func setAttribute(_ attribute: String, of name: PathBytes, to value: String) throws {
    let descriptor = path(name).withCString { open($0, O_RDONLY | O_CLOEXEC) }
    defer { close(descriptor) }
    guard clinux_fsetxattr(descriptor, attribute, value, value.utf8.count) == 0 else {
      throw BatchError.syscall("set an attribute of", errno: errno, path: path(name))
    }
  }

  package func exists(_ name: PathBytes) -> Bool {
    var raw = stat()
    return path(name).withCString { lstat($0, &raw) } == 0
  }

  /// The names in a folder, including hidden ones, sorted by their bytes.
  package func names(in folder: PathBytes = "") -> [PathBytes] {
    guard let stream = path(folder).withCString({ opendir($0) }) else { return [] }
    defer { closedir(stream) }
    var names: [PathBytes] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { field in
        field.withMemoryRebound(to: UInt8.self, capacity: 256) {
          Array(UnsafeBufferPointer(start: $0, count: 256))
        }
      }
      let bytes = name.prefix { $0 != 0 }
      if bytes != [46], bytes != [46, 46] { names.append(PathBytes(bytes)) }
    }
    return names.sorted()
  }

  /// How many descriptors of this process refer to files below the root.
  package var openDescriptors: Int {
    guard let folder = opendir("/proc/self/fd") else { return -1 }
    defer { closedir(folder) }
    var count = 0
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if Self.target(ofDescriptor: name).starts(with: root.bytes) { count += 1 }
    }
    return count
  }

  private static func target(ofDescriptor name: String) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: 8192)
    var count = 0
    buffer.withUnsafeMutableBytes { raw in
      guard let start = raw.baseAddress?.assumingMemoryBound(to: CChar.self) else { return }
      count = readlink("/proc/self/fd/\(name)", start, raw.count)
    }
    return Array(buffer.prefix(max(0, count)))
  }
}
