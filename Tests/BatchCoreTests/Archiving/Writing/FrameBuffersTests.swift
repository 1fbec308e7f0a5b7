import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct FrameBuffersTests {
  private let buffers = FrameBuffers()

  private func base(_ buffer: [UInt8]) -> UnsafeRawPointer? { buffer.withUnsafeBytes { $0.baseAddress } }

  @Test(arguments: [1, 1 << 20, (4 << 20) - 1, 4 << 20, (8 << 20) + 1]) func haveTheRequestedRoom(
    _ byteCount: Int
  )
    throws
  {
    var buffer = buffers.take(room: byteCount)
    #expect(buffer.isEmpty && buffer.capacity >= byteCount)
    // All of its room can be used without moving to another buffer.
    let before = base(buffer)
    let bytes = [UInt8](repeating: 7, count: byteCount)
    buffer += bytes
    #expect(base(buffer) == before && buffer.equals(bytes))
  }

  @Test func areReusedEmptyAndWithTheirRoom() {
    var buffer = buffers.take(room: 1 << 20)
    buffer.append(contentsOf: [1, 2, 3])
    let before = base(buffer)
    buffers.give(buffer, keeping: 2)
    buffer = []
    let again = buffers.take(room: 1 << 20)
    #expect(again.isEmpty && base(again) == before)
  }

  @Test func takeNoMoreThanASmallRequest() {
    #expect(buffers.take(room: 100).capacity < 4096)
    #expect(buffers.take(room: 1 << 20).capacity < 2 << 20)
  }

  @Test func areReusedInTurn() {
    for size in [1000, 2000] { buffers.give([UInt8](repeating: 1, count: size), keeping: 2) }
    #expect(buffers.take().capacity < 2000)
    #expect(buffers.take().capacity >= 2000)
  }

  @Test func areReplacedWhenTheyAreTooSmall() {
    buffers.give([UInt8](repeating: 1, count: 1000), keeping: 2)
    #expect(buffers.take(room: 1 << 20).capacity >= 1 << 20)
  }

  @Test func keepTheirBytesWhileAnotherHolderReadsThem() {
    let kept = [UInt8](repeating: 9, count: 4096)
    buffers.give(kept, keeping: 2)
    var taken = buffers.take()
    taken.append(contentsOf: repeatElement(0, count: 4096))
    #expect(kept.allSatisfy { $0 == 9 })
  }

  @Test func areKeptUpToTheLimit() {
    for _ in 0..<3 { buffers.give([UInt8](repeating: 1, count: 4096), keeping: 2) }
    let capacities = (0..<3).map { _ in buffers.take().capacity }
    #expect(capacities.filter { $0 >= 4096 }.count == 2)
  }
}
