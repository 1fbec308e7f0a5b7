import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct MemberNamingTests {
  @Test(arguments: [
    ("t", "t"), ("t/", "t"), ("t//", "t"), ("./t", "./t"), ("t/./x", "t/./x"), ("t/d/f", "t/d/f"),
    ("/", "."), ("//", "."), (".", "."), ("./", "."), ("..", "."), ("../", "."),
    ("/etc/passwd", "etc/passwd"),
    ("//etc", "etc"), ("../t/f", "t/f"), ("a/../b", "b"), ("a/../../b/c", "b/c"), ("/..//b", "b"),
    ("..foo/x", "..foo/x"), ("a..b", "a..b"), (".../x", ".../x"), ("a/..b/c", "a/..b/c"), ("a/..", "."),
  ])
  func leadsNowhereElse(path: PathBytes, name: PathBytes) {
    #expect(MemberNaming.name(of: path) == name)
  }

  @Test func keepsEveryByte() {
    let path = PathBytes([0x2f, 0xff, 0x0a, 0x2f, 0x01])
    #expect(MemberNaming.name(of: path) == PathBytes([0xff, 0x0a, 0x2f, 0x01]))
  }
}
