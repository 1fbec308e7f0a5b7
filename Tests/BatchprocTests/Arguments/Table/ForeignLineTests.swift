import BatchEngine
import Testing

@testable import batchproc

@Suite("A line of another tool") struct ForeignLineTests {
  /// The line that is proposed; nil if there is none.
  private func proposal(_ line: String) -> String? {
    let words = line.split(separator: " ").map { PathBytes(String($0)) }
    do throws(UsageError) {
      _ = try CommandLineParser(environment: { _ in nil }).parse(words)
      return nil
    } catch {
      return error.correction?.line(of: words)
    }
  }

  @Test(
    "gets the line of this program that does the same",
    arguments: [
      ("zstd -19 d", "compress --format zst -19 d"), ("xz d", "compress --format xz d"),
      ("gzip d e", "compress d e"),
      ("gzip -d d.gz", "decompress d.gz"), ("zstd -dc d", "cat d"), ("xz -t d", "test d"),
      ("gunzip -k d", "decompress -k d"),
      ("zcat d", "cat d"), ("sha256sum a", "hash a"), ("md5sum a b", "hash -a md5 a b"),
      ("sha512sum -c S", "check S"),
      ("zip -r x.zip d", "archive -o x.zip d"), ("zip -qr9 x d e", "archive -o x.zip d e"),
      ("unzip x.zip -d out", "extract x.zip -C out"), ("unzip -o x.zip", "extract --force x.zip"),
      ("unzip -l x.zip", "list x.zip"), ("unzip -t x.zip", "verify x.zip"), ("tar xf x.tar", "extract x.tar"),
      ("tar -czf x.tgz d -C e", "archive -o x.tgz d -C e"), ("tar tvf x.tar", "list x.tar"),
      ("xzf x.tgz", "extract x.tgz"),
      ("-czf x.tgz d", "archive -o x.tgz d"), ("-xf x.tgz", "extract x.tgz"),
      ("7z a x.7z d", "archive -o x.7z d"),
      ("7z x x.7z -oout", "extract x.7z -C out"), ("7z t x.7z", "verify x.7z"),
      ("compress -czf x.tgz d", "archive -o x.tgz d"),
      ("compress -xz d", "compress --format xz d"), ("extract -d out x.zip", "extract -C out x.zip"),
      ("duplicates --delete d", "duplicates --link hard d"),
      ("compress -C out d", "compress --output-dir out d"),
      ("compress -O d", "compress -c d"), ("compress --qos idle d", "compress --qos background d"),
      ("compress --qos=idle d", "compress --qos=background d"),
    ])
  func proposed(line: String, meant: String) {
    #expect(proposal(line) == "batchproc " + meant)
  }

  @Test(
    "gets no proposal that would fail",
    arguments: [
      "gzip --no-such x", "tar --no-such", "tar xf", "zip", "unzip", "7z q x", "zcat", "sync a b", "mount s",
      "help zstd",
    ])
  func refused(line: String) {
    #expect(proposal(line) == nil)
  }
}
