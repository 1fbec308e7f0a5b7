import BatchEngine

/// Takes the frames and members of an archive in the place of its file, where they become a part of a larger archive.
package protocol ArchiveParts: Sendable {
  /// Takes the next frame and the members that begin in it.
  ///
  /// - Parameter number: of the frame, from 0.
  func add(_ frame: ArchiveFrame, number: UInt32, _ members: [ArchivedMember]) throws(BatchError)

  /// Takes a member whose frames came before.
  ///
  /// - Parameter frame: the number of its first one.
  func add(_ member: ArchivedMember, frame: UInt32) throws(BatchError)

  /// Notes that a file with several names is not in the archive under its first one.
  func add(missing file: FileIdentity) throws(BatchError)
}
