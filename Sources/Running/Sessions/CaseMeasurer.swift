import Checkpoints
import Foundation
import GenBackend
import Imaging
import Measurement
import Reporting
import Synchronization
import Tensors

/// Measures one case in one session.
struct CaseMeasurer {
  let runner: SessionRunner
  let planned: RunPlan.Case
  let loaded: SessionRunner.Loaded
  let probe: MemoryProbe
  /// When the case's session began, by the monotonic clock.
  let startNs: UInt64

  private var plan: RunPlan { runner.plan }
  private var host: any RunHost { runner.host }
  private var info: ModelInfo { loaded.info }
  private var subject: RunPlan.Subject { runner.subject }

  /// The size of the images that are made.
  private var size: ImageSize {
    if let width = planned.width, let height = planned.height { return ImageSize(width: width, height: height) }
    return info.nativeSizes.first ?? ImageSize(width: 512, height: 512)
  }
  private var steps: Int { planned.steps ?? info.defaultSteps }
  private var scheduler: String { planned.scheduler ?? info.defaultScheduler ?? "default" }
  private var maxTokens: Int { planned.maxTokens ?? 32 }
  private var prompts: [String] { subject.isText ? plan.questions : plan.prompts }

  /// Runs warm-ups and counted requests; each is told when it's done.
  ///
  /// - Throws: `BackendError` when a request fails.
  func measure() async throws {
    let image = try subject.isText ? picture() : nil
    try tellStart(image)
    let folder = runner.assignment.folder
    if plan.keepsImages, !subject.isText {
      try OutputFile.makeFolder(URL(fileURLWithPath: folder).appendingPathComponent(imageFolder).path)
    }
    var lastStepNs: UInt64 = 1_000_000
    let warmups = planned.scenario == .cold ? 0 : plan.effort.warmups
    for _ in 0..<warmups {
      let outcome = try await request(index: 0, repetition: 0, image: image, lastStepNs: lastStepNs, isWarmup: true)
      lastStepNs = outcome.sample.stepsNs.max() ?? lastStepNs
      try tell(.warmup(ns: outcome.sample.e2eNs))
    }
    let progress = runner.assignment.progress[planned.key]
    var done = progress?.samples ?? 0
    var measuredNs = progress?.measuredNs ?? 0
    var durations: [Double] = []
    var lastEndNs: UInt64?
    while true {
      let repetition = done / prompts.count
      let index = done % prompts.count
      if index == 0, isEnough(repetition, measuredNs: measuredNs, durations: durations) { return }
      if planned.scenario == .cold, done >= 1 { return }
      if plan.effort.delayNs > 0 { try await Task.sleep(nanoseconds: plan.effort.delayNs) }
      var outcome = try await request(index: index, repetition: repetition, image: image, lastStepNs: lastStepNs, isWarmup: false)
      if let lastEndNs { outcome.sample.idleNs = outcome.startNs - min(lastEndNs, outcome.startNs) }
      lastEndNs = outcome.startNs + outcome.sample.e2eNs
      lastStepNs = outcome.sample.stepsNs.max() ?? lastStepNs
      done += 1
      measuredNs += outcome.sample.e2eNs
      durations.append(Double(outcome.sample.e2eNs))
      let isKept = repetition == 0 && runner.assignment.session == 0
      try tell(
        .sample(
          outcome.sample, JournalEvent.Spans(outcome.spans, sessionStartNs: startNs),
          artifacts: isKept ? [outcome.sample.image].compactMap { $0 } : []))
    }
  }

