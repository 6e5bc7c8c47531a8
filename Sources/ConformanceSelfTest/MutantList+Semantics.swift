import Conformance
import Foundation
import GenBackend
import Imaging
import Tensors

extension Mutant {
  /// Changes every picture of a result.
  private static func repainting(_ change: @escaping @Sendable (Bitmap) -> Bitmap)
    -> @Sendable (inout DiffusionImplementation, FaultContext<DiffusionSurface>) -> Void
  {
    { mutant, _ in
      mutant = mutant.mappingResult { result, _ in
        for index in result.images.indices {
          guard let data = result.images[index].data, !data.isEmpty else { continue }
          let picture = try ImageFile.decode([UInt8](data), file: "imageData").rgbOnWhite()
          result.images[index].data = Data(try PNGFile.encode(change(picture)))
        }
      }
    }
  }

  /// A picture whose pixel at a column and row is another one's.
  private static func rearranged(_ picture: Bitmap, _ source: (_ column: Int, _ row: Int) -> (column: Int, row: Int)) -> Bitmap {
    var samples: [UInt8] = []
    samples.reserveCapacity(picture.samples.count)
    for row in 0..<picture.height {
      for column in 0..<picture.width {
        let from = source(column, row)
        let start = (from.row * picture.width + from.column) * 3
        samples += picture.samples[start..<(start + 3)]
      }
    }
    return Bitmap(width: picture.width, height: picture.height, samples: samples)
  }

  // MARK: - Meaning

  static let meanings: [Mutant] = [
    Mutant(
      "ignored-prompt", "The text encoder's result is thrown away: every prompt makes the same picture.",
      breaks: ["S-01", "S-02", "S-10"]
    ) {
      mutant, _ in
      let inner = mutant.generate
      mutant.generate = { _, options, handler in
        var options = options
        options.prompt = "a large red circle on a blue background"
        return try await inner(options.prompt, options, handler)
      }
    },
    Mutant(
      "swapped-channels", "Red and blue change places on the way to the file (BGRA taken for RGBA).",
      breaks: ["S-01", "S-04", "S-10"],
      change: repainting { picture in
        var picture = picture
        for start in stride(from: 0, to: picture.samples.count, by: 3) { picture.samples.swapAt(start, start + 2) }
        return picture
      }),
    Mutant(
      "transposed-picture", "Rows are taken for columns.", breaks: ["S-03"],
      change: repainting { picture in
        guard picture.width == picture.height else { return picture }
        return rearranged(picture) { column, row in (row, column) }
      }),
    Mutant(
      "upside-down", "The rows are written from the bottom, as in bitmaps.", breaks: ["S-03"],
      change: repainting { picture in rearranged(picture) { column, row in (column, picture.height - 1 - row) } }),
    Mutant(
      "mirrored", "Left and right change places.", breaks: ["S-03", "S-07"],
      change: repainting { picture in rearranged(picture) { column, row in (picture.width - 1 - column, row) } }),
    Mutant(
      "grey-pictures", "Only brightness arrives: the decoder's first channel is used for all.", breaks: ["S-01"],
      change: repainting { picture in
        var picture = picture
        for start in stride(from: 0, to: picture.samples.count, by: 3) {
          picture.samples[start + 1] = picture.samples[start]
          picture.samples[start + 2] = picture.samples[start]
        }
        return picture
      }),
    Mutant("one-picture-for-all-seeds", "The seed is told, and not used.", breaks: ["S-04"]) { mutant, _ in
      mutant = mutant.mappingOptions { options in options.seed = 3 }
    },
    Mutant("seed-changes-content", "The seed chooses among prompts.", breaks: ["S-04"]) { mutant, _ in
      let inner = mutant.generate
      mutant.generate = { _, options, handler in
        var options = options
        let colours = ["green", "yellow", "black"]
        options.prompt = "a \(colours[Int(truncatingIfNeeded: (options.seed ?? 0) & 0xff) % 3]) square on a pink background"
        return try await inner(options.prompt, options, handler)
      }
    },
    Mutant("never-more-than-one", "Numbers in prompts are not understood.", breaks: ["S-05"]) { mutant, _ in
      let inner = mutant.generate
      mutant.generate = { _, options, handler in
        var options = options
        options.prompt = options.prompt.replacingOccurrences(of: "two", with: "a").replacingOccurrences(
          of: "circles", with: "circle")
        return try await inner(options.prompt, options, handler)
      }
    },
    Mutant("ignored-negative-prompt", "The negative prompt is taken and not used.", breaks: ["S-06"]) { mutant, _ in
      mutant = mutant.mappingOptions { options in options.negativePrompt = nil }
    },
    Mutant("start-image-forgotten", "Image-to-image begins from noise whatever the strength.", breaks: ["S-07"]) { mutant, _ in
      mutant = mutant.mappingOptions { options in
        options.mode = .textToImage
        options.image = nil
        options.strength = nil
      }
    },
    Mutant("guidance-ignored", "The guidance scale is told, and the usual one used.", breaks: ["S-08"]) { mutant, _ in
      mutant = mutant.mappingOptions { options in options.guidanceScale = 7.5 }
    },
    Mutant(
      "guidance-turned-round", "The prompt's and the empty prompt's predictions change places, so more guidance follows less.",
      breaks: ["S-08"]
    ) { mutant, _ in
      mutant = mutant.mappingOptions { options in options.guidanceScale = 8.5 - (options.guidanceScale ?? 7.5) }
    },
    Mutant("steps-ignored", "The number of steps is told, and the usual one made.", breaks: ["S-09"]) { mutant, _ in
      mutant = mutant.mappingOptions { options in options.steps = 20 }
    },
    Mutant(
      "steps-spoil", "Every step more takes away: the sampler runs on after the picture is done.", breaks: ["S-09"]
    ) { mutant, _ in
      let inner = mutant.generate
      mutant.generate = { _, options, handler in
        var options = options
        if (options.steps ?? 20) > 20 { options.prompt = "a small gray circle on a gray background" }
        return try await inner(options.prompt, options, handler)
      }
    },
    Mutant("mask-ignored", "Inpainting repaints everything.", breaks: ["S-11"]) { mutant, _ in
      mutant = mutant.mappingOptions { options in
        options.mode = .textToImage
        options.image = nil
        options.mask = nil
        options.strength = nil
      }
    },
    Mutant("mask-turned-round", "Black is repainted and white kept.", breaks: ["S-11"]) { mutant, _ in
      mutant = mutant.mappingOptions { options in
        guard let mask = options.mask, var picture = try? ImageFile.decode([UInt8](mask), file: "mask") else { return }
        for index in picture.samples.indices { picture.samples[index] = 255 - picture.samples[index] }
        options.mask = (try? PNGFile.encode(picture)).map { Data($0) }
      }
    },
  ]
}
