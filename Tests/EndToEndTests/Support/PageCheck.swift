import BatchEngine
import Foundation
import TestSupport
import Testing

/// A strict checker for pages: the elements of the HTML must be closed, and it must contain no active
/// content.
extension TreeFixture {
  /// The faults of a page, one on each line.
  func faults(ofPage path: String) throws -> String {
    try file("check-page.py", Self.pageCheck)
    let run = try shell("python3 check-page.py '\(path)'")
    return run.text + run.errorText
  }

  /// The faults of several pages, one on each line, with the name of the page.
  func faults(ofPages paths: [String]) throws -> String {
    try file("check-page.py", Self.pageCheck)
    try file(
      "check-pages.py",
      """
      import contextlib, io, runpy, sys
      for page in sys.argv[1:]:
          sys.argv[1:] = [page]
          found = io.StringIO()
          with contextlib.redirect_stdout(found): runpy.run_path('check-page.py')
          for line in found.getvalue().splitlines(): print(page, line)
      """)
    let run = try shell("python3 check-pages.py \(paths.map { "'\($0)'" }.joined(separator: " "))")
    return run.text + run.errorText
  }

  /// The visible text of a page, one line for each piece.
  func text(ofPage path: String) throws -> [String] {
    try file("check-page.py", Self.pageCheck)
    return try shell("python3 check-page.py --text '\(path)'").text.split(separator: "\n").map(String.init)
  }

