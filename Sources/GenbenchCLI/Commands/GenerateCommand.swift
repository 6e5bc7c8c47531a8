import Checkpoints
import Foundation
import GenBackend
import Imaging
import Measurement
import Running
import Tensors

/// Makes an image.
struct GenerateCommand: Command {
  static let configuration = CommandDescription(
    name: "generate", abstract: "Make an image from a prompt.",
    discussion: """
      The same words make the same bytes, with any number of threads. With --image it starts from an image, with --mask it \
      repaints the white part of it.
      """,
    options: [
      .value("prompt", short: "p", "text", "What to show.", isRequired: true),
      .value("negative-prompt", short: "n", "text", "What to avoid; absent isn't the same as empty for XL."),
      .value("output", short: "o", "file", "The PNG that is written.", default: "image.png"),
      .flag("json", "Print the result as JSON."),
    ] + ModelLocation.options + [
      .value(
        "prediction-type", "type", "What the network predicts, when the files don't say.",
        values: ["epsilon", "v_prediction", "sample"], section: "MODEL"),
      .flag("strict", "Refuse a model with tensors that its networks have no place for.", section: "MODEL"),
      .invertible(
        "safety-checker", "Fail without a safety checker, or don't run it.", default: "run it when the model has one",
        section: "MODEL"),
      .value("steps", short: "s", "n", "Denoising steps.", default: "the model's", section: "SAMPLING"),
      .value("guidance-scale", "x", "Weight of the prompt; 1 and below is none.", default: "the model's", section: "SAMPLING"),
      .value("guidance-rescale", "x", "Guidance rescale in 0...1.", default: "0", section: "SAMPLING"),
      .value(
        "scheduler", "name", "The sampler, by genbench's, diffusers' or A1111's name.", default: "the model's",
        section: "SAMPLING"),
      .value(
        "timestep-spacing", "kind", "Where the steps lie.", default: "the model's",
        values: TimestepSpacing.allCases.map(\.rawValue),
        section: "SAMPLING"),
      .value("eta", "x", "Noise of DDIM and TCD in 0...1.", default: "0", section: "SAMPLING"),
      .value("seed", "n", "Seed of the noise.", default: "a random one, which is told", section: "SAMPLING"),
      .value(
        "rng", "name", "The generator.", default: "torch", values: RandomSource.allCases.map(\.rawValue), section: "SAMPLING"),
      .value("latents", "file", "Unit-normal noise [1,4,h,w] as .npy, in place of the seed's.", section: "SAMPLING"),
      .value("count", "n", "Images; each from the next seed.", default: "1", section: "SAMPLING"),
      .value(
        "long-prompt", "way", "What is done with a prompt of more than 75 tokens.", default: "truncate",
        values: ["error", "truncate", "chunk"], section: "SAMPLING"),
      .value("clip-skip", "n", "Layers of the text encoder that are left out at its end.", default: "0", section: "SAMPLING"),
      .value("width", "n", "Pixels in a row.", default: "the model's", section: "IMAGE"),
      .value("height", "n", "Rows.", default: "the model's", section: "IMAGE"),
      .value("image", "file", "A PNG or JPEG to start from; transparent parts are white.", section: "IMAGE"),
      .value("strength", "x", "How much of it is replaced, 0...1.", default: "0.8", section: "IMAGE"),
      .value("mask", "file", "A PNG or JPEG of its size: white is repainted, black kept.", section: "IMAGE"),
      .value("preview-every", "n", "Write a preview after every n steps.", section: "IMAGE"),
      .value("trace", "file", "Write embeddings, latents and predictions of every step as safetensors.", section: "IMAGE"),
      .value("trace-level", "level", "What the trace holds.", default: "step", values: ["step", "block"], section: "IMAGE"),
    ] + BackendSpecification.options + [
      .value(
        "precision", "type", "The arithmetic.", default: "f32", values: Precision.allCases.map(\.rawValue), section: "ENGINE"),
      .flag(
        "reduce-memory", "One component at a time, guidance in two passes, the VAE in small bands, in tiles beyond 512 pixels.",
        section: "ENGINE"),
    ])

  private let model: String?
  private let variant: String?
  private let isFullSize: Bool
  private let fixtures: String?
  private let backend: BackendSpecification
  private var load: LoadRequest
  private var request: ImageRequest
  private let width: Int?
  private let height: Int?
  private let latents: String?
  private let image: String?
  private let mask: String?
  private let trace: OutputFile?
  private let output: OutputFile
  private let isJSON: Bool

