import Foundation
import GenBackend
import TestSupport
import Testing

@testable import GenbenchCLI
@testable import Running

/// A command that shows what it was given.
private struct EchoCommand: Command {
  static let configuration = CommandDescription(
    name: "echo", abstract: "Echo.", arguments: [CommandArgument("file", "A file.", isOptional: true)],
    options: [
      .value("steps", short: "s", "n", "Steps.", default: "20"), .value("name", short: "n", "text", "A name.", isRequired: true),
      .value("mode", "mode", "A mode.", values: ["fast", "slow"]), .flag("json", short: "j", "JSON."),
      .flag("verbose", short: "v", "Talk."), .invertible("color", "Colours."),
      .value("size", "list", "Sizes.", isRepeatable: true), .value("scale", "x", "Scale."), .value("seed", "n", "Seed."),
    ])
  let values: ParsedValues
  init(_ values: ParsedValues) throws(UsageError) { self.values = values }
  func run(_ context: CommandContext) async throws -> ProgramExit { .success }
}

private struct ToolCommand: Command {
  static let configuration = CommandDescription(
    name: "tool", abstract: "A tool.", subcommands: [EchoCommand.self], defaultSubcommand: "echo")
  init(_ values: ParsedValues) throws(UsageError) { throw UsageError("no subcommand") }
  func run(_ context: CommandContext) async throws -> ProgramExit { .success }
}

private func values(_ words: String...) throws -> ParsedValues {
  let outcome = try ArgumentParser(root: ToolCommand.self, version: "9").parse(["echo"] + words)
  guard case .command(let command, _) = outcome, let echo = command as? EchoCommand else {
    throw UsageError("no command, but \(outcome)")
  }
  return echo.values
}

private func message(_ words: String...) -> String? {
  do {
    _ = try ArgumentParser(root: ToolCommand.self, version: "9").parse(words)
    return nil
  } catch {
    return error.message
  }
}

@Suite struct ArgumentParserTests {
  @Test(arguments: [
    ["--steps", "5"], ["--steps=5"], ["-s", "5"], ["-s=5"], ["-js", "5"], ["-vjs=5"],
  ])
  func valuesMayBeGivenInEveryForm(words: [String]) throws {
    let outcome = try ArgumentParser(root: ToolCommand.self, version: "9").parse(["echo", "--name", "x"] + words)
    guard case .command(let command, let path) = outcome, let echo = command as? EchoCommand else {
      Issue.record("no command")
      return
    }
    #expect(try echo.values.int("steps", in: 1...10) == 5)
    #expect(path == ["tool", "echo"])
  }

  @Test func emptyAndOddValuesAreKept() throws {
    let parsed = try values("--name=", "--size=1,2", "--size", "3x4", "a=b")
    #expect(parsed.string("name") == "")
    #expect(try parsed.sizes("size").map(\.description) == ["1x1", "2x2", "3x4"])
    #expect(parsed.positionals == ["a=b"])
    #expect(try values("--name", "-").string("name") == "-")
    #expect(try values("--name=--json").string("name") == "--json")
    #expect(try values("--name=a=b=c").string("name") == "a=b=c")
  }

  @Test func theLastOfRepeatedValuesCounts() throws {
    #expect(try values("--name", "a", "--name", "b").string("name") == "b")
    #expect(try values("--name", "a", "--color", "--no-color").flag("color") == false)
  }

  @Test func flagsAreThreeValued() throws {
    #expect(try values("--name", "a").flag("color") == nil)
    #expect(try values("--name", "a", "--color").flag("color") == true)
    #expect(try values("--name", "a", "-vj").flag("verbose") == true)
  }

  @Test func afterTwoDashesAllIsArguments() throws {
    #expect(try values("--name", "a", "--", "--json").positionals == ["--json"])
  }

  @Test func negativeNumbersAreValues() throws {
    #expect(try values("--name", "a", "--seed", "-1").seed("seed") == UInt64.max)
    #expect(try values("--name", "a", "-5").positionals == ["-5"])
    #expect(try values("--name", "a", "--seed", "18446744073709551615").seed("seed") == UInt64.max)
  }

  @Test func withoutAVerbTheDefaultCommandIsMeant() throws {
    let outcome = try ArgumentParser(root: ToolCommand.self, version: "9").parse(["--name", "x"])
    guard case .command(_, let path) = outcome else {
      Issue.record("no command")
      return
    }
    #expect(path == ["tool", "echo"])
  }

  @Test func versionAndHelpAreTexts() throws {
    for words in [
      ["--version"], ["--help"], ["-h"], ["help"], ["help", "echo"], ["echo", "--help"], ["echo", "--steps", "1", "-h"],
    ] {
      guard case .text(let text) = try ArgumentParser(root: ToolCommand.self, version: "9").parse(words) else {
        Issue.record("\(words): no text")
        continue
      }
      #expect(words == ["--version"] ? text == "9" : text.hasPrefix("OVERVIEW: "))
    }
  }

