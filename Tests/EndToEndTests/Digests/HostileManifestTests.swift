import TestSupport
import Testing

/// Manifests that another user put into the folder of a set: paths that they name are neither removed nor
/// read.
@Suite(.timeLimit(.minutes(2))) struct HostileManifestTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    let made = try t.shell(
      "mkdir -p src set deep/er backup-x set/backup-x; echo victim >victim; echo victim >victim.manifest; echo one >src/one"
    )
    try #require(made.status == 0)
  }

  /// Shell functions that write manifests with a right digest: `manifest STAMP SEQUENCE HEADER ROWS NEEDS`,
  /// in which the last three replace the usual lines or parts of them.
  private static let tools =
    Steps.plain + "\n" + #"""
      M=18446744073709551615
      manifest() {
        f=set/backup-$1.manifest
        printf '%s\n' "${3:-$(header $1 $2)}" >$f
        [ -z "$4" ] || printf '%s\n' "$4" >>$f
        footer=$(stat -c %s $f)
        [ -z "$5" ] || printf '%s\n' "$5" >>$f
        printf '{"type":"end","rows":0,"files":0,"bytes":0,"archive_size":0,"verified":true,"selection":"","footer":%s,"manifest_sha256":"%s"}\n' \
          $footer $(sha256sum <$f | cut -c-64) >>$f
      }
      header() {
        printf '{"type":"snapshot","schema":1,"set":"%s","id":"%s","sequence":%s,"started":"%s.000000000","full":true,"increment":%s}' \
          "${3:-backup}" $1 $2 ${4:-1577836800} ${5:-0}
      }
      row() {
        printf '{"type":"file","path":"%s","size":%s,"mtime":"1.000000000","ctime":"1.000000000",' "$1" "$2"
        shift 2
        printf '"inode":%s,"links":%s,"mode":%s,"uid":%s,"gid":%s,"archive":"%s"}' "$@"
      }

      """#

  @Test(
    "no file outside of the set is removed, whatever a manifest names",
    arguments: [
      #"manifest 20200101T000000Z 1 "$(header 20200101T000000Z 1 '../victim\u0000')""#,
      #"manifest 20200101T000000Z 1 "$(header 20200101T000000Z 1 '../deep/../victim\u0000')""#,
      #"manifest 20200101T000000Z 1 '' '' '{"type":"needs","archive":"x/../../victim\u0000","files":0,"bytes":0}'"#,
      #"manifest 20200101T000000Z 1 '' '' '{"type":"needs","archive":"x/../../victim","files":0,"bytes":0}'"#,
      // The header of another snapshot, and of another set.
      #"manifest 20200101T000000Z 1 "$(header 20200102T000000Z 1)""#,
      #"manifest 20200101T000000Z 1 "$(header 20200101T000000Z 1 other)""#,
    ])
  func removal(attack: String) throws {
    let run = try t.shell(
      Self.tools + """
        touch set/other-20200101T000000Z.manifest set/backup-20200102T000000Z.tar.zst
        \(attack); manifest 20261101T000000Z 2
        sums() { cat victim victim.manifest; ls set | grep -v '^backup-2026.*tar' | grep -c .; }
        sums; $BP prune --keep-last 1 set --name backup >out 2>errors; echo $?; grep -c 'backup-20200101T000000Z.manifest: ' errors; sums
        $BP backup -q --to set --keep-last 1 src 2>errors; echo $?; grep -c 'backup-20200101T000000Z.manifest: ' errors; sums
        ls set | grep -c '^backup-.*manifest'
        """)
    // The backup adds its manifest and removes none. It reports the damage before it begins, and what it does
    // not remove at its end.
    #expect(
      run.text == "victim\nvictim\n5\n1\n1\nvictim\nvictim\n5\n3\n2\nvictim\nvictim\n8\n4\n",
      "\(run.text)\(run.errorText)")
  }

  @Test("a damaged manifest prevents all removals")
  func damagedRows() throws {
    let run = try t.shell(
      Self.tools + """
        for day in 1 2 3; do $BP backup -q --to set src; done
        plain set/*.manifest.zst
        for damaged in $(ls set/*.manifest.zst); do
          cp $damaged keep; sed -i 's/"uid":/"uid":1/' $damaged
          $BP prune --keep-last 1 set 2>errors; echo $?; grep -c "^batchproc: $damaged: nothing is removed" errors
          cp keep $damaged
        done
        ls set/backup-2*.zst | wc -l; $BP prune -q --keep-last 1 set; echo $?; ls set/*.manifest.zst | wc -l
        """)
    #expect(run.text == "1\n1\n1\n1\n1\n1\n6\n0\n1\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "extreme numbers do not crash the program",
    arguments: [
      #"manifest 20261101T000000Z $M"#,
      #"manifest 20261101T000000Z 9007199254740992"#,
      #"manifest 20261101T000000Z 9007199254740991"#,
      #"manifest 20261101T000000Z 1 "$(header 20261101T000000Z 1 backup 1577836800 $M)""#,
      #"manifest 20261101T000000Z 1 "$(header 20261101T000000Z 1 backup 9223372036854775807)""#,
      #"manifest 20261101T000000Z 1 "$(header 20261101T000000Z 1 backup -9223372036854775808)""#,
      #"manifest 20261101T000000Z 1 '' '' '{"type":"needs","archive":"20261101T000000Z","files":18446744073709551615,"bytes":18446744073709551615}'"#,
      #"manifest 20261101T000000Z 1 '' '' "{\"type\":\"total\",\"path\":\"$PWD/src\",\"file_system\":\"0\",\"files\":$M}""#,
      #"manifest 20261101T000000Z 1 '' "$(row a $M $M 2 420 0 0 20261101T000000Z; echo; row b $M $M 2 420 0 0 20261101T000000Z)""#,
      #"manifest 20261101T000000Z 1 '' "$(row a 1 1 $M 420 0 0 20261101T000000Z)""#,
      #"manifest 20261101T000000Z 1 '' "$(row a 1 1 1 $M 0 0 20261101T000000Z)""#,
      #"manifest 20261101T000000Z 1 '' "$(row a 1 1 1 420 $M 0 20261101T000000Z)""#,
      #"manifest 20261101T000000Z 1 '' "$(row 'a\u0000b' 1 1 1 420 0 0 20261101T000000Z)""#,
      #"manifest 20261101T000000Z 1 '' "$(row a 1 1 1 420 0 0 ../../victim)""#,
    ])
  func numbers(attack: String) throws {
    let run = try t.shell(
      Self.tools + """
        \(attack); : >set/backup-20261101T000000Z.tar.zst
        for command in 'snapshots set' 'snapshots --digests set' 'report -o page.html --force set' 'prune -n --keep-within 9y set' \\
            'restore -C out set' 'drill --all set' 'backup -n --to set src' 'backup --allow-empty --to set src' 'backup --to set src'; do
          $BP $command >out.txt 2>errors; s=$?
          [ $s -lt 128 ] && [ $s != 64 ] || { echo "$command: $s"; cat errors; }
          # A refused manifest is named.
          [ $s = 0 ] || grep -q 'set/\\|20261101T000000Z\\|no such snapshot' errors || { echo "$command: $s"; cat errors out.txt; }
        done
        cat victim
        """)
    #expect(run.text == "victim\n", "\(run.text)\(run.errorText)")
  }
}
