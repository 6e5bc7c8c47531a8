import Foundation
import GenBackend
import Imaging
import Tensors

extension Catalogue {
  /// V-01 to V-07: models.
  static let visionLoadChecks: [SurfaceCheck<VisionSurface>] = [
    SurfaceCheck(
      "V-01", "An answer that is asked for before a model is loaded fails with notInitialized.", level: .normative,
      group: .vision,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.make(context)
      let before = try await rig.answer()
      try rig.expect(before.failure, [.notInitialized], "an answer before the load")
      try context.expect(before.isRefused, "the call itself throws", seen: "a stream that fails")
      try await rig.load(rig.model())
      try await rig.implementation.unload()
      try rig.expect(try await rig.answer().failure, [.notInitialized], "an answer after the unload")
    },
    SurfaceCheck(
      "V-02", "A model that isn't registered, or isn't downloaded, fails to load with modelNotFound.", level: .normative,
      group: .vision, environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.make(context)
      let model = rig.model()
      try rig.expect(
        await rig.failure { try await rig.implementation.load(model) }, [.modelNotFound], "a model that isn't registered")
      try await rig.implementation.register(model)
      try rig.expect(
        await rig.failure { try await rig.implementation.load(model) }, [.modelNotFound], "a model that isn't downloaded")
    },
    SurfaceCheck("V-03", "A model is loaded by its whole descriptor; an id alone isn't taken.", level: .normative, group: .vision)
    {
      context in
      let rig = try await VisionRig.make(context)
      try context.expect(
        rig.implementation.loadNeedsDescriptor, "a load that takes a descriptor", seen: "one that takes an id alone")
    },
    SurfaceCheck(
      "V-04",
      "A model is registered with its main file first and its projector second, as llamaCpp and multimodal; others are refused.",
      level: .normative, group: .vision, environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.make(context)
      var framework = rig.model("other-framework")
      framework.framework = "onnx"
      var modality = rig.model("other-modality")
      modality.modality = "language"
      for model in [framework, modality] {
        try rig.expect(await rig.failureOfLoading(model), [.invalidInput, .modelLoadFailed, .notSupported], "\(model.id)")
        try context.expect(!(await rig.implementation.isLoaded()), "nothing loaded by \(model.id)", seen: "a model")
      }
      try await rig.load(rig.model())
      if let engine = rig.scripted {
        let names = engine.loads.last.map {
          [$0.path, $0.projectorPath ?? ""].map { URL(fileURLWithPath: $0).lastPathComponent }
        }
        try context.expectEqual(names ?? [], ["model.gguf", "mmproj.gguf"], "main file and projector that the engine got:")
      }
    },
    SurfaceCheck(
      "V-05", "Without its projector, or with a damaged one, a model fails to load.", level: .normative, group: .vision,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.make(context)
      let codes: [ErrorCode] = [.modelLoadFailed, .modelNotFound, .invalidInput]
      var alone = rig.model("alone")
      alone.files.removeLast()
      try rig.expect(await rig.failureOfLoading(alone), codes, "a model without its projector")
      var damaged = rig.model("damaged")
      damaged.files[1] = try rig.file("mmproj.gguf", Data("GGUF\u{1}nonsense, as long as a head".utf8))
      try rig.expect(await rig.failureOfLoading(damaged), codes, "a model with a damaged projector")
      try context.expect(!(await rig.implementation.isLoaded()), "nothing loaded", seen: "a model")
    },
    SurfaceCheck(
      "V-06", "Files in the wrong order are refused or put right; the projector is never run as the language model.",
      level: .recommended, group: .vision, environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.make(context)
      var swapped = rig.model("swapped")
      swapped.files.swapAt(0, 1)
      let failure = await rig.failureOfLoading(swapped)
      if failure == nil {
        let text = try await rig.answer().text("an answer by the model whose files were swapped")
        let right = try await VisionRig.loaded(context)
        try context.expectEqual(text, try await right.answer().text(), "its answer, as in the right order:")
      } else {
        try rig.expect(failure, [.modelLoadFailed, .invalidInput], "a model whose files are swapped")
        try context.expect(!(await rig.implementation.isLoaded()), "nothing loaded", seen: "a model")
      }
    },
    SurfaceCheck(
      "V-07", "Whether a model is loaded follows load and unload, and a failed load of the first model leaves none.",
      level: .normative, group: .vision, environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.make(context)
      try context.expect(!(await rig.implementation.isLoaded()), "not loaded at first", seen: "loaded")
      var damaged = rig.model("damaged")
      damaged.files[1] = try rig.file("mmproj.gguf", Data("GGUF\u{1}nonsense, as long as a head".utf8))
      _ = await rig.failureOfLoading(damaged)
      try context.expect(!(await rig.implementation.isLoaded()), "not loaded after a failed load", seen: "loaded")
      try await rig.load(rig.model())
      try context.expect(await rig.implementation.isLoaded(), "loaded after the load", seen: "not loaded")
      try context.expectEqual(await rig.implementation.loadedID(), "vlm", "the id of the loaded model:")
      try await rig.implementation.unload()
      try context.expect(!(await rig.implementation.isLoaded()), "not loaded after the unload", seen: "loaded")
      try context.expectEqual(await rig.implementation.loadedID(), nil, "the id after the unload:")
      let again = await rig.failure { try await rig.implementation.unload() }
      try context.expect(
        again == nil, "an unload without a model that does nothing", seen: CheckContext<VisionSurface>.shown(again))
    },
  ]

