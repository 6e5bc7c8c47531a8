import Foundation
package import GenBackend
import Tensors

/// The settings of an image as text, in the form that A1111 writes and many tools read.
package struct GenerationParameters {
  private let request: ImageRequest
  private let result: ImageResult
  private let image: ImageResult.Image
  private let model: String
  private let version: String

  /// Takes what was asked and what came of it.
  package init(request: ImageRequest, result: ImageResult, image: ImageResult.Image, model: String, version: String) {
    self.request = request
    self.result = result
    self.image = image
    self.model = model
    self.version = version
  }

  /// Prompt, negative prompt, then `Key: value` pairs on one line; nothing that changes from run to run.
  package var text: String {
    var lines = [request.prompt]
    if let negative = request.negativePrompt, !negative.isEmpty { lines.append("Negative prompt: " + negative) }
    var pairs = [
      ("Steps", String(result.steps)), ("Sampler", result.scheduler), ("CFG scale", Self.number(result.guidanceScale)),
      ("Seed", String(image.seed)), ("Size", "\(image.bitmap.width)x\(image.bitmap.height)"), ("Model", model),
    ]
    if request.latents != nil {
      pairs.append(("Noise", "given"))
    } else if request.randomSource != "torch" {
      pairs.append(("RNG", request.randomSource))
    }
    if request.image != nil { pairs.append(("Denoising strength", Self.number(request.strength))) }
    if request.guidanceRescale != 0 { pairs.append(("CFG rescale phi", Self.number(request.guidanceRescale))) }
    if let eta = request.eta { pairs.append(("Eta", Self.number(eta))) }
    if let spacing = request.timestepSpacing { pairs.append(("Timestep spacing", spacing)) }
    if let skip = request.clipSkip, skip > 0 { pairs.append(("Clip skip", String(skip))) }
    if image.safety == .filtered { pairs.append(("Safety", "filtered")) }
    pairs.append(("Version", "genbench \(version)"))
    // Values with a comma or a colon are put in quotes, as A1111 does it.
    lines.append(
      pairs.map { key, value in value.contains { ",:\n\"".contains($0) } ? "\(key): \(Self.quoted(value))" : "\(key): \(value)" }
        .joined(separator: ", "))
    return lines.joined(separator: "\n")
  }

  private static func number(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e9 ? String(Int(value)) : String(value)
  }

  private static func quoted(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n") + "\""
  }
}