  /// Whether so many whole repetitions are enough.
  private func isEnough(_ repetitions: Int, measuredNs: UInt64, durations: [Double]) -> Bool {
    let effort = plan.effort
    if planned.scenario == .sustained {
      return measuredNs >= (effort.minimumNs > 0 ? effort.minimumNs : 300_000_000_000)
    }
    if repetitions >= max(effort.maximumRepetitions, effort.repetitions) { return true }
    guard repetitions >= effort.repetitions, measuredNs >= effort.minimumNs else { return false }
    guard let wanted = effort.untilInterval else { return true }
    guard let interval = Statistics.medianInterval(durations), let median = Statistics.median(durations), median > 0 else {
      return false
    }
    return (interval.upperBound - interval.lowerBound) / 2 / median <= wanted
  }

  // MARK: - Telling

  private func tell(_ event: JournalEvent.CaseEvent) throws { try runner.tell(.ofCase(planned.key, event)) }

  private func tellStart(_ image: Bitmap?) throws {
    let caseID: String
    let parameters: RunCase.Parameters
    if subject.isText {
      caseID = "\(subject.name)/\(image.map { "\($0.width)x\($0.height)" } ?? "text")/\(maxTokens)" + planned.suffix
      parameters = .init(
        width: image?.width, height: image?.height, seed: plan.seed, maxTokens: maxTokens,
        engine: subject.engineSettings, request: planned.settings)
    } else {
      caseID = "\(modelName)/\(size)/\(scheduler)/\(steps)" + planned.suffix
      parameters = .init(
        steps: steps, width: size.width, height: size.height, guidance: planned.guidance, scheduler: scheduler, seed: plan.seed,
        batch: planned.batch, engine: subject.engineSettings, request: planned.settings)
    }
    try tell(
      .start(
        caseID: caseID, parameters: parameters, loadNs: loaded.loadNs, baselineBytes: loaded.baselineBytes,
        overheadNs: loaded.overheadNs))
  }

  /// The model's name in ids: that of the key, which sides share.
  private var modelName: String { planned.key.split(separator: "/").first.map(String.init) ?? subject.name }

  /// The folder of the case's images, relative to the run's.
  private var imageFolder: String {
    var folder = "images/"
    if let side = subject.side { folder += plan.sides[side].name + "/" }
    folder += modelName
    let twins = plan.cases.filter { other in
      let twin = plan.subjects[other.subject]
      return twin.side == subject.side && other.key.hasPrefix(modelName + "/")
    }
    if twins.count > 1 { folder += "/\(size)-\(scheduler)-\(steps)" + planned.suffix.replacing("/", with: "-") }
    return folder
  }

  // MARK: - Requests

  private struct Outcome {
    var sample: RunSession.Sample
    var spans: [StageSpan]
    var startNs: UInt64
  }

  private func request(index: Int, repetition: Int, image: Bitmap?, lastStepNs: UInt64, isWarmup: Bool) async throws -> Outcome {
    switch planned.scenario {
    case .warm: try await reload(repetition)
    case .cancel where !isWarmup: try await cancelled(index: index, repetition: repetition, image: image, lastStepNs: lastStepNs)
    case .single, .offline, .cold, .sustained, .cancel:
      subject.isText
        ? try await answer(index: index, repetition: repetition, image: image)
        : try await images(index: index, repetition: repetition, isWarmup: isWarmup)
    }
  }

  private func recorder(index: Int, repetition: Int) -> RequestRecorder {
    let beat = Beat(runner)
    let runner = runner
    let key = planned.key
    let isFirst = repetition == 0
    return RequestRecorder { event in
      if case .warning(let text) = event, isFirst {
        try? runner.tell(.ofCase(key, .warning("prompt \(index): \(text)")))
      }
      beat.tell()
    }
  }

  private func imageRequest(index: Int) -> ImageRequest {
    var request = ImageRequest(model: info.id, prompt: prompts[index])
    request.size = size
    request.steps = steps
    request.scheduler = scheduler == "default" ? nil : scheduler
    request.guidanceScale = planned.guidance
    request.negativePrompt = plan.negativePrompt
    request.seed = plan.seed &+ UInt64(index)
    request.imageCount = planned.batch
    request.eta = planned.settings.eta
    request.guidanceRescale = planned.settings.guidanceRescale ?? 0
    request.timestepSpacing = planned.settings.timestepSpacing
    request.clipSkip = planned.settings.clipSkip
    request.randomSource = planned.settings.randomSource?.rawValue ?? request.randomSource
    request.longPrompt = planned.settings.longPrompt ?? request.longPrompt
    return request
  }

