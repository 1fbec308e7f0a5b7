import BatchEngine
import Foundation
import TestSupport
import Testing

/// This version reads the files that released versions wrote. `Tests/Golden/make.sh` made the files of each
/// version.
@Suite(.timeLimit(.minutes(2))) struct GoldenTests {
  private static let folder = Repository.root.appendingPathComponent("Tests/Golden").path
  static let versions = ["0.2.0", "1.0.0"]
  /// The versions that can encrypt, write recovery data and divide a run.
  private static let latest = ["1.0.0"]
  private static let tarForms = ["tar", "tar.zst", "tar.gz", "tar.xz", "tar.lz4", "tar.bz2"]
  private static let otherForms = ["cpio", "zip", "7z"]
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Runs a script with the files of a version in `$G`, and with the script that lists a tree in `$LIST`.
  private func script(_ version: String, _ script: String, _ more: [String: String] = [:]) throws -> Outcome {
    let paths = ["G": "\(Self.folder)/\(version)", "LIST": "\(Self.folder)/list.sh"]
    return try t.shell("set -o pipefail; " + script, environment: paths.merging(more) { $1 })
  }

  private func expectSuccess(_ run: Outcome) {
    #expect(run.status == 0, "\(run.text)\(run.errorText)")
  }

  @Test(
    "tar archives are verified, listed and extracted, with their index and without it", arguments: versions,
    tarForms)
  func tarArchives(_ version: String, _ form: String) throws {
    expectSuccess(
      try script(
        version,
        """
        A=$G/tree.\(form)
        count() { $BP list "$@" $A 2>/dev/null | wc -l; }
        $BP verify -q $A >verified && [ $(count) = $(count --no-index) ] || exit 1
        for way in "-j 1 $A" "-j 7 $A" -; do
          mkdir out && $BP extract -q --no-fsync -C out $way <$A && $LIST out | diff $G/tree.list - &&
            (cd out && sha256sum --check --quiet $G/tree.sha256) || exit 1
          [ "$(getfattr --only-values -n user.note out/a/one)" = 'an attribute' ] && rm -r out || exit 1
        done
        """))
  }

  @Test("cpio, zip and 7z archives are verified and extracted", arguments: versions, otherForms)
  func otherArchives(_ version: String, _ form: String) throws {
    // These formats store times to the second, or to 100 ns.
    expectSuccess(
      try script(
        version,
        """
        A=$G/plain.\(form); $BP verify -q $A >verified && mkdir out && $BP extract -q --no-fsync -C out $A || exit 1
        seconds() { sed -E 's/^(.*[0-9])\\.[0-9]{10} /\\1 /'; }
        $LIST out | seconds | diff <(seconds <$G/plain.list) - && cd out && sha256sum --check --quiet $G/plain.sha256
        """))
  }

  @Test("manifests of each form are verified, and find a change", arguments: versions)
  func manifests(_ version: String) throws {
    expectSuccess(
      try script(
        version,
        """
        mkdir tree && $BP extract -q --no-fsync -C tree $G/tree.tar && cd tree || exit 1
        for form in gnu bsd mtree json several zero; do
          options=; [ $form != zero ] || options=-z
          $BP check -q $options $G/tree.$form >../out && [ ! -s ../out ] || { echo $form; cat ../out; exit 1; }
          [ $form = zero ] || $BP audit -q $G/tree.$form . >../out || { echo audit $form; cat ../out; exit 1; }
        done
        $BP check -q $G/plain.hashdeep || exit 1
        echo >>lines/7
        for form in gnu bsd mtree json several; do $BP check -q $G/tree.$form >../out 2>&1; [ $? = 4 ] || { echo $form; exit 1; }; done
        """))
  }

  @Test(
    "large compressed files are tested and decompressed", arguments: versions, ["gz", "zst", "xz", "lz4"])
  func largeFiles(_ version: String, _ form: String) throws {
    expectSuccess(
      try script(
        version,
        """
        cp $G/large.\(form) . && $BP test -q large.\(form) && $BP decompress -q --no-fsync large.\(form) &&
          sha256sum --check --quiet $G/large.sha256
        """))
  }

  @Test(
    "each snapshot of a set is restored, drilled and listed, and a backup continues the set",
    arguments: versions)
  func snapshots(_ version: String) throws {
    expectSuccess(
      try script(
        version,
        """
        cp -r $G/set set && chmod 700 set && chmod 600 set/* || exit 1
        for number in 1 2 3; do
          id=$(cat $G/snapshot-$number.id); mkdir out
          $BP restore -q --no-fsync --at $id -C out set || exit 1
          $LIST out/tmp/batchproc-golden/source | diff $G/snapshot-$number.list - || exit 1
          (cd out/tmp/batchproc-golden/source && sha256sum --check --quiet $G/snapshot-$number.sha256) || exit 1
          $BP snapshots --digests --at $id set >digests && (cd out && sha256sum --check --quiet ../digests) || exit 1
          rm -r out
        done
        $BP drill -q --all set && [ $($BP snapshots --json set | grep -c '"id"') = 3 ] || exit 1
        mkdir source && echo new >source/new && $BP backup -q --no-fsync --to set --name golden source || exit 1
        mkdir out && $BP restore -q --no-fsync --source source -C out set && diff -r source out$PWD/source || exit 1
        $BP prune -q --keep-last 1 set && [ $($BP snapshots --json set | grep -c '"id"') = 2 ] || exit 1
        $BP prune -q --keep-last 1 --group-by none set && [ $($BP snapshots --json set | grep -c '"id"') = 1 ]
        """, ["XDG_STATE_HOME": "\(t.path("state"))"]))
  }

  @Test("an encrypted archive is verified and extracted with its key", arguments: latest)
  func encrypted(_ version: String) throws {
    expectSuccess(
      try script(
        version,
        """
        cp $G/key key && chmod 600 key && $BP verify -q -i key $G/tree.tar.zst.age >verified && mkdir out || exit 1
        $BP extract -q --no-fsync -i key -C out $G/tree.tar.zst.age && $LIST out | diff $G/tree.list - || exit 1
        cd out && sha256sum --check --quiet $G/tree.sha256
        """))
  }

  @Test("a damaged archive is repaired by its recovery data", arguments: latest)
  func repaired(_ version: String) throws {
    expectSuccess(
      try script(
        version,
        """
        cp $G/tree.tar.zst $G/tree.tar.zst.*par2 . && $BP parity verify -q tree.tar.zst || exit 1
        printf damage | dd of=tree.tar.zst bs=1 seek=900 conv=notrunc status=none; ! $BP parity verify -q tree.tar.zst >rows || exit 1
        $BP repair -q --force tree.tar.zst >rows && cmp tree.tar.zst $G/tree.tar.zst
        """))
  }

  @Test("the results of a plan are merged by its version, and another version names it", arguments: latest)
  func plan(_ version: String) throws {
    let run = try script(
      version,
      """
      cp -r $G/plan plan && chmod 700 plan && chmod 600 plan/* || exit 1
      $BP merge -q plan >rows; echo $?; cmp rows $G/tree.gnu && echo equal; $BP --version | head -n 1
      """)
    if run.text.contains("batchproc \(version)") {
      #expect(run.text.hasPrefix("0\nequal\n"), "\(run.text)\(run.errorText)")
    } else {
      #expect(
        run.text.hasPrefix("5\n") && run.errorText.contains("made by version \(version)"), "\(run.errorText)")
    }
  }

  @Test("a digest cache is used", arguments: versions)
  func cache(_ version: String) throws {
    // A row of the cache is stored under the file system, inode and status time of a file with other bytes.
    // The printed digest is that of the cache, which proves that the row was read.
    let run = try script(
      version,
      """
      mkdir -p cache/batchproc && cp $G/digests.sqlite cache/batchproc/ && chmod -R go-rwx cache || exit 1
      echo ONE >one && touch -d '2026-01-02 03:04:05.123456789' one && python3 - <<'PYTHON' || exit 1
      import os, sqlite3, struct
      digest = bytes.fromhex("2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806")
      cache = sqlite3.connect("cache/batchproc/digests.sqlite")
      [(table,)] = cache.execute("SELECT name FROM sqlite_master WHERE type='table'")
      inode, value = next(row for row in cache.execute(f"SELECT inode, value FROM {table}") if row[1][32:] == digest)
      file = os.stat("one")
      value = value[:16] + struct.pack("<q", file.st_ctime_ns // 10**9) + value[24:28] + struct.pack("<i", file.st_ctime_ns % 10**9) + digest
      cache.execute(f"UPDATE {table} SET inode=?, value=? WHERE inode=?", (file.st_ino, value, inode))
      cache.execute(f"ALTER TABLE {table} RENAME TO f{os.statvfs('one').f_fsid:x}_sha256")
      cache.commit()
      PYTHON
      XDG_CACHE_HOME=$PWD/cache $BP hash -q --cache one
      """)
    #expect(run.text == "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806  one\n")
    #expect(run.errorText.isEmpty, "\(run.errorText)")
  }

  @Test("a configuration is read", arguments: versions)
  func configuration(_ version: String) throws {
    let run = try script(
      version,
      """
      mkdir -p config/batchproc source && cp $G/config config/batchproc/config && chmod -R go-w config || exit 1
      export XDG_CONFIG_HOME=$PWD/config XDG_STATE_HOME=$PWD/state
      echo text >source/one && echo left out >source/two.tmp && mkdir set || exit 1
      $BP --profile nightly && [ $(ls set/golden-*.manifest.zst | wc -l) = 1 ] && ! zstdcat set/golden-*.manifest.zst | grep -q two.tmp &&
        seq 1000 >source/lines && $BP compress -q source/lines && zstd -qt source/lines.zst
      """)
    expectSuccess(run)
  }
}