  init(_ values: ParsedValues) throws(UsageError) {
    model = values.string("model")
    fixtures = values.string("fixtures")
    isFullSize = values.flag("full-size") ?? false
    variant = values.string("variant") ?? (model == nil && !isFullSize ? "sd15" : nil)
    try ModelLocation.check(model: model, variant: variant, isFullSize: isFullSize)
    backend = try BackendSpecification(values)
    load = try LoadRequest(
      path: "", variant: variant.flatMap { ModelVariant(rawValue: $0) }, predictionType: values.choice("prediction-type"))
    switch values.flag("safety-checker") {
    case true?: load.safety = .required
    case false?: load.safety = .off
    case nil: load.safety = .ifPresent
    }
    load.isStrict = values.flag("strict") ?? false
    load.reduceMemory = values.flag("reduce-memory") ?? false
    load.precision = try values.choice("precision") ?? .f32

    request = ImageRequest(model: ModelID(""), prompt: values.string("prompt") ?? "")
    request.negativePrompt = values.string("negative-prompt")
    request.steps = try values.int("steps", in: 1...10_000)
    request.guidanceScale = try values.double("guidance-scale", in: 0...1000)
    request.guidanceRescale = try values.double("guidance-rescale", in: 0...1) ?? 0
    request.scheduler = try values.scheduler("scheduler")
    request.timestepSpacing = try values.choice("timestep-spacing")
    request.eta = try values.double("eta", in: 0...1)
    request.seed = try values.seed("seed")
    request.randomSource = try values.choice("rng") ?? .torch
    request.imageCount = try values.int("count", in: 1...10_000) ?? 1
    request.longPrompt = values.string("long-prompt").flatMap { ImageRequest.LongPrompt(rawValue: $0) } ?? .truncate
    request.clipSkip = try values.int("clip-skip", in: 0...100)
    request.checksSafety = load.safety != .off
    request.previewStride = try values.int("preview-every", in: 1...10_000)
    width = try values.int("width", in: 1...16_384)
    height = try values.int("height", in: 1...16_384)
    guard (width == nil) == (height == nil) else { throw UsageError("--width and --height belong together; give both") }
    latents = values.string("latents")
    image = values.string("image")
    mask = values.string("mask")
    let strength = try values.double("strength", in: 0...1)
    request.strength = strength ?? 0.8
    if image == nil, mask != nil { throw UsageError("--mask needs --image, the image that is repainted") }
    if image == nil, strength != nil { throw UsageError("--strength needs --image, the image that it is about") }
    if latents != nil, request.imageCount > 1 {
      throw UsageError("--latents is the noise of one image; it can't go with --count")
    }
    trace = values.string("trace").map { OutputFile($0) }
    if trace == nil, values.string("trace-level") != nil { throw UsageError("--trace-level needs --trace, the file to write") }
    if trace != nil { request.traceLevel = values.string("trace-level") == "block" ? .block : .step }
    output = OutputFile(values.string("output") ?? "image.png")
    isJSON = values.flag("json") ?? false
    if output.isStdout {
      if isJSON || trace?.isStdout == true {
        throw UsageError("--output - takes stdout for the image; --json and --trace - do too")
      }
      if request.imageCount > 1 || request.previewStride != nil {
        throw UsageError("--output - takes one image: leave --count and --preview-every out")
      }
    }
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let location = try ModelLocation.resolve(
      model: model, variant: variant, isFullSize: isFullSize, fixtures: fixtures, environment: context.environment)
    for file in [output, trace].compactMap({ $0 }) { try file.check() }
    var request = request
    try readInputs(into: &request)
    let readyRequest = request
    return try await location.withFiles(
      fixtures: fixtures, size: readyRequest.size, reducesMemory: load.reduceMemory, context: context
    ) { path in
      try await generate(readyRequest, path: path, location: location, context: context)
    }
  }

