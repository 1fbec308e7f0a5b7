/// One limit that was found on this machine: how much it allows, and where that is written.
package struct CapacityLimit: Sendable, Hashable {
  /// What is limited, and so the unit of the value.
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
  /// The same as a fraction, where the limit is one: half a processor counts as one in ``value``.
  package let exact: Double
  /// The call or the file that it comes from.
  package let source: String

  package init(_ resource: Resource, name: String, value: UInt64, exact: Double? = nil, source: String) {
    self.exact = exact ?? Double(value)
    self.resource = resource
    self.name = name
    self.value = value
    self.source = source
  }
}
