import Foundation
import Testing

@testable import Markup

/// What is written is what others read: by the shell, by Python's readers of XML, HTML, CSV and JSON, by gnuplot.
struct RealParserTests {
  private static func path(_ program: String) -> String? {
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(program)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// What a program prints that is given a script.
  private func output(_ program: String, _ script: String, file name: String, input: [String: String] = [:]) throws -> Data {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("genbench-markup-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for (name, text) in input.merging([name: script], uniquingKeysWith: { $1 }) {
      try Data(text.utf8).write(to: folder.appendingPathComponent(name))
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try #require(Self.path(program)))
    process.arguments = [name]
    process.currentDirectoryURL = folder
    process.environment = [
      "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "", "PYTHONIOENCODING": "utf-8", "LC_ALL": "C.UTF-8",
    ]
    let (out, err) = (Pipe(), folder.appendingPathComponent("stderr"))
    try Data().write(to: err)
    let errors = try FileHandle(forWritingTo: err)
    process.standardOutput = out
    process.standardError = errors
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let said = out.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let complaint = (try? String(contentsOf: err, encoding: .utf8)) ?? ""
    try #require(process.terminationStatus == 0, "\(program): \(complaint)")
    return said
  }

  /// What Python reads: a list of texts that the script prints as JSON.
  private func python(_ script: String, _ document: String) throws -> [String] {
    let data = try output("python3", script, file: "read.py", input: ["document": document])
    return try JSONDecoder().decode([String].self, from: data)
  }

  /// Texts are compared scalar by scalar: Swift calls `é` in one scalar and in two the same.
  private func expectSame(_ read: [String], _ written: [String], sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(read.count == written.count, sourceLocation: sourceLocation)
    for (index, pair) in zip(read, written).enumerated() where !pair.0.unicodeScalars.elementsEqual(pair.1.unicodeScalars) {
      Issue.record(
        "text \(index): written \(pair.1.debugDescription), read \(pair.0.debugDescription)", sourceLocation: sourceLocation)
      return
    }
  }

  /// What XML can hold of a text.
  private func holdable(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { scalar in
          let isHeld = scalar.value >= 0x20 || ["\t", "\n", "\r"].contains(scalar)
          return isHeld && !(0xfffe...0xffff).contains(scalar.value) ? scalar : "\u{fffd}"
        }))
  }

  private func oneLine(_ text: String) -> String { OneLine.text(text) }

  @Test func theShellReadsWords() throws {
    let script = AwkwardText.all.map { "printf '%s\\0' \(Shell.word($0))\n" }.joined()
    let read = try output("sh", script, file: "words.sh").split(separator: 0, omittingEmptySubsequences: false).dropLast()
    expectSame(read.map { String(decoding: $0, as: UTF8.self) }, AwkwardText.all)
    #expect(Shell.word("plain-1.5/x=y") == "plain-1.5/x=y" && Shell.word("") == "''" && Shell.word("a\0b") == "'a\u{fffd}b'")
  }

  @Test func theShellReadsHereDocuments() throws {
    // What a here-document can't hold is a line that ends it; carriage returns and all else it can.
    let texts = AwkwardText.all.filter { !$0.unicodeScalars.contains("\n") }
    let script = texts.map { "cat <<END-OF-IT\n\(Shell.hereDocument($0))\nEND-OF-IT\n" }.joined()
    let read = try output("sh", script, file: "words.sh").split(separator: 10, omittingEmptySubsequences: false).dropLast()
    expectSame(read.map { String(decoding: $0, as: UTF8.self) }, texts)
  }

