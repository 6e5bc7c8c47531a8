import Conformance
import Foundation
import GenBackend
import Running
import Synchronization
import TestSupport
import Testing

@testable import GenbenchCLI

/// The subjects that `genbench conform` judges, and all goldens as checks.
enum Subjects {
  static let scripted = ConformSubjects.scripted

  /// The one over a script that offers an API.
  static func scripted(_ surface: SurfaceKind) throws -> AnySubject {
    try #require(ConformSubjects.allScripted.first { $0.surface == surface })
  }

  /// The engine in the box; its memory isn't judged here, as other tests run in the same process.
  static func engine(_ surface: SurfaceKind = .diffusion) throws -> AnySubject {
    try #require(try made.get().first { $0.surface == surface })
  }

  private static let made = Result {
    try ConformSubjects(
      backend: BackendSpecification(threads: 2), fixtures: Fixtures.folder,
      makeBackend: { try await GenbenchCommandLine.makeBackend($0) },
      judgesMemory: false
    ).allOverEngine()
  }
}

/// Runs `genbench` in this process.
func genbench(_ words: String..., environment: [String: String] = [:], backend: (any GenBackend)? = nil) async -> (
  code: Int32, out: String, err: String
) {
  let (out, err) = (Box(""), Box(""))
  let console = Console(style: Console.Style(), out: { out.append($0) }, error: { err.append($0) })
  let home = ["GENBENCH_HOME": Fixtures.packageFolder.path]
  let context = CommandContext(console: console, environment: home.merging(environment) { $1 }, words: words) { specification in
    if let backend { return backend }
    return try await GenbenchCommandLine.makeBackend(specification)
  }
  let status = await GenbenchCommandLine.run(context)
  return (status.code, out.text, err.text)
}

/// A text that grows.
final class Box: Sendable {
  private let content: Mutex<String>
  init(_ text: String) { content = Mutex(text) }
  var text: String { content.withLock { $0 } }
  func append(_ text: String) { content.withLock { $0 += text } }
}