  private static let pageCheck = #"""
    import base64, hashlib, re, sys, unicodedata
    from html.parser import HTMLParser
    VOID = {'meta'}
    SHAPES = {'path', 'line', 'circle'}
    ALLOWED = {
      'html': {'lang'}, 'head': set(), 'meta': {'charset', 'http-equiv', 'content', 'name'}, 'title': {'id'}, 'style': set(),
      'body': set(), 'main': set(), 'header': set(), 'section': {'id'}, 'a': {'href'}, 'footer': set(), 'h1': set(), 'h2': set(), 'h3': set(),
      'p': {'class'}, 'span': {'class'}, 'bdi': {'class'}, 'dl': {'class'}, 'dt': set(), 'dd': set(),
      'div': {'class', 'role', 'tabindex', 'aria-label'}, 'table': set(), 'caption': set(), 'thead': set(), 'tbody': set(),
      'tr': set(), 'th': {'scope', 'class'}, 'td': {'class'}, 'figure': set(), 'figcaption': set(),
      'svg': {'viewbox', 'role', 'aria-labelledby'}, 'desc': {'id'}, 'path': {'class', 'd'},
      'line': {'class', 'x1', 'x2', 'y1', 'y2'}, 'circle': {'class', 'cx', 'cy', 'r'}, 'text': {'x', 'y', 'text-anchor'}}
    PARENTS = {'tr': {'thead', 'tbody'}, 'td': {'tr'}, 'th': {'tr'}, 'thead': {'table'}, 'tbody': {'table'}, 'caption': {'table'},
      'dt': {'div'}, 'dd': {'div'}, 'figcaption': {'figure'}, 'head': {'html'}, 'body': {'html'}, 'main': {'body'},
      'path': {'svg'}, 'line': {'svg'}, 'circle': {'svg'}, 'text': {'svg'}, 'desc': {'svg'}, 'title': {'head', 'svg'}, 'style': {'head'}}
    PHRASING = {'p', 'span', 'bdi', 'h1', 'h2', 'h3', 'title', 'desc', 'text', 'caption', 'dt'}
    class Check(HTMLParser):
        def __init__(self):
            super().__init__(convert_charrefs=False)
            self.open, self.faults, self.ids, self.refs, self.style, self.policy, self.texts = [], [], set(), set(), '', None, []
            self.rows, self.columns = None, None
        def fault(self, text): self.faults.append('line %d: %s' % (self.getpos()[0], text))
        def start(self, tag, attributes):
            if tag not in ALLOWED: return self.fault('element ' + tag)
            names = [name for name, _ in attributes]
            if len(set(names)) != len(names): self.fault('attribute twice in ' + tag)
            for name, value in attributes:
                if name not in ALLOWED[tag]: self.fault('attribute %s of %s' % (name, tag))
                if value is None: self.fault('attribute without value: ' + name)
                if name == 'id':
                    if value in self.ids: self.fault('id twice: ' + value)
                    self.ids.add(value)
                if name == 'href' and not re.fullmatch(r'#s\d+', value): self.fault('link: ' + value)
                if name == 'aria-labelledby': self.refs.update(value.split())
                if name in {'x', 'y', 'x1', 'x2', 'y1', 'y2', 'cx', 'cy', 'r'} and not re.fullmatch(r'-?\d+(\.\d)?', value):
                    self.fault('no number: ' + value)
                if name == 'd' and not re.fullmatch(r'M[-\d. MHVLZ]*', value): self.fault('no path: ' + value)
            if tag == 'meta' and ('http-equiv', 'Content-Security-Policy') in attributes: self.policy = dict(attributes)['content']
            parent = self.open[-1] if self.open else None
            if tag in PARENTS and parent not in PARENTS[tag]: self.fault('%s in %s' % (tag, parent))
            if parent in PHRASING and tag not in {'span', 'bdi'}: self.fault('%s in %s' % (tag, parent))
            if tag == 'tr': self.columns = 0
            if tag in {'td', 'th'}: self.columns += 1
            if tag == 'table': self.rows = set()
        def handle_starttag(self, tag, attributes):
            if tag in SHAPES: self.fault('shape that is not closed: ' + tag)
            self.start(tag, attributes)
            if tag not in VOID: self.open.append(tag)
        def handle_startendtag(self, tag, attributes):
            if tag not in SHAPES: self.fault('closed in itself: ' + tag)
            self.start(tag, attributes)
        def handle_endtag(self, tag):
            if not self.open or self.open.pop() != tag: self.fault('end of ' + tag)
            if tag == 'tr': self.rows.add(self.columns)
            if tag == 'table' and len(self.rows) != 1: self.fault('rows of several lengths: %s' % self.rows)
        def handle_data(self, data):
            if self.open and self.open[-1] == 'style': self.style += data
            elif '<' in data or '>' in data or '&' in data: self.fault('not escaped: ' + data[:60])
            else: self.texts.append(data)
        def handle_entityref(self, name):
            if name not in {'amp', 'lt', 'gt', 'quot'}: self.fault('entity ' + name)
            self.texts.append({'amp': '&', 'lt': '<', 'gt': '>', 'quot': '"'}.get(name, ''))
        def handle_charref(self, name):
            if name != '39': self.fault('character ' + name)
            self.texts.append("'")
        def handle_decl(self, text):
            if text != 'DOCTYPE html' or self.getpos() != (1, 0): self.fault('declaration ' + text)
        def handle_comment(self, text): self.fault('comment ' + text)
        def handle_pi(self, text): self.fault('instruction ' + text)
        def unknown_decl(self, text): self.fault('declaration ' + text)
    raw = open(sys.argv[-1], 'rb').read()
    page = raw.decode('utf-8')
    check = Check()
    check.feed(page)
    check.close()
    if sys.argv[1] == '--text':
        print(re.sub(r'\n\s*', '\n', re.sub(r'<[^>]*>', '\n', re.sub(r'<style>.*?</style>', '', page, flags=re.S)))
          .replace('&lt;', '<').replace('&gt;', '>').replace('&quot;', '"').replace('&#39;', "'").replace('&amp;', '&'))
        sys.exit()
    if check.open: check.fault('not closed: %s' % check.open)
    if not page.startswith('<!DOCTYPE html>\n<html lang="en">'): check.fault('no doctype')
    for number, character in enumerate(page):
        if unicodedata.category(character) in {'Cc', 'Cs'} and character != '\n' or ord(character) & 0xfffe == 0xfffe \
          or 0xfdd0 <= ord(character) <= 0xfdef or character in '\u061c\u200e\u200f\u2028\u2029' \
          or '\u202a' <= character <= '\u202e' or '\u2066' <= character <= '\u2069':
            check.fault('character %#x' % ord(character))
    for word in ('url(', '@import', 'http:', 'https:', 'expression', 'javascript'):
        if word in check.style: check.fault('in the style: ' + word)
    digest = base64.b64encode(hashlib.sha256(check.style.encode()).digest()).decode()
    if check.policy != "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'" % digest:
        check.fault('policy %s' % check.policy)
    if check.refs - check.ids: check.fault('missing: %s' % (check.refs - check.ids))
    print(*check.faults, sep='\n', end='\n' if check.faults else '')
    """#
}