  @Test func pythonReadsXML() throws {
    let rows = AwkwardText.all.map { "<r a=\"\(XML.attribute($0))\">\(XML.text($0))</r>" }
    let read = try python(
      """
      import json, xml.etree.ElementTree as E
      rows = list(E.parse("document").getroot())
      print(json.dumps([r.get("a") for r in rows] + [r.text or "" for r in rows]))
      """, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<all>\(rows.joined())</all>")
    expectSame(read, (AwkwardText.all + AwkwardText.all).map(holdable))
  }

  @Test func pythonReadsHTML() throws {
    let rows = AwkwardText.all.map { "<p title=\"\(XML.attribute($0))\">\(XML.text($0))</p>" }
    let read = try python(
      """
      import json
      from html.parser import HTMLParser
      titles, texts = [], []
      class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
          if tag == "p": titles.append(dict(attributes)["title"]); texts.append("")
          elif tag not in ("html", "head", "meta", "title", "style", "body", "main"): raise SystemExit("a tag out of a text: " + tag)
        def handle_data(self, data):
          if self.lasttag == "p" and self.within: texts[-1] += data
        def feed_all(self, text):
          self.within = False
          self.feed(text); self.close()
        def handle_endtag(self, tag): self.within = False
      reader = Reader()
      original = reader.handle_starttag
      def start(tag, attributes):
        reader.within = tag == "p"
        original(tag, attributes)
      reader.handle_starttag = start
      reader.feed_all(open("document", encoding="utf-8", newline="").read())
      print(json.dumps(titles + texts))
      """, HTMLPage.page(title: AwkwardText.all.joined(), body: rows))
    expectSame(read, (AwkwardText.all + AwkwardText.all).map(holdable))
  }

  @Test func pythonReadsCSV() throws {
    let texts = AwkwardText.all
    let rows = texts.map { [$0] } + texts.enumerated().map { [$0.element, texts[texts.count - 1 - $0.offset], "1"] }
    let read = try python(
      """
      import csv, json
      print(json.dumps([c for row in csv.reader(open("document", encoding="utf-8", newline="")) for c in row]))
      """, CSV.table(rows))
    expectSame(read, rows.flatMap { $0 })
    #expect(CSV.row(["=1+1", "a", ""]) == "=1+1,a,")
  }

  @Test func pythonReadsYAMLAsJSON() throws {
    let read = try python(
      "import json\nprint(json.dumps(json.load(open('document', encoding='utf-8'))))",
      "[" + AwkwardText.all.map(YAML.string).joined(separator: ",") + "]")
    expectSame(read, AwkwardText.all)
  }

  @Test(.enabled(if: path("gnuplot") != nil, "gnuplot isn't installed"))
  func gnuplotReadsStringsAndFormats() throws {
    let script =
      "set encoding utf8\nset print '-'\n"
      + AwkwardText.all.map { "print \(GnuplotText.quoted($0))\nprint gprintf(\(GnuplotText.format($0 + ".")), 1.0)\n" }.joined()
    let read = String(decoding: try output("gnuplot", script, file: "print.gp"), as: UTF8.self).unicodeScalars
      .split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }.dropLast()
    expectSame(Array(read), AwkwardText.all.flatMap { [oneLine($0), oneLine($0) + "."] })
  }

  @Test(.enabled(if: path("gnuplot") != nil, "gnuplot isn't installed"))
  func gnuplotReadsDataStrings() throws {
    let texts = AwkwardText.all.filter { !$0.isEmpty }
    let data = texts.map { "# \(GnuplotText.comment($0))\n1 \(GnuplotText.dataString($0))\n" }.joined()
    let script = """
      set encoding utf8
      set print '-'
      all = ''
      stats 'data.dat' using (all = all . strcol(2) . "\\n", 1) nooutput
      print all
      """
    let read = String(
      decoding: try output("gnuplot", script, file: "print.gp", input: ["data.dat": data]), as: UTF8.self
    ).unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }.dropLast(2)
    let wanted = texts.map { String(String.UnicodeScalarView($0.unicodeScalars.map { $0 == "\"" ? "'" : OneLine.scalar($0) })) }
    expectSame(Array(read), wanted)
  }
}
