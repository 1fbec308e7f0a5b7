import BatchEngine

/// Receives the frames and members of an archive instead of its file, if they become a part of a larger archive.
package protocol ArchiveParts: Sendable {
  /// Adds the next frame and the members that begin in it.
  ///
  /// - Parameter number: the number of the frame, from 0.
  func add(_ frame: ArchiveFrame, number: UInt32, _ members: [ArchivedMember]) throws(BatchError)

  /// Adds a member whose frames were added before.
  ///
  /// - Parameter frame: the number of its first frame.
  func add(_ member: ArchivedMember, frame: UInt32) throws(BatchError)

  /// Records that a file with several names is not in the archive under its first name.
  func add(missing file: FileIdentity) throws(BatchError)
}
