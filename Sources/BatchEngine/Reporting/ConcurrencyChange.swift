/// A change of the number of operations during a run.
public struct ConcurrencyChange: Sendable, Hashable {
  /// Why the number was changed.
  public enum Reason: String, Sendable, Hashable, CaseIterable {
    /// Operations wait for a device, and the processors have time left.
    case waiting
    /// Fewer operations keep the processors busy.
    case busy
    /// A trial of fewer operations, because more were not faster.
    case probe
    /// More operations made the run slower.
    case slower
    /// Fewer operations made the run slower.
    case fewerSlower = "fewer_slower"
    case deviceSlower = "device_slower"
    /// Fewer operations are left.
    case ending
    /// The control file asks for it.
    case control
    /// The load of the machine is above the limit, or has fallen below it.
    case load
    /// Memory is short, or no longer short.
    case memory
    /// The process may use more or fewer processors than before.
    case processors
  }

  public let old: Int
  public let new: Int
  public let reason: Reason
  /// The speed of the run in the last window, in files and bytes a second; 0 if not measured.
  public let filesPerSecond: Double
  public let bytesPerSecond: Double

  public init(
    from old: Int, to new: Int, _ reason: Reason, filesPerSecond: Double = 0, bytesPerSecond: Double = 0
  ) {
    self.old = old
    self.new = new
    self.reason = reason
    self.filesPerSecond = filesPerSecond
    self.bytesPerSecond = bytesPerSecond
  }
}
