import BatchEngine

extension ConcurrencyChange {
  /// `concurrency 2 -> 8: more operations were faster (1,234 files/s, 12.3 MiB/s)`
  var text: String {
    var speed = ""
    if filesPerSecond > 0 || bytesPerSecond > 0 {
      let files = ByteCount.grouped(Int(min(filesPerSecond, 1e15)))
      speed = " (\(files) files/s, \(ByteCount.text(Int64(min(bytesPerSecond, 1e18))))/s)"
    }
    if new == 0 { return "paused, \(reason.text)" }
    if old == 0 { return "resumed at concurrency \(new), \(reason.text)" }
    return "concurrency \(old) -> \(new): \(reason.text)\(speed)"
  }
}

extension ConcurrencyChange.Reason {
  var text: String {
    switch self {
    case .waiting: "operations wait for the device"
    case .busy: "the processors are busy"
    case .probe: "measuring whether fewer are better"
    case .slower: "more operations were slower"
    case .fewerSlower: "fewer operations were slower"
    case .deviceSlower: "the device became slower"
    case .ending: "fewer operations are left"
    case .control: "the control file says so"
    case .load: "because of the load of the machine"
    case .memory: "because of the memory that is left"
    case .processors: "the number of processors has changed"
    }
  }
}

extension ConcurrencyLimit {
  /// Why the run is paused; nil if it is not.
  var pause: String? {
    suspender.map { suspender in
      let reason: ConcurrencyChange.Reason =
        switch suspender {
        case .caller: .control
        case .load: .load
        }
      return reason.text
    }
  }

  /// `7 of 8 operations at once`, and the reason for that number.
  var text: String {
    if let pause { return "paused, \(pause)" }
    return "\(runningCount) of \(current) operations at once" + (isFixed ? ", fixed" : "")
  }
}
