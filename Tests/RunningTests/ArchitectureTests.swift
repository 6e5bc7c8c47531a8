import Foundation
import TestSupport
import Testing

/// `docs/architecture.md` tells the targets and their arrows; `Package.swift` has them.
@Suite struct ArchitectureTests {
  private struct Row: Equatable {
    var dependencies: Set<String>
    var place: Int
  }

  /// The rows of the table: `| target | depends on | holds |`.
  private func table(_ text: String) -> [String: Row] {
    var rows: [String: Row] = [:]
    for line in text.split(separator: "\n") where line.hasPrefix("| `") {
      let cells = line.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
      guard cells.count == 5 else { continue }
      let dependencies = Set(names(cells[2]))
      for name in names(cells[1]) { rows[name] = Row(dependencies: dependencies, place: rows.count) }
    }
    return rows
  }

  private func names(_ text: String) -> [String] {
    text.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }.map {
      String($0.element)
    }
  }

  /// The targets of the manifest's text with what they depend on; those that are made from a list are named in the list.
  private func targets(_ manifest: String) -> [String: Set<String>] {
    var targets: [String: Set<String>] = [:]
    // The fast kernels are one target for each instruction set, from a list.
    let variants = manifest.matches(of: #/\("(KernelsFast\w+)", "Fast/#).map { String($0.1) }
    if let rule = manifest.firstMatch(of: #/name: variant\.name, dependencies: \[([^\]]*)\]/#) {
      let dependencies = Set(rule.1.matches(of: #/"(\w+)"/#).map { String($0.1) })
      for name in variants { targets[name] = dependencies }
    }
    let pattern = #/\.(?:target|executableTarget|systemLibrary|testTarget)\(\s*name: "(\w+)"/#
    let starts = manifest.matches(of: pattern)
    for (index, match) in starts.enumerated() {
      let end = index + 1 < starts.count ? starts[index + 1].range.lowerBound : manifest.endIndex
      let body = manifest[match.range.upperBound..<end]
      var dependencies: Set<String> = []
      if let list = body.firstMatch(of: #/dependencies:\s*\[([^\]]*)\]/#) {
        dependencies = Set(list.1.matches(of: #/"(\w+)"/#).map { String($0.1) })
      }
      if body.contains("fastVariants.map") { dependencies.formUnion(variants) }
      targets[String(match.1)] = dependencies
    }
    return targets
  }

  private func text(_ name: String) throws -> String {
    try String(contentsOf: Fixtures.packageFolder.appendingPathComponent(name), encoding: .utf8)
  }

  @Test func theTableHasTheTargetsAndTheirArrows() throws {
    let rows = table(try text("docs/architecture.md"))
    let targets = targets(try text("Package.swift")).filter { name, _ in
      !name.hasSuffix("Tests") && name != "TestSupport" && name != "GreetingCardsExample"
    }
    #expect(targets.count > 20 && targets["Running"]?.contains("Reporting") == true, "the manifest is read")
    #expect(Set(rows.keys) == Set(targets.keys))
    for (name, dependencies) in targets.sorted(by: { $0.key < $1.key }) {
      #expect(rows[name]?.dependencies == dependencies, "\(name): the manifest says \(dependencies.sorted())")
    }
  }

  /// A row depends on rows above it alone, so that arrows have one direction.
  @Test func arrowsPointUp() throws {
    let rows = table(try text("docs/architecture.md"))
    for (name, row) in rows {
      for dependency in row.dependencies {
        let place = try #require(rows[dependency]?.place, "\(name) depends on \(dependency), which has no row")
        #expect(place < row.place, "\(name) stands above \(dependency)")
      }
    }
  }

  @Test func nothingBelowDependsOnTheCommandLine() throws {
    let targets = targets(try text("Package.swift"))
    for name in ["Running", "Reporting", "Measurement", "GenBackend"] {
      let dependencies = try #require(targets[name])
      #expect(
        dependencies.isDisjoint(with: ["GenbenchCLI", "ReferenceEngine", "RunAnywhere", "TSAIKit", "PlaygroundKit"]), "\(name)")
    }
  }
}
