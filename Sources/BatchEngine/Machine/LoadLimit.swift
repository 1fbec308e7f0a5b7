/// The load of the machine above which a run is held back.
package enum LoadLimit: Sendable, Hashable {
  /// The load average of the last minute: threads of the whole machine that wait for a processor or for a device.
  case average(Double)
  /// The percentage of the last 10 s in which at least one thread of the machine waited for a processor.
  case pressure(Double)

  /// The load above which no operation begins.
  package var value: Double {
    switch self {
    case .average(let value), .pressure(let value): value
    }
  }

  /// The current load; nil when the kernel does not provide it.
  ///
  /// - Parameter proc: where proc(5) is mounted.
  package func load(proc: PathBytes = "/proc") -> Double? {
    switch self {
    case .average: LoadAverage.lastMinute(proc: proc)
    case .pressure: LoadAverage.processorPressure(proc: proc)
    }
  }
}
