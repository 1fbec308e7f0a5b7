import BatchCore
import BatchEngine
import TestSupport
import Testing

/// A tree of some thousand files that is the same each time, and a comparison with its copies.
extension TreeFixture {
  /// Makes `src`: text, noise, zeros and empty files, with names of any bytes, modes, times, attributes,
  /// access control lists and, for root, owners.
  func writeOddTree(files: Int = 2000) throws {
    try copy(PathBytes("odd-tree-\(files)")) { try $0.makeOddTree(files: files) }
  }

  private func makeOddTree(files: Int) throws {
    let made = try shell(
      #"""
      python3 - \#(files) <<'END' && find src -name 'acl*' -print0 | xargs -0 setfacl -m u:65534:r,g:65534:rw
      import os, random, sys
      random.seed(20250101)
      words = [b'harbour', b'market', b'lantern', b'gravel', b'window', b'copper', b'\n']
      stems = [b'plain', b'new\nline', b'back\\slash', b'not\xffutf8', b' spaces  in ', b'-dash', b'--help', b'\x1b[31m',
        b'*', b'$(id)', 'f\u00e9vrier'.encode(), b'\\n', b'tab\t', b'acl', b"it's", b'a.b.c', b'..dots', b'%s%n']
      folders = [b'src', b'src/one', b'src/one/two\nthree', b'src/-x', b'src/\xfe\xff', b'src/ ']
      for folder in folders: os.makedirs(folder)
      for number in range(int(sys.argv[1])):
          path = random.choice(folders) + b'/' + stems[number % len(stems)] + b'%d' % number
          size = random.choice([0, 1, 17, 100, 511, 4096, 4097, random.randrange(40000)])
          kind = random.randrange(4)
          if kind == 0: content = random.randbytes(size)
          elif kind == 1: content = bytes(size)
          else: content = b' '.join(random.choices(words, k=size // 7 + 1))[:size]
          with open(path, 'wb') as file: file.write(content)
          if number % 3 == 0: os.setxattr(path, b'user.note', b'\x00\xffnumber %d' % number)
          if number % 5 == 0: os.setxattr(path, b'user.empty', b'')
          if os.geteuid() == 0 and number % 4 == 0: os.chown(path, 1000 + number % 7, 2000 + number % 3)
          os.chmod(path, [0o644, 0o600, 0o755, 0o444, 0o640, 0o666][number % 6])
          os.utime(path, ns=(random.randrange(2**60), random.randrange(2**60)))
      END
      """#)
    try #require(made.status == 0, "\(made.errorText.prefix(500))")
  }

  /// Compares two trees file by file: content, mode, time in nanoseconds, attributes (including access
  /// control lists) and owner.
  ///
  /// - Parameters:
  ///   - suffix: the suffix of the names in the other tree.
  ///   - contents: false when the files of the other tree are compressed.
  /// - Returns: the differences, or the number of files when there are none.
  func compare(_ one: String, _ other: String, suffix: String = "", contents: Bool = true) throws -> String {
    try shell(
      #"""
      python3 - '\#(one)' '\#(other)' '\#(suffix)' '\#(contents ? 1 : 0)' <<'END'
      import os, sys
      one, other, suffix, contents = (os.fsencode(a) for a in sys.argv[1:])
      def files(root):
          return {os.path.relpath(os.path.join(f, n), root) for f, _, names in os.walk(root) for n in names}
      def about(path):
          s = os.lstat(path)
          return [oct(s.st_mode), s.st_mtime_ns, s.st_uid, s.st_gid] + [
            (n, os.getxattr(path, n)) for n in sorted(os.listxattr(path)) if n != 'user.batchproc.source'] + (
              [open(path, 'rb').read()] if contents == b'1' else [])
      names = files(one)
      for name in sorted({n + suffix for n in names} ^ files(other)): print('only in one:', name)
      for name in sorted(names):
          a, b = about(one + b'/' + name), about(other + b'/' + name + suffix)
          if a != b: print(name, [(str(x)[:80], str(y)[:80]) for x, y in zip(a, b) if x != y], len(a), len(b))
      print(len(names), 'files')
      END
      """#
    ).text
  }
}
