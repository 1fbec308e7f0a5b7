import BatchCore
import BatchEngine
import Foundation
import TestSupport
import Testing

/// docs/json.schema.json describes each line of `--json`.
@Suite(
  .enabled(
    if: (try? Outcome(shell: "python3 -c 'import jsonschema; jsonschema.Draft202012Validator'"))?
      .status == 0,
    "needs python3-jsonschema"))
struct JSONSchemaTests {
  private let t: TreeFixture
  private static let schema = Repository.root.appendingPathComponent(
    "docs/json.schema.json"
  ).path

  init() throws { t = try TreeFixture() }

  /// Runs each command, with success and with failure, and writes each output to a separate file.
  private static let runs = #"""
    mkdir t; echo one >t/a; seq 20000 >t/b; ln t/b t/c; ln -s a t/link; mkfifo t/pipe; touch "$(printf 't/\377')"
    j() { name=$1; shift; "$BP" "$@" --json >"out.$name" 2>>errors; }
    # It runs beside the others.
    (until grep -q '"type":"stall"' out.stall; do sleep 0.05; done; echo x) 2>/dev/null | j stall hash --stall-warning 1 - &
    j hash hash -v -a sha256 -a xxh3 t; j missing hash t nowhere; j dry hash -n t; j control hash --control none -j 2 t
    "$BP" hash -q t >m; j check check m; j audit audit m .; echo two >t/a; j different check m; j moved audit m t
    j compress compress --on special=warn t; j again compress t; j test test t
    j decompress decompress --output-dir d t; j duplicates duplicates d t; cp -r t/ t2; j folders duplicates --folders --exclude pipe t t2; rm -rf t2
    cp t/b.gz bad.gz; printf damaged | dd of=bad.gz bs=1 seek=90 conv=notrunc status=none
    j damaged test bad.gz; j refused decompress bad.gz t/a; rm -f t/*.gz
    j archive archive --verify -o a.tar.zst t; j exists archive -o a.tar.zst t
    j protected parity create m; j unprotected parity verify t/a; echo more >>m; j unequal parity verify m; j repaired parity repair m; echo more >>m; j mended repair m
    j list list a.tar.zst; j verify verify a.tar.zst; echo 3 >t/a; j against verify --against . a.tar.zst
    mkdir x; j extract extract -C x a.tar.zst; j kept extract -C x a.tar.zst; j none list bad.gz
    j backup backup --to s t; echo 4 >t/a; j increment backup --to s t; j snapshots snapshots s
    mkdir r; j restore restore s -C r; j drill drill s; "$BP" backup -q --full --to s t
    j would prune -n --keep-last 1 s; j prune prune --keep-last 1 s
    j found snapshots s --find a; j paths snapshots s --list latest; j compared snapshots s --diff latest; j set verify s; j pair audit t t
    j digests snapshots --digests s; j tune tune --seconds 1 t &
    "$BP" plan -q --shards 2 --out p -- hash t; "$BP" hash -q --plan p --shard 0; j status status p; j doctor doctor t; j config config
    # Commands that end before their job begins.
    for c in "list no.tar" "verify no.tar" "extract no.tar" "snapshots no" "prune --keep-last 1 no" "drill no" "doctor no" \
      "restore no -C x" "audit no t" "hash -o m t" "hash --files-from no" "backup --to s no" "tune no"; do
      j "ended.$c" $c
    done
    (ulimit -n 12; j few archive -o few.tar t)
    mv s/*.manifest.zst cut; head -c 300 cut >"s/$(basename "$(ls s/*.tar.zst | head -n 1)" .tar.zst).manifest.zst"
    j damaged_set snapshots s; j damaged_drill drill s; j damaged_prune prune --keep-last 1 s
    BATCHPROC_QOS=utility XDG_CONFIG_HOME=$PWD/home j settings config hash
    wait
    """#

  private static let validation = #"""
    import glob, json, sys, jsonschema
    def members(pairs):
        assert len(dict(pairs)) == len(pairs), f"a member twice: {pairs}"
        return dict(pairs)
    validator = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))
    types = set()
    for name in sorted(glob.glob("out.*")):
        lines = open(name, "rb").read().splitlines(True)
        if [json.loads(line)["type"] == "summary" for line in lines] != [False] * (len(lines) - 1) + [True]:
            print(name, "one summary, at the end:", lines[-2:])
        for number, line in enumerate(lines):
            row = json.loads(line, object_pairs_hook=members)
            types.add(row["type"])
            for error in validator.iter_errors(row):
                print(name, error.message, line.decode())
            if row["seq"] != number:
                print(name, "out of sequence", line.decode())
    print(*sorted(types))
    """#

  @Test("each line that a command prints with --json is valid")
  func lines() throws {
    try t.folder("home/batchproc")
    try t.file("home/batchproc/config", "stride = 2\n")
    for name: PathBytes in ["home", "home/batchproc"] { try t.setMode(name, 0o755) }
    try t.setMode("home/batchproc/config", 0o644)
    try t.file("validate.py", Self.validation)
    try t.shell(Self.runs, seconds: 300)
    let result = try t.shell("python3 validate.py '\(Self.schema)'")
    #expect(result.status == 0, "\(result.errorText)")
    let expected = [
      "archive", "default", "device", "difference", "duplicate_folders", "duplicates", "error", "file",
      "found", "index", "limit",
      "member",
      "note",
      "operations",
      "point",
      "problem", "program", "recommendation", "setting", "slowest", "snapshot", "stall", "summary",
    ]
    // The output has one line, since valid lines print only their types.
    #expect(result.text.split(separator: "\n").count == 1, "\(result.text.prefix(3000))")
    let types = Set(result.text.split(whereSeparator: \.isWhitespace).map(String.init))
    #expect(types.isSuperset(of: expected), "\(types)")
  }

  @Test("an invalid line is found")
  func findsErrors() throws {
    try t.file("validate.py", Self.validation)
    let lines = [
      #"{"type":"file","schema":2,"seq":0}"#,
      #"{"type":"file","schema":2,"seq":0,"path":"x","size":-1}"#,
      #"{"type":"file","schema":1,"seq":0,"path":"x"}"#, #"{"type":"what","schema":2,"seq":0}"#,
      #"{"type":"note","schema":2,"seq":0,"message":"x","more":1}"#,
      #"{"type":"note","schema":2,"seq":0,"message":"x","message":"y"}"#,
      #"{"type":"summary","schema":2,"seq":0,"seconds":1}"#,
      #"{"type":"note","schema":2,"seq":0,"message":"x"}"#,
    ]
    // One process validates the lines, each in a folder of its own, since the start of Python takes most of the time.
    for (index, line) in lines.enumerated() { try t.file(PathBytes("lines/\(index)/out.1"), line + "\n") }
    try t.file(
      "each.py",
      """
      import contextlib, io, os, runpy
      top = os.getcwd()
      for index in range(\(lines.count)):
          os.chdir(f'{top}/lines/{index}')
          printed = io.StringIO()
          try:
              with contextlib.redirect_stdout(printed): runpy.run_path(f'{top}/validate.py')
              print('found' if len(printed.getvalue().splitlines()) > 1 else 'valid')
          except (AssertionError, KeyError): print('found')
      """)
    let result = try t.shell("python3 each.py '\(Self.schema)'")
    let verdicts = result.text.split(separator: "\n")
    #expect(verdicts.count == lines.count, "\(result.text)\(result.errorText)")
    for (line, verdict) in zip(lines, verdicts) { #expect(verdict == "found", "\(line)") }
  }
}
