import Foundation
import GenBackend
import Imaging
import Tensors

extension Catalogue {
  private static func imageOptions(
    _ context: CheckContext<DiffusionSurface>, strength: Double = 0.5, image: Bitmap? = nil, mask: Bitmap? = nil
  ) throws -> DiffusionSurface.Options {
    let start = try TestImages.png(image ?? TestImages.halves(width: 512, height: 512))
    let maskData = try mask.map { try TestImages.png($0) }
    return context.options {
      $0.mode = mask == nil ? .imageToImage : .inpainting
      $0.image = start
      $0.mask = maskData
      $0.strength = strength
    }
  }

  /// Image-to-image and inpainting.
  static let modeChecks: [SurfaceCheck<DiffusionSurface>] = [
    SurfaceCheck(
      "D-58", "Image-to-image depends on its image; a mode that isn't there is refused, never replaced by text-to-image.",
      level: .contract, group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      let capabilities = rig.implementation.capabilities
      let images = [
        TestImages.halves(width: 512, height: 512),
        TestImages.halves(width: 512, height: 512, left: [10, 240, 10], right: [240, 240, 10]),
      ]
      let plain = try await rig.image(context.options()).data
      let modes: [(DiffusionSurface.Capability, Bitmap?)] = [(.imageToImage, nil), (.inpainting, TestImages.mask(side: 512))]
      for (capability, mask) in modes {
        let records = [
          try await rig.run(try imageOptions(context, image: images[0], mask: mask)),
          try await rig.run(try imageOptions(context, image: images[1], mask: mask)),
        ]
        if capabilities.contains(capability) {
          let (first, second) = (try records[0].result().data, try records[1].result().data)
          try context.expect(
            first != second, "\(capability.rawValue): an image that depends on the start image", seen: "the same")
          try context.expect(first != plain, "\(capability.rawValue): another image than from the prompt alone", seen: "the same")
        } else {
          for record in records {
            try context.expectFailure(record, [.notSupported], "\(capability.rawValue) without the capability")
          }
        }
      }
      guard rig.scripted != nil else { return }
      var poor = Script()
      poor.capabilities.subtract([.imageToImage, .inpainting])
      let poorRig = try await context.loaded(script: poor)
      for (capability, mask) in modes {
        let record = try await poorRig.run(try imageOptions(context, mask: mask))
        try context.expectFailure(record, [.notSupported], "\(capability.rawValue) on a model without it")
      }
    },
    SurfaceCheck(
      "D-60", "A mask of another size is refused; black pixels stay as they are, white ones are repainted.", level: .contract,
      group: .diffusion, environments: [.scripted, .engine], needs: [.inpainting]
    ) { context in
      let rig = try await context.loaded()
      let start = TestImages.halves(width: 512, height: 512, left: [200, 100, 50], right: [50, 100, 200])
      let wrong = try await rig.run(try imageOptions(context, image: start, mask: TestImages.mask(side: 256)))
      try context.expectFailure(wrong, [.invalidInput], "a mask of 256x256 for an image of 512x512")
      let result = try await rig.image(try imageOptions(context, strength: 1, image: start, mask: TestImages.mask(side: 512)))
      let image = try context.decode(result.data)
      var (kept, changed) = (0, 0)
      for row in stride(from: 0, to: 512, by: 7) {
        for column in stride(from: 0, to: 512, by: 5) {
          let index = (row * 512 + column) * 3
          let isSame = image.samples[index..<(index + 3)] == start.samples[index..<(index + 3)]
          if column < 256 {
            try context.expect(
              isSame, "the black half of the mask kept",
              seen:
                "pixel \(column), \(row) is \(Array(image.samples[index..<(index + 3)])), was \(Array(start.samples[index..<(index + 3)]))"
            )
            kept += 1
          } else if !isSame {
            changed += 1
          }
        }
      }
      try context.expect(changed > kept / 2, "the white half repainted", seen: "\(changed) of \(kept) pixels changed")
    },
    SurfaceCheck(
      "D-61", "A strength outside 0...1 is refused; 0 gives the image back or is refused; 1 equals text-to-image.",
      level: .contract, group: .diffusion, environments: [.scripted, .engine], needs: [.imageToImage]
    ) { context in
      let rig = try await context.loaded()
      for strength in [-0.1, 1.1, .nan, .infinity] {
        try context.expectFailure(
          try await rig.run(try imageOptions(context, strength: strength)), [.invalidInput], "strength \(strength)")
      }
      let start = TestImages.halves(width: 512, height: 512)
      let nothing = try await rig.run(try imageOptions(context, strength: 0, image: start))
      switch nothing.outcome {
      case .failure(let failure): try context.expectEqual(failure.code, .invalidInput, "strength 0: error")
      case .success(let result):
        try context.expect(try context.decode(result.data) == start, "strength 0: the image itself", seen: "another one")
      }
      let whole = try await rig.image(try imageOptions(context, strength: 1)).data
      let plain = try await rig.image(context.options()).data
      try context.expect(whole == plain, "strength 1: the image of the prompt alone", seen: "another one")
    },
    SurfaceCheck(
      "D-62", "An input image of another size is resized or refused; its axes are never swapped.", level: .recommended,
      group: .diffusion, environments: [.scripted, .engine], needs: [.imageToImage]
    ) { context in
      let rig = try await context.loaded()
      for (width, height) in [(300, 200), (200, 300), (64, 640), (1, 1)] {
        let record = try await rig.run(
          try imageOptions(context, strength: 0.1, image: TestImages.halves(width: width, height: height)))
        if case .failure(let failure) = record.outcome {
          try context.expectEqual(failure.code, .invalidInput, "an image of \(width)x\(height): error")
          continue
        }
        let image = try context.decode(try record.result().data)
        try context.expectEqual(
          ImageSize(width: image.width, height: image.height), context.size(), "size of the result for \(width)x\(height):")
        guard rig.scripted != nil, width > 1 else { continue }
        // Red on the left, blue on the right; a tenth of it is repainted.
        func mean(_ channel: Int, rows: Range<Int>, columns: Range<Int>) -> Int {
          var sum = 0
          for row in rows { for column in columns { sum += Int(image.samples[(row * image.width + column) * 3 + channel]) } }
          return sum / (rows.count * columns.count)
        }
        let (left, right) = (mean(0, rows: 0..<512, columns: 0..<64), mean(0, rows: 0..<512, columns: 448..<512))
        let (top, bottom) = (mean(0, rows: 0..<64, columns: 0..<512), mean(0, rows: 448..<512, columns: 0..<512))
        try context.expect(
          left > right + 100 && abs(top - bottom) < 60, "red on the left, blue on the right",
          seen: "red of left \(left), right \(right), top \(top), bottom \(bottom)")
      }
    },
    SurfaceCheck(
      "D-63", "What is claimed works; what isn't claimed is refused with notSupported.", level: .contract, group: .diffusion
    ) { context in
      let image = try TestImages.png(TestImages.halves(width: 512, height: 512))
      let mask = try TestImages.png(TestImages.mask(side: 512))
      let probes: [(DiffusionSurface.Capability, Capability, @Sendable (inout DiffusionSurface.Options) -> Void)] = [
        (
          .imageToImage, .imageToImage,
          {
            $0.mode = .imageToImage
            $0.image = image
          }
        ),
        (
          .inpainting, .inpainting,
          {
            $0.mode = .inpainting
            $0.image = image
            $0.mask = mask
          }
        ), (.previews, .previews, { $0.previewStride = 5 }), (.batch, .batch, { $0.imageCount = 2 }),
        (.negativePrompt, .negativePrompt, { $0.negativePrompt = "a hill" }),
      ]
      let rig = try await context.loaded()
      let told = await rig.implementation.modelCapabilities?()
      for (claim, ability, change) in probes {
        if let told {
          try context.expectEqual(
            told.contains(ability.rawValue), rig.implementation.capabilities.contains(claim),
            "\(claim.rawValue) among the loaded model's capabilities:")
        }
        let record = try await rig.run(context.options(change))
        guard rig.implementation.capabilities.contains(claim) else {
          try context.expectFailure(record, [.notSupported], "\(claim.rawValue), which isn't claimed")
          continue
        }
        let result = try record.result("\(claim.rawValue), which is claimed")
        switch claim {
        case .batch: try context.expectEqual(result.images.count, 2, "images of two:")
        case .previews:
          try context.expect(record.updates.contains { $0.preview != nil }, "previews, which are claimed", seen: "none")
        default: break
        }
        var poor = Script()
        poor.capabilities.remove(ability)
        let refused = try await context.loaded(script: poor).run(context.options(change))
        try context.expectFailure(refused, [.notSupported], "\(claim.rawValue) on a model without it")
      }
    },
  ]
}