  @Test(arguments: [
    (["echo", "--stepz", "1"], "Unknown option '--stepz'. Did you mean '--steps'?"),
    (["echo", "--no-colour"], "Unknown option '--no-colour'. Did you mean '--no-color'?"),
    (["echo", "--zebra"], "Unknown option '--zebra'"), (["echo", "-x"], "Unknown option '-x'"),
    (["echo", "--name"], "Missing value for '--name <text>'"),
    (["echo", "--name", "--json"], "Missing value for '--name <text>'; write --name=VALUE when it begins with a dash"),
    (["echo"], "Missing expected argument '--name <text>'"),
    (["echo", "--name", "x", "a", "b"], "Unexpected argument 'b'"),
    (["echo", "--name", "x", "a", "b", "c"], "2 unexpected arguments: 'b', 'c'"),
    (["echo", "--json=1"], "The option '--json' takes no value"),
    (["echo", "--no-color=1"], "The option '--no-color' takes no value"),
    (
      ["echo", "--mode", "fsat", "--name", "x"],
      "The value 'fsat' is invalid for '--mode <mode>'. Please provide one of fast, slow. Did you mean 'fast'?"
    ),
    (["ecoh"], "Unknown command 'ecoh'. Did you mean 'echo'?"), (["zzzzzz"], "Unknown command 'zzzzzz'"),
    (["help", "ehco"], "Unknown command 'ehco'. Did you mean 'echo'?"),
  ])
  func mistakesAreNamed(words: [String], expected: String) {
    #expect(
      throws: UsageError.self,
      performing: { _ = try ArgumentParser(root: ToolCommand.self, version: "9").parse(words) })
    do {
      _ = try ArgumentParser(root: ToolCommand.self, version: "9").parse(words)
    } catch {
      #expect(error.message == expected)
    }
  }

  @Test(arguments: ["x", "", "0", "11", "1.5", "1e3", "99999999999999999999", " 5"])
  func badWholeNumbersAreRefused(text: String) throws {
    let parsed = try values("--name", "a", "--steps=\(text)")
    let error = #expect(throws: UsageError.self) { try parsed.int("steps", in: 1...10) }
    #expect(error?.message == "The value '\(text)' is invalid for '--steps <n>': expected a whole number in 1...10")
  }

  @Test(arguments: ["nan", "NaN", "inf", "-inf", "x", "", "-0.1", "1.1"])
  func badNumbersAreRefused(text: String) throws {
    let parsed = try values("--name", "a", "--scale=\(text)")
    #expect(throws: UsageError.self) { try parsed.double("scale", in: 0...1) }
  }

  @Test(arguments: ["x", "5x", "x5", "1x2x3", "0", "-1x4", "99999x1", "1.5"])
  func badSizesAreRefused(text: String) throws {
    let parsed = try values("--name", "a", "--size=\(text)")
    #expect(throws: UsageError.self) { try parsed.sizes("size") }
  }

  @Test(arguments: [("kitten", "sitting", 3), ("", "abc", 3), ("ab", "ba", 1), ("same", "same", 0), ("steps", "step", 1)])
  func distances(left: String, right: String, expected: Int) {
    #expect(Suggestion.distance(left, right) == expected)
    #expect(Suggestion.distance(right, left) == expected)
  }

  @Test func aLongBeginningIsAHint() {
    #expect(Suggestion.nearest(to: "--guid", among: ["--guidance-scale", "--width"]) == "--guidance-scale")
    #expect(Suggestion.nearest(to: "xyz", among: ["run", "generate"]) == nil)
  }
}

@Suite struct HelpTests {
  private static let pages = [
    "genbench", "genbench run", "genbench generate", "genbench describe", "genbench complete", "genbench tokenize",
    "genbench schedule", "genbench latents", "genbench serve-stdio",
    "genbench models",
    "genbench models list", "genbench models show", "genbench models plan", "genbench compare", "genbench baseline",
    "genbench baseline save", "genbench baseline list", "genbench baseline show", "genbench baseline delete",
    "genbench calibrate",
    "genbench diff", "genbench report", "genbench plot", "genbench history", "genbench history import", "genbench history list",
    "genbench history trend", "genbench history query", "genbench doctor", "genbench schema",
    "genbench models register", "genbench models download", "genbench models verify", "genbench models remove",
  ]

  /// `GENBENCH_RECORD=all` writes the pages anew.
  @Test(arguments: pages)
  func pagesAreAsRecorded(page: String) async throws {
    let words = page.split(separator: " ").dropFirst().map(String.init)
    let result = await genbench(["help"] + words)
    let file = Fixtures.packageFolder.appendingPathComponent(
      "Tests/GenbenchCLITests/Snapshots/help-\(page.replacing(" ", with: "-")).txt")
    if ProcessInfo.processInfo.environment["GENBENCH_RECORD"] == "all" { try Data(result.out.utf8).write(to: file) }
    #expect(result.out == String(decoding: try Data(contentsOf: file), as: UTF8.self))
    #expect(result.status == .success)
    #expect(await genbench(words + ["--help"]).out == result.out)
  }

  @Test(arguments: pages)
  func noLineIsTooLong(page: String) async {
    let words = page.split(separator: " ").dropFirst().map(String.init)
    for line in await genbench(["help"] + words).out.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
  }
}
