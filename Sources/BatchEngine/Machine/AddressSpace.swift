import Glibc

/// How much address space is left under a limit (`ulimit -v`).
///
/// A failed allocation traps and ends a Swift program, so the limit is checked before a run begins.
package enum AddressSpace {
  package static var isLimited: Bool {
    processLimit(RLIMIT_AS).map { $0.rlim_cur != rlim_t.max } ?? false
  }

  /// How many blocks of `byteCount` bytes can be allocated together, up to `count`.
  package static func available(upTo count: Int, ofBytes byteCount: Int) -> Int {
    guard isLimited, byteCount > 0 else { return count }
    var (least, most) = (0, count)
    while least < most {
      let middle = least + (most - least + 1) / 2
      if canMap(middle, byteCount) { least = middle } else { most = middle - 1 }
    }
    return least
  }

  /// Reserves address space, but no memory.
  private static func canMap(_ count: Int, _ byteCount: Int) -> Bool {
    let (size, isTooLarge) = count.multipliedReportingOverflow(by: byteCount)
    guard !isTooLarge, size > 0 else { return false }
    let place = mmap(nil, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
    guard let place, place != MAP_FAILED else { return false }
    munmap(place, size)
    return true
  }
}
