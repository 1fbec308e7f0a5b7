import BatchEngine
import CBZip2
import CLZ4
import CLZMA
import CZlib
import CZstd
import Glibc

@testable import BatchCore

/// The input file for gzip.
private nonisolated(unsafe) let inputFile = InputFile(isNamed: true)

/// Decodes a whole file with the stock library of each format, in the simplest way.
///
/// The stock library must accept each file that the program accepts, with the same content. The reverse does
/// not hold: the program refuses more, for example bytes after the end. compress(1) has no library.
/// libarchive cannot serve as a reference for its files: it refuses some that ncompress and gzip read, and
/// adds a byte to others. Instead the program gzip is run, for accepted files only.
struct StockDecoder {
  /// `LZMA_CONCATENATED` is a macro with a cast, which Swift does not import.
  private static let concatenated: UInt32 = 8

  private let file: UnsafeRawBufferPointer
  private let room: UnsafeMutableRawBufferPointer

  /// - Returns: the content; nil if the library refuses the file, or the content exceeds `largest` bytes.
  static func content(
    of file: UnsafeRawBufferPointer, _ format: CompressionFormat, largest: Int
  ) -> [UInt8]? {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: largest + 1, alignment: 16)
    defer { room.deallocate() }
    let decoder = StockDecoder(file: file, room: room)
    let count =
      switch format {
      case .gz: decoder.gzip()
      case .zst: decoder.zstd()
      case .lz4: decoder.lz4()
      case .bz2: decoder.bzip2()
      case .xz: decoder.lzma { lzma_stream_decoder(&$0, .max, Self.concatenated) }
      case .lz: decoder.lzma { lzma_lzip_decoder(&$0, .max, Self.concatenated) }
      case .lzma: decoder.lzma { lzma_alone_decoder(&$0, .max) }
      case .lzw: decoder.compress()
      }
    guard let count, count <= largest else { return nil }
    return Array(room[..<count])
  }

  private var input: UnsafeMutablePointer<UInt8>? {
    UnsafeMutablePointer(mutating: file.baseAddress?.assumingMemoryBound(to: UInt8.self))
  }

  private var output: UnsafeMutablePointer<UInt8>? { room.baseAddress?.assumingMemoryBound(to: UInt8.self) }

  /// Reads members, and zeros after the last one, which gzip ignores.
  private func gzip() -> Int? {
    var stream = z_stream()
    guard inflateInit2_(&stream, MAX_WBITS + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else { return nil }
    defer { inflateEnd(&stream) }
    stream.next_in = input
    stream.avail_in = UInt32(clamping: file.count)
    stream.next_out = output
    stream.avail_out = UInt32(clamping: room.count)
    var members = 0
    while stream.avail_in > 0 {
      let rest = file.suffix(Int(stream.avail_in))
      if members > 0, rest.allSatisfy({ $0 == 0 }) { break }
      guard inflateReset(&stream) == Z_OK, inflate(&stream, Z_FINISH) == Z_STREAM_END else { return nil }
      members += 1
    }
    return members > 0 ? room.count - Int(stream.avail_out) : nil
  }

  /// Decodes the file as a whole and byte by byte. For a whole frame libzstd uses another function, which
  /// checks more: the size of the content against the header, and the type of each block. An accepted file
  /// must pass both.
  private func zstd() -> Int? {
    guard let count = zstd(most: file.count) else { return nil }
    let content = Array(room[..<count])
    guard zstd(most: 1) == count, content.elementsEqual(room[..<count]) else { return nil }
    return count
  }

  private func zstd(most: Int) -> Int? {
    guard let stream = ZSTD_createDStream() else { return nil }
    defer { ZSTD_freeDStream(stream) }
    var source = ZSTD_inBuffer(src: file.baseAddress, size: 0, pos: 0)
    var target = ZSTD_outBuffer(dst: room.baseAddress, size: room.count, pos: 0)
    var last = 1
    while source.pos < file.count || last > 0 {
      if source.pos == source.size { source.size = min(file.count, source.size + most) }
      let before = (source.pos, target.pos)
      last = ZSTD_decompressStream(stream, &target, &source)
      guard ZSTD_isError(last) == 0, (source.pos, target.pos) != before else { return nil }
    }
    return target.pos
  }

  private func lz4() -> Int? {
    var context: OpaquePointer?
    LZ4F_createDecompressionContext(&context, UInt32(LZ4F_VERSION))
    guard let context else { return nil }
    defer { LZ4F_freeDecompressionContext(context) }
    var (consumed, produced, last) = (0, 0, 1)
    while consumed < file.count || last > 0 {
      var (source, target) = (file.count - consumed, room.count - produced)
      last = LZ4F_decompress(
        context, output.map { $0 + produced }, &target, input.map { $0 + consumed }, &source, nil)
      guard LZ4F_isError(last) == 0, source + target > 0 else { return nil }
      consumed += source
      produced += target
    }
    return produced
  }

  private func bzip2() -> Int? {
    var (consumed, produced) = (0, 0)
    while consumed < file.count {
      var stream = bz_stream()
      guard BZ2_bzDecompressInit(&stream, 0, 0) == BZ_OK else { return nil }
      defer { BZ2_bzDecompressEnd(&stream) }
      stream.next_in = UnsafeMutableRawPointer(mutating: file.baseAddress.map { $0 + consumed })?
        .assumingMemoryBound(to: CChar.self)
      stream.avail_in = UInt32(clamping: file.count - consumed)
      stream.next_out = room.baseAddress.map { $0 + produced }?.assumingMemoryBound(to: CChar.self)
      stream.avail_out = UInt32(clamping: room.count - produced)
      guard BZ2_bzDecompress(&stream) == BZ_STREAM_END else { return nil }
      consumed = file.count - Int(stream.avail_in)
      produced = room.count - Int(stream.avail_out)
    }
    return produced
  }

  private func lzma(_ begin: (inout lzma_stream) -> lzma_ret) -> Int? {
    var stream = lzma_stream()
    defer { lzma_end(&stream) }
    guard begin(&stream) == LZMA_OK else { return nil }
    stream.next_in = UnsafePointer(input)
    stream.avail_in = file.count
    stream.next_out = output
    stream.avail_out = room.count
    guard lzma_code(&stream, LZMA_FINISH) == LZMA_STREAM_END, stream.avail_in == 0 else { return nil }
    return room.count - stream.avail_out
  }

  private func compress() -> Int? {
    guard inputFile.hold(file), let output = popen("exec gzip -dc <\(inputFile.path) 2>/dev/null", "r") else {
      return nil
    }
    var count = 0
    while count < room.count {
      let taken = read(fileno(output), room.baseAddress.map { $0 + count }, room.count - count)
      // The signal of the fuzzer's timer may arrive while gzip works.
      if taken < 0, errno == EINTR { continue }
      guard taken > 0 else { break }
      count += taken
    }
    return pclose(output) == 0 ? count : nil
  }
}
