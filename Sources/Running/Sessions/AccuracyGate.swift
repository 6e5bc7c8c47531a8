import Checkpoints
import Foundation
import GenBackend
import Goldens
import Reporting
import Tensors

/// Judges whether a configuration gives right results, with the very engine that is measured.
struct AccuracyGate {
  let plan: RunPlan
  let subject: RunPlan.Subject
  let planned: RunPlan.Case
  let loaded: SessionRunner.Loaded
  let host: any RunHost
  let fixtures: String?

  private typealias Conformance = RunCase.Conformance

  /// The verdict; nil when the gate is off.
  ///
  /// - Throws: `BackendError` `.cancelled` alone; whatever else goes wrong is a verdict.
  func judge() async throws -> RunCase.Conformance? {
    if plan.gate == .off { return nil }
    do {
      if plan.gate == .reference { return try await judgeByReference() }
      return try await judgeByGolden()
    } catch let error as BackendError where error.code == .cancelled {
      throw error
    } catch let failure as GoldenMismatch {
      return Conformance(.fail, policy: policy, detail: "\(failure.seen); expected \(failure.expected)")
    } catch {
      return Conformance(.fail, policy: policy, detail: "the gate itself failed: \(error)")
    }
  }

  private var policy: String {
    plan.gate == .reference ? "reference-kernels" : (try? golden()).map { "golden:\($0.id)" } ?? "none"
  }

  private func notJudged(_ why: String) -> RunCase.Conformance { Conformance(.notJudged, policy: "none", detail: why) }

  // MARK: - Goldens

  private struct ModelAttribute: Decodable {
    var model: String
  }

  /// The goldens that were made with the subject's very files.
  private func goldens() throws -> [GoldenCase] {
    guard subject.isFixture, let folder = ProjectHome.fixtures(explicit: fixtures, environment: host.environment) else {
      return []
    }
    let own = URL(fileURLWithPath: subject.path).resolvingSymlinksInPath().path
    return try ["small-models", subject.isText ? "vlm" : "pipelines"].map { "\($0)/\(subject.name)" }.filter { area in
      FileManager.default.fileExists(atPath: folder.appendingPathComponent(area).path)
    }.flatMap { try ProjectHome.cases(in: $0, fixtures: folder) }.filter { golden in
      guard let model = try? golden.attributes(ModelAttribute.self).model else { return false }
      let path = folder.appendingPathComponent(model).resolvingSymlinksInPath().path
      return own == path || own.hasPrefix(path + "/")
    }
  }

  /// The golden that is nearest to the case: its scheduler where there is one, else the model's own.
  private func golden() throws -> GoldenCase? {
    let cases = try goldens()
    if subject.isText {
      return cases.first { golden in
        guard let text = try? golden.attributes(TextAttributes.self) else { return false }
        return golden.id.contains("/image-") && text.margins.allSatisfy { $0 > 0.05 }
      }
    }
    let scheduler = planned.scheduler ?? loaded.info.defaultScheduler ?? ""
    func named(_ name: String) -> GoldenCase? { cases.first { $0.id.hasSuffix("/\(subject.name)/\(name)") } }
    return named(scheduler) ?? named("own-scheduler")
  }

  private func judgeByGolden() async throws -> RunCase.Conformance {
    guard subject.isFixture else {
      return notJudged("there are no goldens of this model; --gate reference compares it with plain loops")
    }
    guard let golden = try golden() else { return notJudged("the fixtures have no golden for it") }
    if subject.isText {
      guard loaded.info.capabilities.contains(.imageUnderstanding) else {
        return notJudged("the engine sees no images, the golden has one")
      }
      return try await judgeText(golden)
    }
    let pipeline = try PipelineCase(golden)
    guard loaded.info.capabilities.contains(.trace) else {
      guard loaded.info.capabilities.contains(.latentsInput) else {
        return notJudged("the engine takes no noise and returns no trace: its image can't be the golden's")
      }
      // The same noise makes the same picture, whatever is in between.
      var request = try pipeline.request(model: loaded.info.id)
      request.traceLevel = .none
      let images = try await loaded.engine.generateImages(
        request, control: GenerationControl(cancellation: host.cancellation)
      ).images
      return try judgeImage(images.first?.bitmap.unitValues, golden.tensor("image"), "the golden")
    }
    let trace = try await loaded.engine.generateImages(
      pipeline.request(model: loaded.info.id), control: GenerationControl(cancellation: host.cancellation)
    ).trace
    if subject.precision == "f32" {
      return Conformance(.pass, policy: policy, detail: try pipeline.compare(trace))
    }
    return try judgeImage(trace["image"], golden.tensor("image"), "the golden")
  }

  private struct TextAttributes: Decodable {
    var prompt: String
    var ids: [Int]
    var max_tokens: Int
    var margins: [Double]
    /// Whether the last id is the end mark, which results don't hold.
    var stops: Bool

