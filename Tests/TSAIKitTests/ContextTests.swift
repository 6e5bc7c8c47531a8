import Dispatch
import Foundation
import Synchronization
import TSAIKit
import Testing

/// Contexts, and what the checks of the catalogue can't see from outside.
struct ContextTests {
  @Test func theSharedInstanceHasNoContextUntilOneIsActivated() {
    let kit = TSAIKit()
    #expect(kit.activeContext == nil)
    let context = TSAIContext(imageProvider: ClosureProvider())
    kit.activate(context)
    #expect(kit.activeContext === context && context.supportsAIFeatures(.imageGeneration))
    kit.deactivate()
    #expect(kit.activeContext == nil)
    #expect(TSAIKit.sharedInstance === TSAIKit.sharedInstance)
  }

  @Test func aContextWithoutTheFeatureSupportsNothing() async {
    let kit = TSAIKit()
    let context = TSAIContext(features: [], imageProvider: ClosureProvider())
    kit.activate(context)
    #expect(!context.supportsAIFeatures(.imageGeneration) && context.supportsAIFeatures([]))
    #expect(await context.imageGeneration.images("a boat", config()).error?.code == .notSupported)
    #expect(await context.imageGeneration.styles().1?.code == .notSupported)
  }

  @Test func aContextWithoutAProviderSaysSo() async {
    let kit = TSAIKit()
    let context = TSAIContext(imageProvider: nil)
    kit.activate(context)
    #expect(!context.supportsAIFeatures(.imageGeneration) && context.imageGeneration.maximumImageCount == 0)
    #expect(await context.imageGeneration.images("a boat", config()).error?.code == .providerUnavailable)
  }

  @Test func beforeActivationACallIsInactive() async {
    let context = TSAIContext(imageProvider: ClosureProvider())
    #expect(await context.imageGeneration.images("a boat", config()).error?.code == .contextInactive)
  }

  @Test func whatIsPendingHearsWhoTookOver() async throws {
    for change in [0, 1, 2] {
      let (kit, context) = activated(ClosureProvider(images: { _, reply in Self.keep(reply) }))
      let code = await withCheckedContinuation { continuation in
        context.imageGeneration.generateImages(prompt: "a boat", config: config()) { _, error in
          continuation.resume(returning: error?.code)
        }
        switch change {
        case 0: kit.deactivate()
        case 1: kit.activate(TSAIContext(imageProvider: nil))
        default: context.setImageProvider(ClosureProvider())
        }
      }
      #expect(code == (change == 0 ? .contextInactive : .activationSuperseded))
    }
  }

  /// Replies that are held for good.
  private static let kept = Locked<[ClosureProvider.Reply]>([])
  private static func keep(_ reply: @escaping ClosureProvider.Reply) { kept.withLock { $0.append(reply) } }

  @Test func aReplyThatIsDroppedFailsTheTask() async {
    let (_, context) = activated(ClosureProvider(styles: { _ in }, images: { _, _ in }))
    #expect(await context.imageGeneration.images("a boat", config()).error?.code == .taskFailed)
    #expect(await context.imageGeneration.styles().1?.code == .taskFailed)
  }

  @Test func errorsOfTheSystemAreTranslated() async {
    let cases: [(any Error, TSAIError.Code)] = [
      (URLError(.timedOut), .timeout), (URLError(.notConnectedToInternet), .networkUnavailable),
      (URLError(.cannotFindHost), .networkUnavailable), (URLError(.userAuthenticationRequired), .authorizationRequired),
      (URLError(.badServerResponse), .invalidResponse), (CancellationError(), .cancelled),
      (TSAIError(.contentRejected, "no"), .contentRejected), (CocoaError(.fileNoSuchFile), .taskFailed),
    ]
    for (error, code) in cases {
      let (_, context) = activated(ClosureProvider(images: { _, reply in reply(.failure(error)) }))
      #expect(await context.imageGeneration.images("a boat", config()).error?.code == code, "\(error)")
    }
  }

