import BatchEngine
import Foundation
import TestSupport
import Testing

/// Draws the pages with a browser. `BATCHPROC_SCREENSHOTS` names a folder that keeps the pictures.
@Suite(.enabled(if: Host.hasBrowser && Host.hasPython, "needs chromium and python3"))
struct ReportBrowserTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTree()
  }

  private static let kept = ProcessInfo.processInfo.environment["BATCHPROC_SCREENSHOTS"]

  /// A script that draws a page, and prints the browser's console messages and properties of the picture.
  private static let draw = #"""
    draw() { # page, name, width, height, scheme: 0 dark, 1 light
      timeout 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --user-data-dir=$PWD/profile \
        --disable-extensions --disable-background-networking --disable-component-update --disable-sync --disable-default-apps \
        --enable-logging=stderr --blink-settings=preferredColorScheme=$5 --window-size=$3,$4 --screenshot=$2.png \
        "file://$PWD/$1" 2>log || echo "chromium failed: $(tail -n 3 log)"
      grep CONSOLE log; python3 look.py $2.png
      [ -z "$KEEP" ] || cp $2.png "$KEEP/"
    }
    """#

  /// Reads a picture: its size, the brightness of its margin, the distance of the text from it, and whether
  /// something extends beyond the right margin.
  private static let look = #"""
    import itertools, struct, sys, zlib
    data = open(sys.argv[1], 'rb').read()
    width, height, depth, kind = struct.unpack('>IIBB', data[16:26])
    assert depth == 8 and kind in (2, 6), (depth, kind)
    size, place, packed = 3 if kind == 2 else 4, 8, b''
    while place < len(data):
        length, name = struct.unpack('>I4s', data[place:place + 8])
        if name == b'IDAT': packed += data[place + 8:place + 8 + length]
        place += 12 + length
    raw, rows, last = zlib.decompress(packed), [], bytes(width * size)
    for y in range(height):
        start = y * (width * size + 1)
        filter, row = raw[start], bytearray(raw[start + 1:start + 1 + width * size])
        # The filters of most rows are decoded a row or a channel at a time, which is faster.
        if filter == 1:
            for channel in range(size):
                row[channel::size] = bytes(value & 255 for value in itertools.accumulate(row[channel::size]))
        elif filter == 2 and not any(row): row = last
        elif filter == 2: row = bytearray(one + other & 255 for one, other in zip(row, last))
        for channel in range(size) if filter > 2 else ():
            left = corner = 0
            for x in range(channel, len(row), size):
                above = last[x]
                if filter == 3: near = (left + above) // 2
                elif above == corner: near = left
                elif left == corner: near = above
                else:
                    p = left + above - corner
                    near = min((abs(p - left), 0, left), (abs(p - above), 1, above), (abs(p - corner), 2, corner))[2]
                left = row[x] = row[x] + near & 255
                corner = above
        rows.append(row)
        last = row
    def light(row, x): return sum(row[x * size:x * size + 3]) // 3
    margin = light(rows[2], 2)
    contrast = max(abs(light(row, x) - margin) for row in rows[:120] for x in range(0, width, 2))
    colors = len({bytes(row[x * size:x * size + 3]) for row in rows[::3] for x in range(0, width, 3)})
    beyond = sum(any(abs(light(row, x) - margin) > 4 for x in (width - 1, width - 3)) for row in rows)
    print(width, height, 'light' if margin > 235 else 'dark' if margin < 40 else 'grey', contrast > 150, colors > 10, beyond)
    """#

  /// Draws a page in both themes, wide and narrow.
  private func check(_ page: String) throws {
    try t.file("look.py", Self.look)
    let run = try t.shell(
      """
      \(Self.draw)
      draw \(page).html \(page)-light 1100 700 1; draw \(page).html \(page)-dark 1100 700 0
      draw \(page).html \(page)-narrow 400 900 0
      """, environment: ["KEEP": Self.kept ?? ""], seconds: 240)
    #expect(
      run.text == """
        1100 700 light True True 0
        1100 700 dark True True 0
        400 900 dark True True 0

        """, "\(page): \(run.text)\(run.errorText)")
  }

  @Test("a page of a run is drawn in both themes without a console message")
  func run() throws {
    try t.file("h/<script>alert(1)<", "x")
    try t.file(PathBytes(Array("h/\"onload='x' \u{202e}gpj".utf8)), "x")
    try t.file(PathBytes([UInt8](repeating: 0x57, count: 250)), "x")
    try t.shell(
      """
      mkfifo t/pipe
      $BP compress -q --compress-all --report run.html --output-dir o t h W* nowhere
      $BP hash -q t h >m
      echo x >>t/text
      $BP check -q --report check.html m
      """)
    try check("run")
    try check("check")
  }

  @Test("a page of backup sets is drawn in both themes without a console message")
  func sets() throws {
    try t.shell(
      """
      for n in $(seq 20); do seq $((n * n * 100)) >t/n$n; $BP backup -q --no-fsync --to set t; done
      $BP backup -q --to set --name '<script>alert(1)<|script>' t; $BP drill -q --name backup set
      rm $(ls set/backup*.tar.zst | tail -n 1); $BP report set -o sets.html
      """, seconds: 120)
    try check("sets")
  }
}
