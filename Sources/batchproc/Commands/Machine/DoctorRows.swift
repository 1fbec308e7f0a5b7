import BatchCore
import BatchEngine

/// The rows that `doctor` prints about a machine.
struct DoctorRows: Sendable {
  struct Row: Sendable {
    /// Its name in JSON.
    let key: String
    let name: String
    let value: String
    var number: Double?
    var note = ""
    var binds = false
  }

  /// Facts under one heading; the type of their events.
  struct Section: Sendable {
    let type: String
    let title: String
    let rows: [Row]
  }

  private let sections: [Section]

  init(_ report: MachineReport) {
    var sections = [
      Section(
        type: "limit", title: "PROCESSORS", rows: Self.limits(report, .processors) { Self.plain($0.exact) }),
      Section(
        type: "limit", title: "MEMORY",
        rows: Self.limits(report, .memory) { ByteCount.text(Int64(clamping: $0.value)) }),
      Section(type: "limit", title: "OPEN FILES", rows: Self.descriptors(report)),
      Section(
        type: "operations", title: "OPERATIONS AT ONCE, WHERE COMPUTING TAKES THE TIME",
        rows: Self.bounds(report.bounds.computing, "computing")),
      Section(
        type: "operations", title: "OPERATIONS AT ONCE, WHERE WAITING FOR DEVICES DOES",
        rows: Self.bounds(report.bounds.waiting, "waiting")),
    ]
    if let device = report.device {
      sections.append(Self.device(device, report))
    } else if report.isSilent {
      let row = Row(key: "file_system", name: "file system", value: "does not answer")
      sections.append(Section(type: "device", title: "DIRECTORY", rows: [row]))
    }
    sections.append(Self.program(report))
    sections.append(Self.defaults(report))
    self.sections = sections
  }

  var text: [UInt8] {
    let all = sections.flatMap(\.rows)
    let (name, value) = (all.map(\.name.count).max() ?? 0, all.map(\.value.count).max() ?? 0)
    var lines: [String] = []
    for section in sections where !section.rows.isEmpty {
      lines.append((lines.isEmpty ? "" : "\n") + section.title)
      for row in section.rows {
        let cells = [
          row.name.padding(to: name), row.value.padding(to: min(value, 28)), row.binds ? "binds" : "     ",
          row.note,
        ]
        lines.append(String(("  " + cells.joined(separator: "  ")).trimmingSpaces))
      }
    }
    return Array((lines.joined(separator: "\n") + "\n").utf8)
  }

  func write(to events: JSONReporter) throws(BatchError) {
    for section in sections {
      for row in section.rows {
        try events.write(section.type) { line in
          line.add("name", row.key)
          switch row.number {
          case let number? where number == number.rounded(): line.add("value", UInt64(number))
          case let number?: line.add("value", number)
          case nil: line.add("value", row.value)
          }
          if !row.note.isEmpty { line.add("source", row.note) }
          line.add("binds", row.binds)
        }
      }
    }
  }

  // MARK: Sections

  // MARK: Text
}
