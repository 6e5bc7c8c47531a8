import Foundation
import GenBackend
import Imaging
import Synchronization
import Tensors

extension Catalogue {
  /// What comes back.
  static let resultChecks: [SurfaceCheck<DiffusionSurface>] = [
    SurfaceCheck(
      "D-21", "The result's width and height are the requested ones and those of the decoded image.", level: .normative,
      group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      for variant in DiffusionSurface.Variant.allCases {
        let rig = try await context.loaded(variant)
        let size = context.size(variant)
        let result = try await rig.image(context.options("a boat", variant))
        try context.expectEqual(ImageSize(width: result.width, height: result.height), size, "\(variant.rawValue): result size")
        let image = try context.decode(result.data)
        try context.expectEqual(
          ImageSize(width: image.width, height: image.height), size, "\(variant.rawValue): size of the decoded image")
        if !context.isScripted { break }
      }
    },
    SurfaceCheck(
      "D-22",
      "generationTimeMs is above 0, at most the time that the caller sees, and covers text, denoising, decoding and safety.",
      level: .normative, group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded(.sd15, checksSafety: true)
      let record = try await rig.run(context.options())
      let milliseconds = try record.result().milliseconds
      let seen = (record.elapsedNs + 999_999) / 1_000_000
      try context.expect(milliseconds > 0, "generationTimeMs above 0", seen: "0")
      try context.expect(milliseconds <= seen, "at most \(seen) ms, as the caller saw", seen: "\(milliseconds) ms")
      if let script = rig.scripted?.script {
        let parts = (script.textNs + 10 * script.stepNs + script.decodeNs + script.safetyNs) / 1_000_000
        try context.expect(
          milliseconds >= parts, "at least \(parts) ms: text, 10 steps, decoding, safety", seen: "\(milliseconds) ms")
      }
      context.note("\(milliseconds) ms of \(seen) ms")
    },
    SurfaceCheck(
      "D-23", "imageData isn't empty on success.", level: .normative, group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let result = try await context.loaded().image(context.options())
      try context.expect(!result.data.isEmpty, "bytes", seen: "none")
    },
    SurfaceCheck(
      "D-24", "imageData is a PNG or JPEG file that decodes.", level: .normative, group: .diffusion,
      environments: [.scripted, .engine]
    ) { context in
      let result = try await context.loaded().image(context.options())
      let magic = [UInt8](result.data.prefix(4))
      try context.expect(
        magic == [0x89, 0x50, 0x4e, 0x47] || magic.prefix(3) == [0xff, 0xd8, 0xff],
        "a file that begins with 89 50 4E 47 (PNG) or FF D8 FF (JPEG)",
        seen: "\(result.data.count) bytes that begin with \(magic.map { String($0, radix: 16) }.joined(separator: " "))")
      _ = try context.decode(result.data)
    },
    SurfaceCheck(
      "D-25", "A media type that is told is the one of the bytes.", level: .contract, group: .diffusion,
      environments: [.scripted, .engine]
    ) { context in
      let result = try await context.loaded().image(context.options())
      guard let mediaType = result.mediaType else { throw CheckSkip("the implementation tells no media type") }
      let magic = [UInt8](result.data.prefix(3))
      let real = magic == [0x89, 0x50, 0x4e] ? "image/png" : magic == [0xff, 0xd8, 0xff] ? "image/jpeg" : "neither PNG nor JPEG"
      try context.expectEqual(mediaType, real, "media type of the bytes:")
    },
    SurfaceCheck(
      "D-65", "An image isn't constant, and numbers that aren't finite are an error, not an image.", level: .recommended,
      group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      let image = try context.decode(try await rig.image(context.options()).data)
      try context.expect(!image.isConstant, "no constant colour channel", seen: "one")
      try context.expect(image.deviation > 2, "a standard deviation of the samples above 2", seen: "\(image.deviation)")
      context.note("standard deviation \((image.deviation * 10).rounded() / 10) of 255")
      if let scripted = rig.scripted {
        scripted.script.failure = (5, BackendError(.processingFailed, "step 5: the prediction isn't finite"))
        try context.expectFailure(try await rig.run(context.options()), [.processingFailed], "a prediction that isn't finite")
      }
    },
  ]