  private func images(index: Int, repetition: Int, isWarmup: Bool) async throws -> Outcome {
    let request = imageRequest(index: index)
    let recorder = recorder(index: index, repetition: repetition)
    let result = try await loaded.engine.generateImages(request, control: recorder.control(host.cancellation))
    guard let image = result.images.first else {
      throw BackendError(.processingFailed, "the backend returned no image for prompt \(index)")
    }
    var path: String?
    if plan.keepsImages, !isWarmup {
      for (number, made) in result.images.enumerated() {
        let name = "\(Self.number(index))-\(Prompts.slug(request.prompt))\(number == 0 ? "" : "-\(number)").png"
        let text = GenerationParameters(request: request, result: result, image: made, model: info.variant, version: host.version)
          .text
        try recorder.measure(Stage(rawValue: "png")) {
          let bytes = try PNGFile.encode(made.bitmap, texts: [PNGFile.Text("parameters", text)])
          try AtomicFile.write(
            Data(bytes),
            to: URL(fileURLWithPath: runner.assignment.folder).appendingPathComponent("\(imageFolder)/\(name)").path)
        }
        if number == 0 { path = "\(imageFolder)/\(name)" }
      }
    }
    recorder.finish()
    let sample = RunSession.Sample(
      index: 0, prompt: request.prompt, repetition: repetition, seed: request.seed ?? 0,
      startNs: recorder.startNs - min(startNs, recorder.startNs), budget: recorder.budget, safety: image.safety.rawValue,
      image: path, images: result.images.count)
    return Outcome(sample: sample, spans: recorder.spans, startNs: recorder.startNs)
  }

  private func textRequest(index: Int, image: Bitmap?) -> TextRequest {
    var request = TextRequest(model: info.id, prompt: prompts[index], image: image, maxTokens: maxTokens)
    request.sampling.temperature = planned.settings.temperature ?? 0
    request.sampling.seed = plan.seed &+ UInt64(index)
    return request
  }

  private func answer(index: Int, repetition: Int, image: Bitmap?) async throws -> Outcome {
    let request = textRequest(index: index, image: image)
    let recorder = recorder(index: index, repetition: repetition)
    let result = try await loaded.engine.generateText(request, control: recorder.control(host.cancellation))
    recorder.finish()
    var sample = RunSession.Sample(
      index: 0, prompt: request.prompt, repetition: repetition, seed: request.sampling.seed,
      startNs: recorder.startNs - min(startNs, recorder.startNs), budget: recorder.budget, images: image == nil ? 0 : 1)
    sample.text = RunSession.TextSample(result, times: TokenTimes(events: recorder.events, startNs: recorder.startNs))
    return Outcome(sample: sample, spans: recorder.spans, startNs: recorder.startNs)
  }

  /// Loads the model once more, its files being in memory, and frees that copy.
  private func reload(_ repetition: Int) async throws -> Outcome {
    let recorder = recorder(index: 0, repetition: repetition)
    let copy = try await loaded.engine.load(loaded.request, control: recorder.control(host.cancellation))
    recorder.finish()
    if copy.id != info.id { await loaded.engine.unload(copy.id) }
    var sample = RunSession.Sample(
      index: 0, prompt: "", repetition: repetition, seed: 0, startNs: recorder.startNs - min(startNs, recorder.startNs),
      budget: recorder.budget)
    sample.loadNs = sample.e2eNs
    return Outcome(sample: sample, spans: recorder.spans, startNs: recorder.startNs)
  }

