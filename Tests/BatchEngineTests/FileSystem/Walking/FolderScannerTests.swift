import Glibc
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct FolderScannerTests {
  private let fixture: TreeFixture
  private let calls = FaultyCalls()

  init() throws { fixture = try TreeFixture() }

  private func scanner(_ change: (inout WalkOptions) -> Void = { _ in }) -> FolderScanner {
    var options = WalkOptions()
    change(&options)
    return FolderScanner(calls: calls, options: options, descriptors: DescriptorBudget(capacity: 2))
  }

  private func scan(_ change: (inout WalkOptions) -> Void = { _ in }) -> ScannedFolder {
    scanner(change).scan(DirectoryPath(operand: fixture.root))
  }

  /// The path of a folder below the root, as a walk makes it.
  private func subdirectory(_ name: String, inode: UInt64? = nil) -> DirectoryPath {
    var raw = stat()
    _ = fixture.path(PathBytes(name)).withCString { lstat($0, &raw) }
    let entry = DirectoryEntry(nameOffset: 0, kind: .directory, inode: inode ?? UInt64(raw.st_ino))
    return DirectoryPath(operand: fixture.root).subdirectory(
      of: entry, names: NameArena(name: name.utf8), device: UInt64(raw.st_dev))
  }

  /// The items found, as "name size" for files and "event name" for problems.
  private static func texts(_ items: [Walked]) -> [String] {
    items.map { item in
      switch item {
      case .item(.file(let record)): "\(PathBytes(record.path.lastComponent)) \(record.status.size)"
      case .problem(let problem):
        "\(problem.event) \(PathBytes((problem.error.path ?? "").lastComponent)) \(problem.error.errno)"
      case .item(.standardInput): "-"
      }
    }
  }

  private static func names(_ folder: ScannedFolder) -> [String] {
    folder.subdirectories.map { entry in
      folder.names.withName(at: entry.nameOffset) { String(decoding: $0, as: UTF8.self) }
    }
  }

  /// Makes one entry of each kind.
  private func makeKinds() throws {
    try fixture.file("a-file", "text")
    try fixture.folder("b-folder")
    try fixture.fifo("c-fifo")
    try fixture.symbolicLink("d-to-file", to: "a-file")
    try fixture.symbolicLink("e-to-folder", to: "b-folder")
    try fixture.symbolicLink("f-dangling", to: "nowhere")
    try fixture.symbolicLink("g-loop", to: "g-loop")
    try fixture.socket("h-socket")
    try fixture.symbolicLink("i-to-fifo", to: "c-fifo")
  }

  @Test(arguments: [false, true]) func findsFilesAndFoldersAndNothingElse(hidesKinds: Bool) throws {
    try makeKinds()
    if hidesKinds { calls.on(.readEntries, nil, .withoutKinds) }
    let folder = scan()
    #expect(
      Self.texts(folder.items) == [
        "a-file 4", "special c-fifo 0", "special d-to-file 0", "special e-to-folder 0",
        "special f-dangling 0",
        "special g-loop 0", "special h-socket 0", "special i-to-fifo 0",
      ])
    #expect(Self.names(folder) == ["b-folder"])
    #expect(fixture.openDescriptors == 0)
  }

  @Test func followsLinksWhenAsked() throws {
    try makeKinds()
    let folder = scan { $0.followsLinks = true }
    #expect(
      Self.texts(folder.items) == [
        "a-file 4", "special c-fifo 0", "d-to-file 4", "special f-dangling 0", "special g-loop 0",
        "special h-socket 0", "special i-to-fifo 0",
      ])
    #expect(Self.names(folder) == ["b-folder", "e-to-folder"])
  }

  @Test(
    arguments: [
      (nil, nil, [0, 9, 10, 11]), (10, nil, [10, 11]), (nil, 10, [0, 9, 10]), (10, 10, [10]), (1, 8, []),
    ] as [(Int64?, Int64?, [Int])])
  func leavesOutFilesByTheirSize(minimum: Int64?, maximum: Int64?, sizes: [Int]) throws {
    for size in [0, 9, 10, 11] { try fixture.file(PathBytes("f\(size)"), size: size) }
    let folder = scan {
      $0.minimumSize = minimum
      $0.maximumSize = maximum
    }
    #expect(Set(Self.texts(folder.items)) == Set(sizes.map { "f\($0) \($0)" }))
  }

  private static func time(_ seconds: Int64, _ nanoseconds: Int32 = 0) -> FileStatus.Time {
    FileStatus.Time(seconds: seconds, nanoseconds: nanoseconds)
  }

  @Test(
    arguments: [
      (AgeRange(), [1, 2, 3]), (AgeRange(before: time(2000)), [1]),
      (AgeRange(before: time(2000, 1)), [1, 2]),
      (AgeRange(after: time(2000)), [3]), (AgeRange(after: time(1999, 999_999_999)), [2, 3]),
      (AgeRange(before: time(2500), after: time(1500)), [2]), (AgeRange(before: time(-1)), []),
    ] as [(AgeRange, [Int])])
  func leavesOutFilesByTheirTime(age: AgeRange, taken: [Int]) throws {
    for number in 1...3 {
      let name = PathBytes("f\(number)")
      try fixture.file(name, size: 1)
      let times = [timespec](repeating: timespec(tv_sec: number * 1000, tv_nsec: 0), count: 2)
      let path = "\(fixture.root)/f\(number)"
      #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
    }
    #expect(Set(Self.texts(scan { $0.age = age }.items)) == Set(taken.map { "f\($0) 1" }))
  }

  @Test func aRangeOfTimesMayBeEmpty() {
    #expect(AgeRange(before: Self.time(5), after: Self.time(5)).isEmpty)
    #expect(AgeRange(before: Self.time(5), after: Self.time(5, 1)).isEmpty)
    #expect(!AgeRange(before: Self.time(5, 1), after: Self.time(5)).isEmpty)
    #expect(!AgeRange(before: Self.time(5)).isEmpty && !AgeRange().isEmpty)
  }

  // MARK: Faults

  @Test func namesAFileThatVanishedBeforeItsStatusWasRead() throws {
    try fixture.file("gone", "")
    try fixture.file("refused", "")
    try fixture.file("there", "")
    calls.on(.entry, "gone", .fail(ENOENT))
    calls.on(.entry, "refused", .fail(EACCES))
    #expect(Self.texts(scan().items) == ["vanished gone 2", "unreadable refused 13", "there 0"])
  }

  @Test func keepsTheEntriesBeforeAnError() throws {
    try fixture.emptyFiles((0..<300).map { "file\($0)" })
    calls.on(.readEntries, nil, .short(1024))
    calls.on(.readEntries, nil, turns: 3...3, .fail(EIO))
    let items = Self.texts(scan().items)
    #expect(items.last == "unreadable \(PathBytes(fixture.root.lastComponent)) \(EIO)")
    #expect((2...300).contains(items.count))
  }

  @Test(arguments: [EMFILE, EACCES, EIO, ENOMEM]) func namesAFolderThatCannotBeOpened(number: Int32) throws {
    try fixture.folder("folder")
    calls.on(.open, "folder", .fail(number))
    let folder = scanner().scan(subdirectory("folder"))
    #expect(Self.texts(folder.items) == ["unreadable folder \(number)"])
    #expect(fixture.openDescriptors == 0)
  }

  @Test(arguments: [ENOENT, ENOTDIR]) func reportsThatAFolderVanished(number: Int32) throws {
    try fixture.folder("folder")
    calls.on(.open, "folder", .fail(number))
    #expect(Self.texts(scanner().scan(subdirectory("folder")).items) == ["vanished folder \(number)"])
  }

  @Test func reportsThatAFolderVanishedWhileItWasListed() throws {
    try fixture.folder("folder")
    // The kernel's error for an open folder that was removed.
    calls.on(.readEntries, "folder", .fail(ENOENT))
    #expect(Self.texts(scanner().scan(subdirectory("folder")).items) == ["vanished folder \(ENOENT)"])
  }

  @Test func reportsThatAnOperandIsMissing() throws {
    let folder = scanner().scan(DirectoryPath(operand: fixture.path("none")))
    #expect(Self.texts(folder.items) == ["missing none \(ENOENT)"])
  }

  @Test func namesAFolderWhoseStatusCannotBeRead() throws {
    try fixture.folder("folder")
    calls.on(.status, "folder", .fail(EIO))
    #expect(Self.texts(scanner().scan(subdirectory("folder")).items) == ["unreadable folder \(EIO)"])
    #expect(fixture.openDescriptors == 0)
  }

  // MARK: The folder that was listed

  @Test func acceptsAnotherInodeWhenNoLinkIsOnTheWay() throws {
    // A mount point looks like this: the folder above lists the inode that the mount covers.
    try fixture.file("mounted/file", "text")
    let folder = scanner().scan(subdirectory("mounted", inode: 1))
    #expect(Self.texts(folder.items) == ["file 4"])
    #expect(folder.directory.identity?.inode != 1)
  }

  @Test func refusesALinkThatTookAFoldersPlace() throws {
    let outside = try TreeFixture()
    try outside.file("secret", "text")
    try fixture.folder("folder")
    let listed = subdirectory("folder")
    try fixture.remove("folder")
    try fixture.symbolicLink("folder", to: outside.root)
    #expect(Self.texts(scanner().scan(listed).items) == ["vanished folder \(ENOTDIR)"])
  }

  @Test func refusesALinkThatTookThePlaceOfAFolderAbove() throws {
    let outside = try TreeFixture()
    try outside.file("below/secret", "text")
    try fixture.folder("above/below")
    let names = NameArena(name: "below".utf8)
    let above = subdirectory("above")
    let listed = above.subdirectory(
      of: DirectoryEntry(nameOffset: 0, kind: .directory, inode: 99), names: names,
      device: above.identity?.device ?? 0)
    try fixture.removeTree("above")
    try fixture.symbolicLink("above", to: outside.root)
    #expect(Self.texts(scanner().scan(listed).items) == ["vanished below \(ENOTDIR)"])
    #expect(outside.openDescriptors == 0)
  }

  // MARK: Blocks

  @Test(arguments: [FolderScanner.blockSize - 1, FolderScanner.blockSize, FolderScanner.blockSize + 1])
  func findsTheFirstBlockOfFiles(count: Int) throws {
    try fixture.emptyFiles((0..<count).map { "f\($0)" })
    try fixture.folder("a-folder")
    let folder = scan()
    #expect(folder.items.count == min(count, FolderScanner.blockSize))
    #expect(folder.rest.count == max(0, count - FolderScanner.blockSize))
    #expect(Self.names(folder) == ["a-folder"])
    let later = scanner().block(folder.rest, of: folder)
    #expect(folder.items.count + later.items.count == count && later.filteredCount == 0)
  }

  @Test func namesAFolderThatIsGoneWhenItsNextBlockIsDue() throws {
    let count = FolderScanner.blockSize + 3
    try fixture.emptyFiles((0..<count).map { "f\($0)" }, in: "folder")
    let scanner = scanner()
    let folder = scanner.scan(subdirectory("folder"))
    try fixture.removeTree("folder")
    let block = scanner.block(folder.rest, of: folder)
    #expect(Self.texts(block.items) == ["vanished folder \(ENOENT)"])
    #expect(block.filteredCount == 0, "no option leaves the files out")
  }
}
