import Synchronization

/// A generation that can be told to stop.
protocol StoppableRun: AnyObject, Sendable {
  /// Whether it was told to.
  var isCancelled: Bool { get }
  /// Tells it to; returns at once.
  func cancel()
}

/// A session's model, and the one thing at a time that is done with it: a load, a generation, an unload.
///
/// Whoever claims it must release it. None of the members holds up a thread.
final class ModelOccupancy<Model: Sendable, Run: StoppableRun>: Sendable {
  /// What is being done.
  enum Activity: Sendable {
    case loading
    case generating(Run)
    case unloading
  }

  private struct State {
    var model: Model?
    var activity: Activity?
    /// Those who wait for the activity to end.
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let generating: String
  private let state = Mutex(State())

  /// - Parameter generating: What errors call a generation: `an image is being generated`.
  init(generating: String) { self.generating = generating }

  /// The loaded model.
  var model: Model? { state.withLock { $0.model } }

  /// Takes it for something.
  ///
  /// - Throws: ``SDKError`` `busy` when something is being done.
  func claim(_ activity: Activity) throws(SDKError) {
    try state.withLock { state throws(SDKError) in
      if let current = state.activity { throw busy(current) }
      state.activity = activity
    }
  }

  /// Takes the model for a generation.
  ///
  /// - Parameter missing: The error when no model is loaded, which comes before `busy`.
  /// - Throws: `missing`, or ``SDKError`` `busy` when something is being done.
  func claimModel(for run: Run, orThrow missing: SDKError) throws(SDKError) -> Model {
    try state.withLock { state throws(SDKError) in
      guard let model = state.model else { throw missing }
      if let current = state.activity { throw busy(current) }
      state.activity = .generating(run)
      return model
    }
  }

  /// Takes it for something, after a generation that was told to stop has stopped.
  ///
  /// - Throws: ``SDKError`` `busy` when anything else is being done.
  func claimWhenFree(_ activity: Activity) async throws(SDKError) {
    while true {
      let isClaimed = try state.withLock { state throws(SDKError) in
        switch state.activity {
        case nil:
          state.activity = activity
          return true
        case .generating(let run) where run.isCancelled: return false
        case let current?: throw busy(current)
        }
      }
      if isClaimed { return }
      await waitForActivity()
    }
  }

  /// Puts a model in the place of the one that was there, which is returned.
  func replace(by model: Model) -> Model? {
    state.withLock { state in
      defer { state.model = model }
      return state.model
    }
  }

  /// Ends what was claimed.
  func release() {
    let waiters = state.withLock { state in
      state.activity = nil
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Takes the model away and frees it; a running generation is cancelled and waited for.
  ///
  /// - Throws: ``SDKError`` `busy` while a model is being loaded.
  func unload(_ free: (Model) async -> Void) async throws(SDKError) {
    while true {
      let (model, mustWait) = try state.withLock { state throws(SDKError) -> (Model?, Bool) in
        switch state.activity {
        case .loading: throw SDKError(.busy, "a model is being loaded; wait for it or cancel its task")
        case .generating(let run):
          run.cancel()
          return (nil, true)
        case .unloading: return (nil, true)
        case nil:
          defer { state.model = nil }
          if state.model != nil { state.activity = .unloading }
          return (state.model, false)
        }
      }
      if !mustWait {
        if let model {
          await free(model)
          release()
        }
        return
      }
      await waitForActivity()
    }
  }

  /// Tells the running generation to stop; one that starts later isn't touched.
  func cancelGeneration() {
    let run = state.withLock { state -> Run? in
      if case .generating(let run) = state.activity { return run }
      return nil
    }
    run?.cancel()
  }

  private func busy(_ activity: Activity) -> SDKError {
    let noun =
      switch activity {
      case .loading: "a model is being loaded"
      case .generating: generating
      case .unloading: "the model is being unloaded"
      }
    return SDKError(.busy, "\(noun); wait for it or cancel it")
  }

  private func waitForActivity() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if state.activity == nil { return true }
        state.waiters.append(continuation)
        return false
      }
      if isOver { continuation.resume() }
    }
  }
}
