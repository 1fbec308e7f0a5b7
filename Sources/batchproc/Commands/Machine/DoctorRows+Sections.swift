import BatchCore
import BatchEngine

/// The sections of the report.
extension DoctorRows {
  static func limits(
    _ report: MachineReport, _ resource: CapacityLimit.Resource, _ text: (CapacityLimit) -> String
  ) -> [Row] {
    let limits = report.capacity.limits.filter { $0.resource == resource }
    let binding = limits.min { $0.exact < $1.exact }
    return limits.map { limit in
      Row(
        key: key(limit.name), name: limit.name, value: text(limit), number: limit.exact, note: limit.source,
        binds: limit == binding)
    }
  }

  static func descriptors(_ report: MachineReport) -> [Row] {
    let limit = report.descriptors
    return [
      number(
        "open_files_soft", name: "soft limit", value: limit.soft,
        note: "RLIMIT_NOFILE, raised to the hard one at the start"),
      number("open_files_hard", name: "hard limit", value: limit.hard, note: "RLIMIT_NOFILE", binds: true),
      number(
        "open_files_reserve", name: "reserve", value: DescriptorLimit.reserve,
        note: "streams, queues, outputs"),
      number(
        "open_files_budget", name: "for files", value: UInt64(clamping: report.descriptorBudget),
        note: report.descriptorBudget == 0
          ? "too few: no run is possible" : "half of the limit, without the reserve"),
    ]
  }

  static func bounds(_ bounds: [ConcurrencyBounds.Bound], _ kind: String) -> [Row] {
    let binding = ConcurrencyBounds.binding(bounds)
    return bounds.map { bound in
      number(
        "\(kind)_\(key(bound.name))", name: bound.name, value: UInt64(clamping: bound.operations),
        note: bound.source,
        binds: bound == binding)
    }
  }

  static func device(_ device: DeviceFacts, _ report: MachineReport) -> Section {
    func ability(_ key: String, _ name: String, _ ability: DeviceFacts.Ability) -> Row {
      Row(
        key: key, name: name, value: ability.rawValue,
        note: ability == .untried ? "the directory cannot be written" : "")
    }
    return Section(
      type: "device", title: "DIRECTORY",
      rows: [
        Row(key: "device", name: "device", value: device.kind.text),
        Row(
          key: "file_system", name: "file system", value: device.fileSystem, note: "id \(device.fileSystemID)"
        ),
        ability("unnamed_files", "unnamed files (O_TMPFILE)", device.canMakeUnnamedFiles),
        ability("xattrs", "extended attributes", device.canKeepAttributes),
        ability("acls", "access control lists", device.canKeepAccessLists),
        ability("reflink", "shared blocks (reflink)", device.canCloneContent),
        ability("openat2", "openat2", device.canOpenBeneath),
      ])
  }

  static func program(_ report: MachineReport) -> Section {
    Section(
      type: "program", title: "PROGRAM",
      rows: [
        Row(
          key: "processor_features", name: "processor features",
          value: report.features.isEmpty ? "none known" : report.features.joined(separator: " "))
      ]
        + report.libraries.map { Row(key: $0.name, name: $0.name, value: $0.version) }
        + report.openedLibraries.map {
          Row(key: $0.name, name: $0.name, value: $0.version ?? "not used", note: $0.note)
        })
  }

  static func defaults(_ report: MachineReport) -> Section {
    let bounds = report.bounds
    var rows = [
      number(
        "concurrency_start", name: "-j auto begins with",
        value: UInt64(clamping: report.savedNumber ?? bounds.start),
        note: report.savedNumber == nil
          ? "operations where computing takes the time" : "saved for this device by tune"),
      number(
        "concurrency_most", name: "-j auto ends at most with", value: UInt64(clamping: bounds.most),
        note: "operations where waiting for devices does"),
      number(
        "max_open_files", name: "--max-open-files", value: UInt64(clamping: report.descriptorBudget), note: ""
      ),
      Row(key: "stride", name: "--stride", value: "auto", note: "32 files, later 256, or 4 MiB"),
    ]
    if let memory = report.capacity.memory {
      rows.append(
        Row(
          key: "max_memory", name: "--max-memory", value: ByteCount.text(Int64(clamping: memory / 4)),
          number: Double(memory / 4), note: "a quarter of the memory"))
    }
    if let load = report.load {
      rows.append(
        Row(key: "load", name: "load now", value: plain(load), number: load, note: "for --max-load"))
    }
    return Section(type: "default", title: "DEFAULTS", rows: rows)
  }

  static func number(
    _ key: String, name: String, value: UInt64, note: String, binds: Bool = false
  ) -> Row {
    Row(
      key: key, name: name, value: ByteCount.grouped(Int(clamping: value)), number: Double(value), note: note,
      binds: binds)
  }

  /// `CPU affinity` as `cpu_affinity`.
  static func key(_ name: String) -> String { name.lowercased().replacing(" ", with: "_") }

  /// Up to two decimals, without trailing zeros.
  static func plain(_ number: Double) -> String {
    let hundredths = (number * 100).rounded()
    guard hundredths.isFinite, abs(hundredths) < 1e15 else { return "\(number)" }
    let (whole, rest) = Int(hundredths).quotientAndRemainder(dividingBy: 100)
    if rest == 0 { return String(whole) }
    return rest % 10 == 0 ? "\(whole).\(rest / 10)" : "\(whole).\(rest < 10 ? "0" : "")\(rest)"
  }
}

extension DeviceFacts.Kind {
  var text: String {
    switch self {
    case .rotational: "disk (rotational)"
    case .solidState: "solid state"
    case .block: "block device"
    case .memory: "memory (tmpfs)"
    case .network: "network or FUSE"
    case .overlay: "overlay"
    case .virtual: "virtual"
    case .unknown: "unknown"
    }
  }
}