  /// Starts a request and cancels it at some moment within a step or token; what counts is the time until it returns.
  private func cancelled(index: Int, repetition: Int, image: Bitmap?, lastStepNs: UInt64) async throws -> Outcome {
    let token = CancellationToken()
    let cancelledAt = Mutex<UInt64?>(nil)
    var random = SplitMix64(seed: plan.seed &+ UInt64(repetition) &* 1009 &+ UInt64(index))
    let delayNs = Int(Double(random.next() % 1000) / 1000 * Double(min(lastStepNs, 30_000_000_000)))
    let wanted = subject.isText ? Stage.decode : Stage.step
    let isArmed = Mutex(false)
    let recorder = RequestRecorder { event in
      guard case .began(let stage, _, _) = event, stage == wanted else { return }
      let isFirst = isArmed.withLock { armed in
        defer { armed = true }
        return !armed
      }
      guard isFirst else { return }
      DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(delayNs)) {
        cancelledAt.withLock { $0 = MonotonicTime.nanoseconds() }
        token.cancel()
      }
    }
    do {
      if subject.isText {
        _ = try await loaded.engine.generateText(textRequest(index: index, image: image), control: recorder.control(token))
      } else {
        _ = try await loaded.engine.generateImages(imageRequest(index: index), control: recorder.control(token))
      }
    } catch let error as BackendError where error.code == .cancelled {
      // What was asked for.
    }
    let endNs = MonotonicTime.nanoseconds()
    recorder.finish()
    if host.cancellation.isCancelled { throw BackendError(.cancelled, "interrupted") }
    var sample = RunSession.Sample(
      index: 0, prompt: prompts[index], repetition: repetition, seed: plan.seed &+ UInt64(index),
      startNs: recorder.startNs - min(startNs, recorder.startNs), budget: recorder.budget)
    // A request that was over before the moment came says nothing.
    sample.cancelNs = cancelledAt.withLock { $0 }.flatMap { $0 <= endNs ? endNs - $0 : nil }
    return Outcome(sample: sample, spans: recorder.spans, startNs: recorder.startNs)
  }

  /// The image that questions are about: the user's, or a drawn one.
  private func picture() throws -> Bitmap? {
    guard info.capabilities.contains(.imageUnderstanding) else { return nil }
    if let path = plan.image { return try ImageFile.read(path: path).rgbOnWhite() }
    return TestPicture.draw(width: planned.width ?? 128, height: planned.height ?? 96)
  }

  private static func number(_ index: Int) -> String { index < 10 ? "0\(index)" : String(index) }
}

/// Says now and then that the process is alive.
private final class Beat: Sendable {
  private let runner: SessionRunner
  private let last = Mutex<UInt64>(MonotonicTime.nanoseconds())

  init(_ runner: SessionRunner) { self.runner = runner }

  func tell() {
    let now = MonotonicTime.nanoseconds()
    let isDue = last.withLock { last in
      guard now - min(last, now) > 500_000_000 else { return false }
      last = now
      return true
    }
    if isDue { try? runner.tell(.beat) }
  }
}

/// A picture with large shapes and fine stripes, the same on every machine.
enum TestPicture {
  static func draw(width: Int, height: Int) -> Bitmap {
    var samples = [UInt8](repeating: 0, count: width * height * 3)
    for y in 0..<height {
      for x in 0..<width {
        let place = (y * width + x) * 3
        let (dx, dy) = (2 * x - width, 2 * y - height)
        let isInDisc = dx * dx + dy * dy < (min(width, height) * 2 / 3) * (min(width, height) * 2 / 3)
        samples[place] = isInDisc ? 220 : UInt8(x * 255 / max(1, width - 1))
        samples[place + 1] = isInDisc ? 60 : UInt8(y * 255 / max(1, height - 1))
        samples[place + 2] = (x / 4 + y / 4) % 2 == 0 ? 200 : 40
      }
    }
    return Bitmap(width: width, height: height, samples: samples)
  }
}
