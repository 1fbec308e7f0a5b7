import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct RandomnessCheckTests {
  private func random(_ count: Int, seed: UInt64 = 7) -> [UInt8] {
    SampleContent.noise.bytes(count, seed: seed)
  }

  private func isNoise(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { RandomnessCheck.fills($0) } }

  @Test("random bytes of any length are noise", arguments: [1024, 1025, 4095, 4099, 70_000, 1 << 20])
  func randomBytes(count: Int) {
    for seed in 1...20 as ClosedRange<UInt64> where count < 1 << 20 || seed == 1 {
      #expect(isNoise(random(count, seed: seed)), "seed \(seed)")
    }
  }

  @Test("few bytes are not judged", arguments: [0, 1, 8, 1023])
  func fewBytes(count: Int) { #expect(!isNoise(random(count))) }

  @Test("content that can be compressed is not noise")
  func compressible() {
    let noise = random(64 << 10)
    let text = Array(String(repeating: "the quick brown fox jumps over the lazy dog\n", count: 2000).utf8)
    let hexadecimal = noise.flatMap { Array(String($0, radix: 16).utf8) }
    let counters = (0..<(64 << 10)).map { UInt8(truncatingIfNeeded: $0) }
    let samples = (0..<(32 << 10)).flatMap { [noise[$0], noise[$0] & 0x0F] }
    #expect(!isNoise(text))
    #expect(!isNoise(hexadecimal))
    #expect(!isNoise(counters))
    #expect(!isNoise(samples))
    #expect(!isNoise([UInt8](repeating: 0, count: 10_000)))
  }

  @Test("noise that repeats within the window is not noise", arguments: [50, 1000, 20_000])
  func repeated(length: Int) {
    let noise = random(64 << 10)
    for offset in [0, 1, 31, 777] {
      let again = Array(noise[offset..<(offset + length)])
      #expect(!isNoise(Array(noise[..<(length + 1000)]) + again), "\(offset)")
    }
    #expect(isNoise(noise + random(length, seed: 9)))
  }

  @Test("text after noise is noticed")
  func mixed() {
    let text = Array(String(repeating: "name,place,time\n", count: 2000).utf8)
    #expect(!isNoise(random(64 << 10) + text))
  }
}
