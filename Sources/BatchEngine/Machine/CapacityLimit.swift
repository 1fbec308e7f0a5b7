/// One limit that was found on this machine: how much it allows, and where it was read.
package struct CapacityLimit: Sendable, Hashable {
  /// The limited resource, which also determines the unit of the value.
  package enum Resource: String, Sendable, Hashable, CaseIterable {
    /// Whole processors.
    case processors
    /// Bytes.
    case memory
    /// Open file descriptors.
    case descriptors
  }

  package let resource: Resource
  /// What sets the limit, for people: "CPU affinity", "cgroup CPU quota".
  package let name: String
  /// How much is allowed, in the unit of the resource.
  package let value: UInt64
  /// The value before rounding: half a processor is 1 in ``value`` and 0.5 here.
  package let exact: Double
  /// The system call or the file that reported it.
  package let source: String

  package init(_ resource: Resource, name: String, value: UInt64, exact: Double? = nil, source: String) {
    self.exact = exact ?? Double(value)
    self.resource = resource
    self.name = name
    self.value = value
    self.source = source
  }
}
