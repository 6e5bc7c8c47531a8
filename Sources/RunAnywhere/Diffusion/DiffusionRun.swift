import Foundation
import GenBackend
import Imaging
import Synchronization
import Tensors

/// One generation at work: turns the engine's events into calls of the handler, and stops them all at once.
final class DiffusionRun: StoppableRun {
  let token = CancellationToken()
  private let handler: @Sendable (DiffusionProgressUpdate) -> Bool
  private let imageCount: Int
  private let state = Mutex(State())

  private struct State {
    var isClosed = false
    var preview: Data?
    /// Images of a batch that are done, told by the engine's count beginning anew.
    var imagesDone = 0
    var lastStep = 0
    var warnings: [String] = []
  }

  init(imageCount: Int, handler: @escaping @Sendable (DiffusionProgressUpdate) -> Bool) {
    self.imageCount = imageCount
    self.handler = handler
  }

  var control: GenerationControl { GenerationControl(cancellation: token) { event in self.receive(event) } }

  var warnings: [String] { state.withLock { $0.warnings } }

  var isCancelled: Bool { token.isCancelled }

  func cancel() { token.cancel() }

  /// After this the handler isn't called any more, whatever the engine still says.
  func close() { state.withLock { $0.isClosed = true } }

  private func receive(_ event: GenerationEvent) {
    guard !token.isCancelled else { return }
    switch event {
    case .preview(_, let image, let safety):
      // Arrives before the progress of its step, which carries it.
      let data = safety == .filtered ? nil : (try? PNGFile.encode(image)).map { Data($0) }
      state.withLock { $0.preview = data }
    case .progress(let step, let total, _):
      let (isClosed, preview, imagesDone) = state.withLock { state in
        defer { state.preview = nil }
        if step <= state.lastStep { state.imagesDone += 1 }
        state.lastStep = step
        return (state.isClosed, state.preview, state.imagesDone)
      }
      guard !isClosed else { return }
      // The steps of a batch count through all its images, so that progress never goes back.
      let (current, all) = (imagesDone * total + step, imageCount * total)
      let update = DiffusionProgressUpdate(
        progress: all > 0 ? Double(current) / Double(all) : 1, currentStep: current, totalSteps: all, previewImage: preview)
      // Outside the lock: the handler may take its time, or cancel.
      if !handler(update) { token.cancel() }
    case .warning(let text): state.withLock { $0.warnings.append(text) }
    case .began, .ended, .token: break
    }
  }
}
