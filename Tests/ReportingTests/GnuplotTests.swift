import Foundation
import Testing

@testable import Reporting

@Suite struct GnuplotTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let isInstalled = Gnuplot.executable(environment: environment) != nil

  /// Names that break naive scripts: underscores, quotes, backslashes, percent signs, backquotes, line breaks, Unicode.
  private static let awkward = [
    "sd_15/it's_\"quoted\"", "back\\slash \\n {/Symbol a} ^2 _3", "100 % `date` @x $1 #5", "日本語 🐈 ± é", "two\nlines\ttab",
  ]

  private func folder() throws -> URL {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("gnuplot-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    return url
  }

  @Test(.enabled(if: isInstalled, "gnuplot isn't installed"))
  func awkwardNamesAreDrawn() throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let run = sampleRun(names: Self.awkward)
    for figure in [RunFigures.stepTimes(run), RunFigures.memory(run)] {
      let figure = try #require(figure)
      #expect(try Gnuplot.draw(figure, in: folder, environment: Self.environment) == .drawn)
      let png = try Data(contentsOf: folder.appendingPathComponent(figure.name + ".png"))
      #expect(png.starts(with: [0x89, 0x50, 0x4e, 0x47]) && png.count > 5000)
      let svg = String(decoding: try Data(contentsOf: folder.appendingPathComponent(figure.name + ".svg")), as: UTF8.self)
      #expect(svg.contains("<svg") && svg.contains("日本語"))
      if figure.name == "steps" {
        #expect(svg.contains("sd_15/it's_&quot;quoted&quot;") || svg.contains("sd_15/it's_\"quoted\""))
        #expect(svg.contains("`date`"), "no command was run")
      }
    }
  }

  /// The `.gp` is of use without this program: run again in its folder it draws the same.
  @Test(.enabled(if: isInstalled, "gnuplot isn't installed"))
  func theScriptRunsByItself() throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let figure = try #require(RunFigures.stepTimes(sampleRun()))
    #expect(try Gnuplot.draw(figure, in: folder, environment: Self.environment) == .drawn)
    try FileManager.default.removeItem(at: folder.appendingPathComponent("steps.png"))
    let process = Process()
    process.executableURL = Gnuplot.executable(environment: Self.environment)
    process.arguments = ["steps.gp"]
    process.currentDirectoryURL = folder
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(FileManager.default.fileExists(atPath: folder.appendingPathComponent("steps.png").path))
  }

  /// A gnuplot of our own: what it leaves behind is looked at, not only how it ends.
  @Test(
    arguments: [
      ("exit 0", "x.png isn't whole"), ("printf x > x.png; echo '<svg></svg>' > x.svg", "x.png isn't whole"),
      (#"printf 'PIEND\256B`\202' > x.png; printf '<svg>' > x.svg"#, "x.svg isn't whole"),
      (#"printf 'PIEND\256B`\202' > x.png; : > x.svg"#, "x.svg isn't whole"), ("echo no >&2; exit 0", "no"),
      ("echo bad terminal >&2; exit 3", "bad terminal"), ("exit 3", "exit 3"),
      (#"printf 'PIEND\256B`\202' > x.png; echo '<svg></svg>' > x.svg"#, nil),
    ] as [(String, String?)])
  func picturesAreLookedAt(script: String, complaint: String?) throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let program = folder.appendingPathComponent("gnuplot")
    try Data("#!/bin/sh\n\(script)\n".utf8).write(to: program)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.path)
    // Pictures of an earlier drawing don't count.
    try Data("PIEND\u{AE}B`\u{82}".unicodeScalars.map { UInt8($0.value) }).write(to: folder.appendingPathComponent("x.png"))
    try Data("<svg></svg>".utf8).write(to: folder.appendingPathComponent("x.svg"))
    let outcome = try Gnuplot.draw(
      .init(name: "x", data: "1\n", commands: "plot 'x.dat'"), in: folder, environment: ["GENBENCH_GNUPLOT": program.path])
    if let complaint {
      #expect(outcome.complaint(about: "x")?.contains(complaint) == true, "\(outcome)")
    } else {
      #expect(outcome == .drawn && outcome.complaint(about: "x") == nil)
    }
  }

  @Test(.enabled(if: isInstalled, "gnuplot isn't installed"))
  func aBrokenScriptIsAnOutcome() throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let outcome = try Gnuplot.draw(
      .init(name: "x", data: "", commands: "plot nonsense("), in: folder, environment: Self.environment)
    guard case .failed(let reason) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(!reason.isEmpty)
  }

  @Test func withoutGnuplotTheFilesAreKept() throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let figure = try #require(RunFigures.memory(sampleRun()))
    for environment in [[:], ["PATH": "/nowhere"], ["GENBENCH_GNUPLOT": "/nowhere/gnuplot", "PATH": "/usr/bin"]] {
      #expect(try Gnuplot.draw(figure, in: folder, environment: environment) == .missing)
    }
    #expect(FileManager.default.fileExists(atPath: folder.appendingPathComponent("memory.gp").path))
    #expect(FileManager.default.fileExists(atPath: folder.appendingPathComponent("memory.dat").path))
  }

  @Test func anUnwritableFolderThrows() {
    #expect(throws: (any Error).self) {
      try Gnuplot.draw(
        .init(name: "x", data: "", commands: ""), in: URL(fileURLWithPath: "/proc/nowhere"), environment: [:])
    }
  }

  @Test func nothingMeasuredMeansNoFigure() {
    var run = sampleRun()
    for index in run.cases.indices { run.cases[index].sessions = [] }
    #expect(RunFigures.stepTimes(run) == nil && RunFigures.memory(run) == nil)
  }

  @Test func theDataHasWhatTheRunHas() throws {
    let data = try #require(RunFigures.stepTimes(sampleRun())).data
    #expect(data.contains("1 0.4 0.4 0.4\n2 0.300001 0.3 0.300002"))
    #expect(data.components(separatedBy: "\n\n\n").count == 2, "one block a case")
    let memory = try #require(RunFigures.memory(sampleRun())).data
    #expect(memory.contains("1 1 nan nan\n2 1 nan nan"))
  }
}