  /// Seeds, prompts, samplers.
  static let seedChecks: [SurfaceCheck<DiffusionSurface>] = [
    SurfaceCheck(
      "D-26", "The same seed, options and model give the same bytes, also in a fresh instance; another seed gives others.",
      level: .contract, group: .diffusion, environments: [.scripted, .engine], needs: [.seed]
    ) { context in
      let rig = try await context.loaded()
      let options = context.options()
      let first = try await rig.image(options).data
      let second = try await rig.image(options).data
      let fresh = try await context.loaded().image(options).data
      try context.expect(first == second, "the same bytes twice", seen: "others")
      try context.expect(first == fresh, "the same bytes from a fresh instance", seen: "others")
      let other = try await rig.image(context.options { $0.seed = 8 }).data
      try context.expect(first != other, "other bytes with another seed", seen: "the same")
    },
    SurfaceCheck(
      "D-27", "A random seed (absent or -1) is told, differs from call to call, and gives the image again.", level: .contract,
      group: .diffusion, environments: [.scripted, .engine], needs: [.seed]
    ) { context in
      let rig = try await context.loaded()
      var seeds: [Int64] = []
      for seed in [nil, -1] as [Int64?] {
        let result = try await rig.image(context.options { $0.seed = seed })
        guard let used = result.seed else { throw CheckFailure(expected: "the seed that was used", seen: "none told") }
        let again = try await rig.image(context.options { $0.seed = used })
        try context.expect(again.data == result.data, "the image again from its seed \(used)", seen: "another image")
        seeds.append(used)
      }
      try context.expect(seeds[0] != seeds[1], "another seed for another call", seen: "\(seeds[0]) twice")
    },
    SurfaceCheck(
      "D-28", "Seed 0 is a seed like any other, not a wish for a random one.", level: .contract, group: .diffusion,
      environments: [.scripted, .engine], needs: [.seed]
    ) { context in
      let rig = try await context.loaded()
      let options = context.options { $0.seed = 0 }
      let first = try await rig.image(options)
      try context.expectEqual(first.seed, 0, "seed that was used:")
      let again = try await rig.image(options)
      try context.expect(first.data == again.data, "the same image twice from seed 0", seen: "two images")
    },
    SurfaceCheck(
      "D-30", "Two prompts of the same length give different images at the same seed.", level: .recommended, group: .diffusion,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      let first = try await rig.image(context.options("a red boat")).data
      let second = try await rig.image(context.options("a fat goat")).data
      try context.expect(first != second, "an image that depends on the words", seen: "the same image")
    },
    SurfaceCheck(
      "D-31", "The negative prompt matters with guidance, doesn't without, and isn't the prompt.", level: .contract,
      group: .diffusion, environments: [.scripted, .engine], needs: [.negativePrompt]
    ) { context in
      let rig = try await context.loaded()
      func image(_ prompt: String, _ negative: String?, _ guidance: Double) async throws -> Data {
        var options = context.options(prompt)
        options.negativePrompt = negative
        options.guidanceScale = guidance
        return try await rig.image(options).data
      }
      let plain = try await image("a red boat", nil, 7.5)
      let avoiding = try await image("a red boat", "a green hill", 7.5)
      try context.expect(plain != avoiding, "another image with a negative prompt", seen: "the same")
      let swapped = try await image("a green hill", "a red boat", 7.5)
      try context.expect(avoiding != swapped, "another image when the prompts are swapped", seen: "the same")
      let unguided = try await image("a red boat", nil, 1)
      let unguidedAvoiding = try await image("a red boat", "a green hill", 1)
      try context.expect(unguided == unguidedAvoiding, "no effect at guidance 1", seen: "another image")
    },
    SurfaceCheck(
      "D-32", "As many images come as were asked for, each of which its own seed gives alone.", level: .contract,
      group: .diffusion, environments: [.scripted, .engine], needs: [.batch, .seed]
    ) { context in
      let rig = try await context.loaded()
      let result = try await rig.image(
        context.options {
          $0.seed = 40
          $0.imageCount = 3
        })
      try context.expectEqual(result.images.count, 3, "images:")
      for (index, image) in result.images.enumerated() {
        let alone = try await rig.image(context.options { $0.seed = image.seed })
        try context.expect(
          alone.data == image.data, "image \(index) again from its seed \(image.seed ?? -1)", seen: "another image")
      }
      try context.expect(Set(result.images.map(\.data)).count == 3, "three different images", seen: "equal ones")
    },
    SurfaceCheck(
      "D-33", "The sampler that is asked for is used and told; two give different images; an unknown one is refused.",
      level: .contract, group: .diffusion, environments: [.scripted, .engine], needs: [.scheduler]
    ) { context in
      let rig = try await context.loaded()
      var images: [Data] = []
      for scheduler in ["ddim", "euler"] {
        let result = try await rig.image(context.options { $0.scheduler = scheduler })
        if let told = result.scheduler { try context.expectEqual(told, scheduler, "sampler that is told:") }
        if let request = rig.scripted?.runs.last?.request {
          try context.expectEqual(request.scheduler, scheduler, "sampler that the engine sees:")
        }
        images.append(result.data)
      }
      try context.expect(images[0] != images[1], "different images from two samplers", seen: "the same")
      try context.expectFailure(
        try await rig.run(context.options { $0.scheduler = "no-such-sampler" }), [.invalidInput, .notSupported],
        "an unknown sampler")
    },
  ]
}