  private func generate(
    _ request: ImageRequest, path: String, location: ModelLocation, context: CommandContext
  ) async throws -> ProgramExit {
    var request = request
    let engine = try await context.makeBackend(backend)
    let display = ProgressDisplay("generate", total: 1, console: context.console)
    let output = output
    let recorder = RequestRecorder { event in
      switch event {
      case .progress(let step, let total, _): display.update(done: step, of: total)
      case .warning(let text): context.console.warn(text)
      case .preview(let step, let image, _):
        let file = output.suffixed("-step-\(step)")
        do {
          try file.write(Data(try PNGFile.encode(image)))
        } catch {
          context.console.warn("the preview isn't written: \(error)")
        }
      default: break
      }
    }
    var load = load
    load.path = path
    load.variant = location.variant.flatMap { ModelVariant(rawValue: $0) }
    let info = try await engine.load(load, control: recorder.control(context.cancellation))
    request.model = info.id
    if let width, let height { request.size = ImageSize(width: width, height: height) }
    let result: ImageResult
    do {
      result = try await engine.generateImages(request, control: recorder.control(context.cancellation))
    } catch {
      display.finish()
      await engine.unload(info.id)
      throw error
    }
    display.finish()
    let paths = try recorder.measure(Stage(rawValue: "png")) {
      try write(result, request: request, modelName: location.name)
    }
    if let trace { try SafetensorsWriter.write(result.trace, metadata: ["format": "genbench.trace/1"], to: trace.path) }
    recorder.finish()
    await engine.unload(info.id)
    report(result, paths: paths, budget: recorder.budget, context: context)
    return .success
  }

  /// Reads the noise, the start image and the mask.
  private func readInputs(into request: inout ImageRequest) throws {
    if let latents { request.latents = try NumPyFile.read(latents) }
    guard let image else { return }
    // What can't be drawn isn't decoded.
    let start = try ImageFile.read(path: image, limits: .drawing).rgbOnWhite()
    request.image = start.unitValues
    if let mask {
      let grey = try ImageFile.read(path: mask, limits: .drawing).grey()
      guard grey.width == start.width, grey.height == start.height else {
        throw CommandError(
          .badInput,
          "\(mask): the mask must have the image's size \(start.width)x\(start.height), found \(grey.width)x\(grey.height)")
      }
      request.mask = grey.unitValues
    }
  }

  /// Encodes all images before the first is written, so that nothing is half done.
  private func write(_ result: ImageResult, request: ImageRequest, modelName: String) throws -> [String] {
    let files = try result.images.enumerated().map { index, image in
      let file = result.images.count == 1 ? output : output.suffixed("-\(index)")
      let text = GenerationParameters(
        request: request, result: result, image: image, model: modelName,
        version: GenbenchCommandLine.version
      ).text
      return (file: file, data: Data(try PNGFile.encode(image.bitmap, texts: [PNGFile.Text("parameters", text)])))
    }
    for (file, data) in files { try file.write(data) }
    return files.map(\.file.path)
  }

  private func report(_ result: ImageResult, paths: [String], budget: TimeBudget, context: CommandContext) {
    guard let first = result.images.first else { return }
    if isJSON {
      var timings = budget.stagesNs.mapValues { JSONValue.integer(Int(clamping: $0)) }
      timings["total"] = .integer(Int(clamping: budget.totalNs))
      timings["unaccounted"] = .integer(Int(clamping: budget.unaccountedNs))
      var object: [String: JSONValue] = [
        "image": .string(paths[0]), "width": .integer(first.bitmap.width), "height": .integer(first.bitmap.height),
        "seed": JSONValue(first.seed), "scheduler": .string(result.scheduler), "steps": .integer(result.steps),
        "guidance_scale": .number(result.guidanceScale), "timings_ns": .object(timings),
        "step_ns": .array(budget.steps.map { .integer(Int(clamping: $0.ns)) }),
        "peak_rss_bytes": MemoryProbe().read().peakResidentBytes.map { .integer(Int(clamping: $0)) } ?? .null,
        "safety": .string(first.safety.rawValue), "dropped_tokens": .integer(result.droppedTokens),
      ]
      if result.images.count > 1 {
        object["images"] = .array(
          zip(paths, result.images).map { path, image in
            .object([
              "image": .string(path), "seed": JSONValue(image.seed), "safety": .string(image.safety.rawValue),
            ])
          })
      }
      context.console.print(JSONValue.object(object).text())
      return
    }
    // The image itself is on stdout then.
    if !output.isStdout { for path in paths { context.console.print(path) } }
    for (path, image) in zip(paths, result.images) {
      let safety: String =
        switch image.safety {
        case .passed: "safety check passed"
        case .filtered: "filtered by the safety checker, the image is black"
        case .unchecked: "not checked for safety"
        }
      context.console.say(
        "\(path): \(image.bitmap.width)x\(image.bitmap.height), \(result.scheduler), \(result.steps) steps, seed \(image.seed), \(safety)"
      )
    }
  }
}
