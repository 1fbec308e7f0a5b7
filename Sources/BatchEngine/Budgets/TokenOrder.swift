import Glibc

/// The order in which all threads take scarce resources, so that they never wait in a circle: descriptors, memory, a place for
/// an output. Debug builds assert it on threads that process a chunk; release builds record nothing.
package enum TokenOrder: Int, Comparable {
  case descriptors = 1
  case memory
  case place

  package static func < (left: TokenOrder, right: TokenOrder) -> Bool { left.rawValue < right.rawValue }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    return pthread_key_create(&key, nil) == 0 ? key : .max
  }()

  /// The last resource that this thread took for its chunk; nil between chunks.
  package static var held: TokenOrder? {
    get { TokenOrder(rawValue: Int(bitPattern: pthread_getspecific(key))) }
    set { pthread_setspecific(key, UnsafeRawPointer(bitPattern: newValue?.rawValue ?? 0)) }
  }

  /// Whether this thread may wait for this resource. A chunk may take several places: places become free whatever their holders wait for.
  var mayBeTaken: Bool { TokenOrder.held.map { $0 < self || self == .place } ?? true }

  /// Asserts that this resource may be taken, and records it for the current chunk.
  package func take() {
    #if DEBUG
      assert(mayBeTaken, "\(self) taken after \(TokenOrder.held.map { "\($0)" } ?? "")")
      if TokenOrder.held != nil { TokenOrder.held = self }
    #endif
  }
}