    var shownIDs: [Int] { stops ? ids.dropLast() : ids }
  }

  private func judgeText(_ golden: GoldenCase) async throws -> RunCase.Conformance {
    let attributes = try golden.attributes(TextAttributes.self)
    let pixels = try golden.tensor("input.image")
    let image = Bitmap(
      width: pixels.shape[1], height: pixels.shape[0], samples: pixels.elements.map { UInt8(max(0, min(255, $0))) })
    let request = TextRequest(
      model: loaded.info.id, prompt: attributes.prompt, image: image, maxTokens: attributes.max_tokens)
    let result = try await loaded.engine.generateText(request, control: GenerationControl(cancellation: host.cancellation))
    let expected = attributes.shownIDs
    let ending: TextResult.FinishReason = attributes.stops ? .stop : .length
    if result.ids == expected, result.finishReason == ending {
      return Conformance(.pass, policy: policy, detail: "\(result.ids.count) tokens are the golden's")
    }
    let place =
      zip(result.ids, expected).enumerated().first { $0.element.0 != $0.element.1 }?.offset
      ?? min(result.ids.count, expected.count)
    func shown(_ ids: [Int], _ reason: TextResult.FinishReason) -> String {
      ids.indices.contains(place) ? String(ids[place]) : "none, ended by \(reason.rawValue)"
    }
    return Conformance(
      .fail, policy: policy,
      detail: "token \(place + 1) is \(shown(result.ids, result.finishReason)), the golden's is \(shown(expected, ending)); "
        + "\(place) before it agree")
  }

  // MARK: - Plain loops

  /// Makes one image of the case with the measured engine and with the plain kernels, from the same noise.
  private func judgeByReference() async throws -> RunCase.Conformance {
    let specification = BackendSpecification(kind: .reference, kernels: .reference, isFaultless: true)
    let reference = try await host.makeBackend(specification)
    let control = GenerationControl(cancellation: host.cancellation)
    var load = loaded.request
    load.precision = "f32"
    load.reduceMemory = false
    let model = try await reference.load(load, control: control)
    let verdict: RunCase.Conformance
    if subject.isText {
      var request = TextRequest(model: model.id, prompt: plan.questions.first ?? "hello", maxTokens: 8)
      if model.capabilities.contains(.imageUnderstanding) { request.image = TestPicture.draw(width: 64, height: 48) }
      let expected = try await reference.generateText(request, control: control).ids
      request.model = loaded.info.id
      let seen = try await loaded.engine.generateText(request, control: control).ids
      verdict =
        seen == expected
        ? Conformance(.pass, policy: policy, detail: "\(seen.count) tokens are those of plain loops")
        : Conformance(.fail, policy: policy, detail: "tokens \(seen), plain loops choose \(expected)")
    } else {
      var request = ImageRequest(model: model.id, prompt: plan.prompts.first ?? "")
      request.size = planned.width.flatMap { width in planned.height.map { ImageSize(width: width, height: $0) } }
      request.steps = min(planned.steps ?? model.defaultSteps, 4)
      request.scheduler = planned.scheduler
      request.guidanceScale = planned.guidance
      request.seed = plan.seed
      request.checksSafety = false
      let expected = try await reference.generateImages(request, control: control).images.first?.bitmap
      request.model = loaded.info.id
      let seen = try await loaded.engine.generateImages(request, control: control).images.first?.bitmap
      guard let expected, let seen, expected.width == seen.width, expected.height == seen.height else {
        throw GoldenMismatch(expected: "two images of one size", seen: "\(seen.map { "\($0.width)x\($0.height)" } ?? "none")")
      }
      verdict = try judgeImage(seen.unitValues, expected.unitValues, "plain loops")
    }
    await reference.unload(model.id)
    return verdict
  }

  /// Judges by the peak signal-to-noise ratio.
  ///
  /// 8-bit images of f32 arithmetic differ by rounding alone: 50 dB. bfloat16 keeps 8 bits of each number, and its errors grow
  /// over the steps: from 30 dB on no eye finds the difference.
  private func judgeImage(_ seen: Tensor?, _ expected: Tensor, _ by: String) throws -> RunCase.Conformance {
    guard let seen else { throw GoldenMismatch(expected: "an image", seen: "none") }
    let tolerance = GoldenCase.Tolerance(
      metric: .psnrDb, limit: subject.precision == "f32" ? 50 : 30, reason: "the same picture, up to the arithmetic's rounding")
    if let mismatch = tolerance.mismatch(actual: seen, expected: expected) {
      return Conformance(.fail, policy: policy, detail: "the image isn't that of \(by): \(mismatch)")
    }
    return Conformance(.pass, policy: policy, detail: "the image is that of \(by), \(tolerance.limit) dB and more")
  }
}
