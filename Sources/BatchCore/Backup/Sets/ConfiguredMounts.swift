import BatchEngine

/// File systems that the machine is configured to mount, by `/etc/fstab` and the mount units of systemd. One that is not mounted
/// is an empty folder of another disk.
package struct ConfiguredMounts: Sendable {
  /// A mount point, and the file that names it.
  package struct Mount: Sendable, Hashable {
    package let point: PathBytes
    package let file: PathBytes
  }

  private let fstab: PathBytes
  private let mounted: PathBytes
  private let units: [PathBytes]

  /// - Parameters:
  ///   - mounted: the file systems that are mounted now, as in `/proc/self/mountinfo`.
  ///   - units: the directories of units. A unit in an earlier one replaces that of the same name in a later one.
  package init(
    fstab: PathBytes = "/etc/fstab", mounted: PathBytes = "/proc/self/mountinfo",
    units: [PathBytes] = ["/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system"]
  ) {
    self.fstab = fstab
    self.mounted = mounted
    self.units = units
  }

  /// The innermost mount point that is a directory, or one above it, and at which nothing is mounted. Nil also if it is unknown
  /// what is mounted.
  ///
  /// - Parameter directory: an absolute path without dots; it need not exist.
  package func missing(above directory: PathBytes) -> Mount? {
    guard let content = try? KernelFile.read(mounted, limit: 1 << 24) else { return nil }
    let present = Set(
      content.split(separator: UInt8(ascii: "\n")).compactMap { line in
        // Number, parent, device, root, mount point.
        line.split(separator: UInt8(ascii: " ")).dropFirst(4).first.map { Self.plain($0) }
      })
    let places = [directory, Self.resolved(directory)]
    func isAbove(_ mount: Mount) -> Bool {
      mount.point != "/"
        && places.contains { $0 == mount.point || $0.bytes.starts(with: mount.point.appending([]).bytes) }
    }
    return (inTable + inUnits).filter { mount in
      isAbove(mount) && !present.contains(mount.point)
        && (try? mount.point.resolved()).map { !present.contains($0) } ?? true
    }.max { $0.point.bytes.count < $1.point.bytes.count }
  }

  /// The path without links, as far as it exists.
  private static func resolved(_ path: PathBytes) -> PathBytes {
    var (existing, missing) = (path, [ArraySlice<UInt8>]())
    while existing != "/" {
      if let real = try? existing.resolved() {
        return missing.reversed().reduce(real) { $0.appending($1) }
      }
      missing.append(existing.lastComponent)
      existing = existing.parent
    }
    return path
  }

  /// The entries of fstab(5).
  private var inTable: [Mount] {
    let lines = ((try? SmallFile.readNamed(fstab, limit: 1 << 20)) ?? []).split(separator: UInt8(ascii: "\n"))
    return lines.compactMap { line in
      let fields = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
      guard fields.count >= 3, fields[0].first != UInt8(ascii: "#"), !Self.isInMemory(fields[2]) else {
        return nil
      }
      return mount(Self.plain(fields[1]), fstab)
    }
  }

  /// The mount units of systemd.mount(5).
  private var inUnits: [Mount] {
    var mounts = [Mount]()
    var known: Set<PathBytes> = []
    for folder in units {
      let names = ((try? LinuxCalls().names(in: folder)) ?? []).filter {
        $0.bytes.suffix(6).elementsEqual(".mount".utf8)
      }
      for name in names.sorted() where known.insert(name).inserted {
        let file = folder.appending(name.bytes)
        // A unit that is a link to /dev/null is disabled.
        guard
          let lines = (try? SmallFile.readNamed(file, limit: 1 << 20))?.split(separator: UInt8(ascii: "\n"))
        else { continue }
        func value(_ key: String) -> ArraySlice<UInt8>? {
          lines.last { $0.starts(with: key.utf8) }?.dropFirst(key.utf8.count)
        }
        // A specifier such as %i is expanded by systemd alone.
        guard let point = value("Where="), !point.contains(UInt8(ascii: "%")),
          !Self.isInMemory(value("Type=") ?? [])
        else { continue }
        if let mount = mount(PathBytes(point), file) { mounts.append(mount) }
      }
    }
    return mounts
  }

  private static func isInMemory(_ type: ArraySlice<UInt8>) -> Bool {
    ["tmpfs", "ramfs", "swap", "proc", "sysfs"].contains { type.elementsEqual($0.utf8) }
  }

  private func mount(_ point: PathBytes, _ file: PathBytes) -> Mount? {
    var bytes = point.bytes
    while bytes.count > 1, bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
    return point.isAbsolute ? Mount(point: PathBytes(bytes), file: file) : nil
  }

  /// A field without the escapes of blanks and other bytes, such as `\040`.
  private static func plain(_ field: ArraySlice<UInt8>) -> PathBytes {
    var bytes = [UInt8]()
    var rest = field
    while let byte = rest.popFirst() {
      let digits = rest.prefix(3).compactMap {
        (UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) ? Int($0) - 48 : nil
      }
      if byte == UInt8(ascii: "\\"), digits.count == 3,
        let value = UInt8(exactly: digits[0] * 64 + digits[1] * 8 + digits[2])
      {
        bytes.append(value)
        rest = rest.dropFirst(3)
      } else {
        bytes.append(byte)
      }
    }
    return PathBytes(bytes)
  }
}
