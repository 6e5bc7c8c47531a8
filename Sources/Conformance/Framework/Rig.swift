/// A fresh implementation with what stands around it.
package struct Rig<Surface: APISurface>: Sendable {
  /// The implementation.
  package let implementation: Surface.Implementation
  /// The test double below it; nil over an engine that computes.
  package let scripted: Surface.TestDouble?
  /// How it was made.
  package let setup: Surface.Setup
  /// The check that it was made for.
  package let context: CheckContext<Surface>

  /// The test double; a check that needs it runs in scripted environments alone.
  package var testDouble: Surface.TestDouble {
    get throws {
      guard let scripted else { throw CheckSkip("needs a scripted engine") }
      return scripted
    }
  }

  /// Skips the check when the implementation can't do something.
  package func need(_ capabilities: Surface.Implementation.Capability...) throws {
    for capability in capabilities where !implementation.capabilities.contains(capability) {
      throw CheckSkip("the implementation has no \(capability.rawValue)")
    }
  }

  /// Runs something that must not hang.
  package func within<Value: Sendable>(_ expected: String, _ operation: @escaping @Sendable () async throws -> Value)
    async throws -> Value
  {
    try await Timeout.within(context.timeout, expected, operation)
  }

  /// Lets everything run that was posted to the main queue so far.
  package func settle() async {
    for _ in 0..<4 {
      await MainQueue.drain()
      await Task.yield()
    }
  }
}

extension Rig where Surface.Implementation: ThrowingImplementation {
  /// A failure of this API.
  package typealias ThrownFailure = Failure<Surface.Implementation.Code>

  /// What something fails with; nil when it doesn't.
  package func failure(_ body: () async throws -> Void) async -> ThrownFailure? {
    do {
      try await body()
      return nil
    } catch {
      return implementation.failure(error)
    }
  }

  /// Does something that must succeed; fails with the SDK's own words otherwise.
  package func must<Value>(_ what: String, _ body: (Surface.Implementation) async throws -> Value) async throws -> Value {
    do { return try await body(implementation) } catch let failure as CheckFailure { throw failure } catch {
      throw CheckFailure(expected: "\(what) succeeds", seen: implementation.failure(error).description)
    }
  }

  /// Fails unless `failure` has one of the codes; any code will do when none is given.
  package func expect(_ failure: ThrownFailure?, _ codes: [Surface.Implementation.Code] = [], _ what: String) throws {
    let wanted = codes.isEmpty ? "" : " " + codes.map { "\($0)" }.joined(separator: " or ")
    guard let failure else { throw CheckFailure(expected: "\(what): error\(wanted)", seen: "success") }
    try context.expect(
      codes.isEmpty || failure.code.map(codes.contains) ?? false, "\(what): error\(wanted)", seen: failure.description)
  }
}
