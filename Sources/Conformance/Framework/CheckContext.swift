package import Foundation
import Imaging
import Synchronization
package import Tensors

/// What the body of a check works with: fresh implementations, and a log of what happens.
package final class CheckContext<Surface: APISurface>: Sendable {
  /// The subject under test.
  package let subject: Subject<Surface>
  /// What happened.
  package let log = EvidenceLog()
  /// How long something may hang before that's called a failure.
  package let timeout: Duration
  /// The one race to run of those that checks run by seed; nil runs all.
  package let raceSeed: UInt64?
  private let needs: Set<Surface.Implementation.Capability>
  private let noteList = Mutex<[String]>([])
  private let endings = Mutex<[@Sendable () async -> Void]>([])

  init(subject: Subject<Surface>, needs: Set<Surface.Implementation.Capability>, limits: CheckLimits) {
    self.needs = needs
    self.subject = subject
    timeout = limits.timeout
    raceSeed = limits.raceSeed
  }

  /// What the environment offers beside implementations.
  package var facts: Surface.Facts { subject.environment.facts }

  /// Whether the implementation stands on a test double.
  package var isScripted: Bool { subject.environment.kind == .scripted }

  /// Tells something that is worth knowing though the check passes.
  package func note(_ text: String) { noteList.withLock { $0.append(text) } }

  /// Makes a fresh implementation.
  ///
  /// - Throws: ``CheckSkip`` when it can't do what the check needs.
  package func make(_ setup: Surface.Setup) async throws -> Rig<Surface> {
    let instance = try await subject.environment.make(setup, log)
    let missing = needs.subtracting(instance.implementation.capabilities).map(\.rawValue).sorted()
    if !missing.isEmpty { throw CheckSkip("the implementation has no \(missing.joined(separator: ", "))") }
    return Rig(implementation: instance.implementation, scripted: instance.testDouble, setup: setup, context: self)
  }

  /// A folder that goes with the check.
  package func temporaryFolder() throws -> URL {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("genbench-check-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    atEnd { try? FileManager.default.removeItem(at: url) }
    return url
  }

  /// Does something when the check is over, however it ended; the last one first.
  package func atEnd(_ action: @escaping @Sendable () async -> Void) { endings.withLock { $0.append(action) } }

  /// Runs a body, and says how it ended.
  func verdict(_ body: (CheckContext) async throws -> Void) async -> Verdict {
    do {
      try await body(self)
      return .pass(notes: noteList.withLock { $0 })
    } catch let skip as CheckSkip {
      return .skip(reason: skip.reason)
    } catch let failure as CheckFailure {
      return .fail(Evidence(expected: failure.expected, seen: failure.seen, log: log.lines))
    } catch {
      return .error("\(type(of: error)): \(error)")
    }
  }

  /// Lets go of everything that may still wait.
  func finish() async {
    let actions = endings.withLock { list in
      defer { list = [] }
      return list
    }
    for action in actions.reversed() { await action() }
  }

  // MARK: - Expectations

  /// Fails unless `condition` holds.
  package func expect(_ condition: Bool, _ expected: @autoclosure () -> String, seen: @autoclosure () -> String) throws {
    if !condition { throw CheckFailure(expected: expected(), seen: seen()) }
  }

  /// Fails unless both are equal.
  package func expectEqual<Value: Equatable>(_ actual: Value, _ wanted: Value, _ what: String) throws {
    if actual != wanted { throw CheckFailure(expected: "\(what) \(Self.shown(wanted))", seen: Self.shown(actual)) }
  }

  /// Decodes an image; fails when it's neither PNG nor JPEG.
  package func decode(_ data: Data, _ what: String = "imageData") throws -> Bitmap {
    do {
      return try ImageFile.decode([UInt8](data), file: what)
    } catch {
      throw CheckFailure(expected: "\(what): a PNG or JPEG file", seen: "\(data.count) bytes: \(error.message)")
    }
  }

  /// A value for people: what an optional holds, or `nothing`.
  static func shown<Value>(_ value: Value) -> String {
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional else { return "\(value)" }
    return mirror.children.first.map { shown($0.value) } ?? "nothing"
  }
}
