import BatchEngine
import Dispatch
import Synchronization

/// The limits of a run on this machine, the abilities of the device of a folder, and the resulting defaults.
package struct MachineReport: Sendable {
  package private(set) var capacity = Capacity(limits: [])
  /// The limit that the process inherited.
  package private(set) var descriptors = DescriptorLimit(soft: 0, hard: 0)
  /// How many descriptors files may take after the soft limit is raised; 0 when there are too few.
  package private(set) var descriptorBudget = 0
  package private(set) var load: Double?
  package private(set) var features: [String] = []
  package private(set) var libraries: [(name: String, version: String)] = []
  /// The libraries that are opened at run time.
  package private(set) var openedLibraries: [OpenedLibrary] = []
  package private(set) var device: DeviceFacts?
  /// Why the folder could not be examined.
  package private(set) var deviceError: BatchError?
  package private(set) var saved = SavedDevices()

  /// The bounds for a run that reads files.
  package var bounds: ConcurrencyBounds {
    ConcurrencyBounds(
      capacity, descriptors: descriptorBudget, descriptorsOfLane: DescriptorBudget.tokensToRead,
      memoryOfLane: 0)
  }

  package var savedNumber: Int? { device.flatMap { saved[$0.fileSystemID] } }

  /// Seconds to wait for a file system.
  package static let patience = 5.0

  /// Collects all parts in parallel. Returns when all are known, except those that need a file system which does not respond.
  ///
  /// - Parameters:
  ///   - devices: the file of ``SavedDevices``.
  ///   - patience: seconds to wait for the file systems of `folder` and `devices`, in addition to the time for the rest.
  package static func gather(
    _ folder: PathBytes, devices: PathBytes?, descriptors: DescriptorLimit,
    proc: PathBytes = "/proc", controlGroups: PathBytes = "/sys/fs/cgroup", patience: Double = patience,
    probe: @escaping @Sendable (PathBytes) throws(BatchError) -> DeviceFacts = { folder throws(BatchError) in
      try DeviceFacts(of: folder)
    }
  ) -> MachineReport {
    let report = Mutex(MachineReport())
    /// Begins a part on a queue of its own, which gets its thread at once, also beside one that waits for a file system.
    @Sendable func begin(in group: DispatchGroup, _ part: @escaping @Sendable () -> Void) {
      DispatchQueue(label: "batchproc.probe").async(group: group, execute: part)
    }
    let (savedDevices, device, rest) = (DispatchGroup(), DispatchGroup(), DispatchGroup())
    begin(in: savedDevices) {
      let saved = SavedDevices(readingAt: devices)
      report.withLock { $0.saved = saved }
    }
    begin(in: device) {
      do throws(BatchError) {
        let device = try probe(folder)
        report.withLock { $0.device = device }
      } catch {
        report.withLock { $0.deviceError = error }
      }
    }
    begin(in: rest) {
      let capacity = Capacity.current(proc: proc, controlGroups: controlGroups)
      report.withLock { $0.capacity = capacity }
    }
    begin(in: rest) {
      let budget = (try? DescriptorLimit.raise().free.budget()) ?? 0
      report.withLock {
        $0.descriptors = descriptors
        $0.descriptorBudget = budget
      }
    }
    begin(in: rest) {
      let (load, features) = (LoadAverage.lastMinute(proc: proc), ProcessorFeatures.present(proc: proc))
      report.withLock { ($0.load, $0.features) = (load, features) }
    }
    begin(in: rest) {
      let (versions, opened) = (LibraryVersions.all, OpenedLibrary.all)
      report.withLock { ($0.libraries, $0.openedLibraries) = (versions, opened) }
    }
    rest.wait()
    let limit = DispatchTime.now() + patience
    // A folder that does not respond is reported first; the saved number is less important.
    for (probed, path) in [(device, folder), (savedDevices, devices ?? folder)]
    where probed.wait(timeout: limit) == .timedOut {
      report.withLock {
        if $0.deviceError == nil { $0.deviceError = BatchError(.unreadable, Self.silence, path: path) }
      }
    }
    return report.withLock { $0 }
  }

  /// The message for a file system that does not respond.
  private static let silence = "does not answer"

  /// Whether the folder could not be examined because its file system does not respond.
  package var isSilent: Bool { deviceError?.message == Self.silence }
}

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
      OpenedLibrary("libgf-complete", GaloisLibrary.shared) { _ in ("1", "recovery data are made by it") },
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