  @Test func stylesWithoutIdentifiersOfTheirOwnAreRefused() async {
    for identifiers in [["a", "a"], [""], ["a", ""]] {
      let styles = identifiers.map { TSAIImageGenerationStyle(name: "A", styleIdentifier: $0) }
      let (_, context) = activated(ClosureProvider(styles: { $0(.success(styles)) }))
      #expect(await context.imageGeneration.styles().1?.code == .invalidResponse)
      #expect(context.imageGeneration.availableStyles == nil)
    }
  }

  @Test func anOlderAnswerDoesntReplaceANewerOne() async {
    let replies = Locked<[@Sendable (Result<[TSAIImageGenerationStyle], any Error>) -> Void]>([])
    let (_, context) = activated(ClosureProvider(styles: { reply in replies.withLock { $0.append(reply) } }))
    let both = Locked(0)
    await withCheckedContinuation { continuation in
      for _ in 0..<2 {
        context.imageGeneration.fetchAvailableStyles { _, _ in
          if both.withLock({ count in
            count += 1
            return count == 2
          }) {
            continuation.resume()
          }
        }
      }
      context.imageGeneration.generateImages(prompt: "a boat", config: config(), completion: nil)
      Task {
        while replies.withLock({ $0.count }) < 2 { await Task.yield() }
        let (old, new) = replies.withLock { ($0[0], $0[1]) }
        new(.success([TSAIImageGenerationStyle(name: "New", styleIdentifier: "new")]))
        old(.success([TSAIImageGenerationStyle(name: "Old", styleIdentifier: "old")]))
      }
    }
    #expect(context.imageGeneration.availableStyles?.map(\.styleIdentifier) == ["new"])
  }

  @Test func theConfigurationCopies() throws {
    let own = config(10, 20, style: "a", count: 3)
    own.language = .german
    let copy = try #require(own.copy() as? TSAIImageGenerationConfig)
    own.imageCount = 1
    own.styleIdentifier = nil
    #expect(copy.imageCount == 3 && copy.styleIdentifier == "a" && copy.imageSize == CGSize(width: 10, height: 20))
    #expect(copy.language == .german)
  }

  @Test func errorsAreThoseOfTheSystemToo() {
    let error = TSAIError(.contentRejected, "change the prompt") as NSError
    #expect(error.domain == "TSAIErrorDomain" && error.code == 1011 && error.localizedDescription == "change the prompt")
    #expect(Set(TSAIError.Code.allCases.map(\.rawValue)) == Set(1001...1014))
  }

  /// The same race as the catalogue's, on real threads: no order is chosen, every order must end with one completion.
  @Test func realThreadsRaceToOneCompletion() async {
    let counts = Locked<[String: Int]>([:])
    let outcomes = Locked((results: 0, cancels: 0))
    let pending = Locked(2000)
    let (_, context) = activated(
      ClosureProvider(images: { request, reply in DispatchQueue.global().async { reply(.success(answer(request))) } }))
    await withCheckedContinuation { continuation in
      for _ in 0..<2000 {
        let taskId = Locked("")
        let id = context.imageGeneration.generateImages(prompt: "a boat", config: config(1, 1)) { result, error in
          counts.withLock { $0[taskId.withLock { $0 }, default: 0] += 1 }
          outcomes.withLock { outcomes in
            if result != nil { outcomes.results += 1 }
            if error?.code == .cancelled { outcomes.cancels += 1 }
          }
          if pending.withLock({ left in
            left -= 1
            return left == 0
          }) {
            continuation.resume()
          }
        }
        taskId.withLock { $0 = id }
        DispatchQueue.global().async { context.imageGeneration.cancelImageGeneration(taskId: id) }
      }
    }
    await MainActor.run {}
    outcomes.withLock { #expect($0.results + $0.cancels == 2000) }
  }
}