  private static let badImage: [ErrorCode] = [.other("invalidImage")]

  /// V-08 to V-16: what is asked.
  static let visionInputChecks: [SurfaceCheck<VisionSurface>] = [
    SurfaceCheck(
      "V-08",
      "Raw pixels need width · height · 3 bytes; any other count is refused with invalidImage, and nothing beyond them is read.",
      level: .normative, group: .vision, environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.loaded(context)
      let right = 8 * 6 * 3
      for count in [right - 1, right + 1, right - 3, 0, 8 * 6 * 4] {
        let record = try await rig.answer(.rgb(Data(count: count), width: 8, height: 6))
        try rig.expect(record.failure, badImage, "8x6 pixels in \(count) bytes")
      }
      for (width, height) in [(Int.max, Int.max), (Int.max / 3 + 2, 1), (1 << 32, 1 << 32)] {
        let record = try await rig.answer(.rgb(Data(count: right), width: width, height: height))
        try rig.expect(record.failure, badImage, "\(width)x\(height) pixels in \(right) bytes")
      }
      if let engine = rig.scripted { try context.expectEqual(engine.runs.count, 0, "requests that reached the engine:") }
      _ = try await rig.answer(.rgb(Data(count: right), width: 8, height: 6)).text("8x6 pixels in \(right) bytes")
    },
    SurfaceCheck(
      "V-09", "Sizes below 1, no data, and files that can't be decoded are refused with invalidImage before anything runs.",
      level: .normative, group: .vision, environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.loaded(context)
      for (width, height) in [(0, 6), (8, 0), (-8, 6), (-8, -6), (0, 0)] {
        let data = Data(count: abs(width * height) * 3)
        try rig.expect(
          try await rig.answer(.rgb(data, width: width, height: height)).failure, badImage, "\(width)x\(height) pixels")
      }
      try rig.expect(try await rig.answer(.rgb(Data(), width: 8, height: 6)).failure, badImage, "no data")
      if rig.implementation.capabilities.contains(.encodedImages) {
        for data in [Data("not an image".utf8), Data([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0])] {
          try rig.expect(try await rig.answer(.encoded(data)).failure, badImage, "\(data.count) bytes that are no image")
        }
      }
      if rig.implementation.capabilities.contains(.imageFiles) {
        let file = try context.temporaryFolder().appendingPathComponent("none.png")
        try rig.expect(try await rig.answer(.file(file)).failure, badImage, "a file that isn't there")
      }
      if let engine = rig.scripted { try context.expectEqual(engine.runs.count, 0, "requests that reached the engine:") }
    },
    SurfaceCheck("V-10", "The order of channels is red, green, blue.", level: .normative, group: .vision) { context in
      let rig = try await VisionRig.loaded(context)
      for (name, image) in [("red", rig.solid(255, 0, 0)), ("green", rig.solid(0, 255, 0)), ("blue", rig.solid(0, 0, 255))] {
        let text = try await rig.answer(image).text()
        try context.expect(text.contains(name), "an all-\(name) image called \(name)", seen: text)
      }
    },
    SurfaceCheck(
      "V-11", "Transparent parts of an image lie on one background, and that is white or stated.", level: .recommended,
      group: .vision
    ) {
      context in
      let rig = try await VisionRig.loaded(context)
      try rig.need(.encodedImages)
      let pixels = [UInt8](repeating: 0, count: 16 * 16 * 4)
      let file = try PNGFile.encode(Bitmap(width: 16, height: 16, channels: 4, samples: pixels))
      let text = try await rig.answer(.encoded(Data(file))).text()
      try context.expect(text.contains("white"), "an image that is all transparent seen as white", seen: text)
    },
    SurfaceCheck(
      "V-12", "Pixels with opacity need width · height · 4 bytes and mean what the same opaque pixels mean without.",
      level: .recommended, group: .vision, environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.loaded(context)
      try rig.need(.rgbaPixels)
      let rgb = VisionRig.pixels(3, width: 8, height: 6)
      var rgba = Data()
      for pixel in 0..<48 { rgba += rgb[(pixel * 3)..<(pixel * 3 + 3)] + [255] }
      for count in [rgba.count - 1, rgba.count + 1, 48 * 3, 0] {
        let record = try await rig.answer(.rgba(Data(count: count), width: 8, height: 6))
        try rig.expect(record.failure, badImage, "8x6 pixels with opacity in \(count) bytes")
      }
      let plain = try await rig.answer(.rgb(rgb, width: 8, height: 6)).text()
      try context.expectEqual(
        try await rig.answer(.rgba(rgba, width: 8, height: 6)).text(), plain, "the answer for opaque pixels with opacity:")
    },
    SurfaceCheck(
      "V-13", "The same image gives the same answer in whatever form it's given.", level: .recommended, group: .vision,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.loaded(context)
      let pixels = VisionRig.pixels(5, width: 24, height: 16)
      let wanted = try await rig.answer(.rgb(pixels, width: 24, height: 16)).text()
      let file = Data(try PNGFile.encode(Bitmap(width: 24, height: 16, samples: [UInt8](pixels))))
      if rig.implementation.capabilities.contains(.encodedImages) {
        try context.expectEqual(try await rig.answer(.encoded(file)).text(), wanted, "the answer for the bytes of a PNG:")
      }
      if rig.implementation.capabilities.contains(.imageFiles) {
        let url = try context.temporaryFolder().appendingPathComponent("image.png")
        try file.write(to: url)
        try context.expectEqual(try await rig.answer(.file(url)).text(), wanted, "the answer for a PNG file:")
      }
    },
    SurfaceCheck(
      "V-14", "The image matters: two images and one prompt give two answers.", level: .recommended, group: .vision,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.loaded(context)
      let first = try await rig.answer(rig.picture(1)).text()
      let second = try await rig.answer(rig.solid(250, 20, 20)).text()
      try context.expect(first != second, "two answers", seen: "'\(first)' twice")
    },
    SurfaceCheck(
      "V-15", "An answer is about exactly one image: the engine gets that one, and an image without data is an error.",
      level: .contract, group: .vision
    ) {
      context in
      let rig = try await VisionRig.loaded(context)
      let engine = try rig.testDouble
      let pixels = VisionRig.pixels(2, width: 10, height: 10)
      _ = try await rig.answer(.rgb(pixels, width: 10, height: 10)).text()
      try context.expectEqual(
        engine.runs.last?.request.image?.samples.count ?? 0, 300, "samples of the image that the engine got:")
      if rig.implementation.capabilities.contains(.encodedImages) {
        let record = try await rig.answer(.encoded(Data()))
        try rig.expect(record.failure, [.other("invalidImage"), .invalidInput], "an image without data")
        try context.expectEqual(engine.runs.count, 1, "requests that reached the engine:")
      }
    },
    SurfaceCheck(
      "V-16", "An empty prompt is refused.", level: .contract, group: .vision, environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.loaded(context)
      for prompt in ["", "  \n\t"] {
        try rig.expect(try await rig.answer(nil, prompt).failure, [.invalidInput], "the prompt '\(prompt)'")
      }
    },
    SurfaceCheck(
      "V-35", "Sampling options out of range are refused; at temperature 0 the same question has the same answer.",
      level: .contract, group: .vision, environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.loaded(context)
      try rig.need(.sampling)
      let refused: [(String, VisionSurface.Options)] = [
        ("temperature -0.1", .init(temperature: -0.1)), ("temperature 2.1", .init(temperature: 2.1)),
        ("temperature NaN", .init(temperature: .nan)), ("topP 1.1", .init(topP: 1.1)), ("topP -0.1", .init(topP: -0.1)),
        ("topK -1", .init(topK: -1)),
      ]
      for (name, options) in refused {
        try rig.expect(try await rig.answer(options: options).failure, [.invalidInput], name)
      }
      let first = try await rig.answer(options: .init(temperature: 0, seed: 1)).text()
      let second = try await rig.answer(options: .init(temperature: 0, seed: 2)).text()
      try context.expectEqual(second, first, "the answer at temperature 0, whatever the seed:")
      _ = try await rig.answer(options: .init(temperature: 2, topP: 1, topK: 0)).text("temperature 2")
    },
  ]
}
