import Conformance
import Dispatch

extension TSAIImplementation {
  /// Changes the configuration before the call.
  func mappingConfig(_ change: @escaping @Sendable (inout TSAISurface.Config) -> Void) -> Self {
    var copy = self
    let inner = generateImages
    copy.generateImages = { prompt, config, changed, completion in
      var config = config
      change(&config)
      return inner(prompt, config, changed, completion)
    }
    return copy
  }

  /// Changes the completion of a generation; without one, nothing is changed.
  func mappingCompletion(_ change: @escaping @Sendable (@escaping TSAISurface.Completion) -> TSAISurface.Completion) -> Self {
    var copy = self
    let inner = generateImages
    copy.generateImages = { prompt, config, changed, completion in inner(prompt, config, changed, completion.map(change)) }
    return copy
  }

  /// Changes the completion of a fetch; without one, nothing is changed.
  func mappingStyles(_ change: @escaping @Sendable (@escaping TSAISurface.StylesCompletion) -> TSAISurface.StylesCompletion)
    -> Self
  {
    var copy = self
    let inner = fetchAvailableStyles
    copy.fetchAvailableStyles = { completion in inner(completion.map(change)) }
    return copy
  }

  /// Changes errors.
  func mappingFailures(_ change: @escaping @Sendable (TSAISurface.Failure) -> TSAISurface.Failure) -> Self {
    mappingCompletion { completion in { completion($0, $1.map(change)) } }
      .mappingStyles { completion in { completion($0, $1.map(change)) } }
  }
}

extension FaultContext where Surface == TSAISurface {
  /// Runs something later on the main queue, or on the scheduler's lane for it.
  func postToMain(_ work: @escaping @Sendable () -> Void) {
    if let scheduler = setup.scheduler {
      scheduler.post("main", "mutant") { work() }
    } else {
      DispatchQueue.main.async(execute: work)
    }
  }
}

extension Mutant {
  /// Makes a mutant of an implementation of TSAI.
  init(
    tsai id: String, _ fault: String, breaks: [String],
    change: @escaping @Sendable (inout TSAIImplementation, FaultContext<TSAISurface>) -> Void
  ) { self.init(id, fault, breaks: breaks, change) }
}
