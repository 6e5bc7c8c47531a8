public import Checkpoints
public import Foundation
public import Tensors

/// One case of `Fixtures/`: inputs and outputs from an outside oracle, with the tolerance and its reason.
///
/// A case is a folder with `case.json` and, when it has tensors, `tensors.safetensors`.
public struct GoldenCase: Sendable, CustomStringConvertible {
  /// How far a result may be from the golden.
  public struct Tolerance: Codable, Sendable, Hashable {
    /// The measure: `exact`, `absolute` (largest |a - e|), `relative` (largest |a - e| over largest |e|), `nmse`, `psnr_db` (at least).
    public var metric: Metric
    /// The limit; unused for `exact`.
    public var limit: Double
    /// Why this limit.
    public var reason: String

    /// The measures.
    public enum Metric: String, Codable, Sendable {
      case exact, absolute, relative, nmse
      case psnrDb = "psnr_db"
    }

    /// Makes a tolerance.
    public init(metric: Metric, limit: Double, reason: String) {
      self.metric = metric
      self.limit = limit
      self.reason = reason
    }
  }

  /// Who made the golden.
  public struct Origin: Codable, Sendable, Hashable {
    /// The oracle: `diffusers`, `transformers`, `torch`, `numpy`, `pillow`, `gguf`; `self` for a mere change detector.
    public var tool: String
    /// Its version.
    public var version: String
    /// The script under `scripts/fixtures/`.
    public var script: String
    /// The seed, when randomness was used.
    public var seed: Int?
  }

  private struct Header: Codable {
    var schema: String
    var id: String
    var op: String
    var tolerance: Tolerance
    var origin: Origin
  }

  /// The stable id, equal to the path below `Fixtures/`: `schedulers/ddim/leading-10`.
  public let id: String
  /// What is tested, such as `groupNorm` or `unet2DConditionModel`.
  public let op: String
  /// How close a result must be.
  public let tolerance: Tolerance
  /// Where the golden comes from.
  public let origin: Origin
  /// The folder.
  public let folder: URL
  private let attributesJSON: Data

  /// Reads a case folder.
  ///
  /// - Throws: ``CheckpointError`` when `case.json` is absent or malformed.
  public init(folder: URL) throws {
    let file = folder.appendingPathComponent("case.json")
    guard let data = try? Data(contentsOf: file) else { throw CheckpointError(.missing, file: file.path, "no golden case there") }
    do {
      let header = try JSONDecoder().decode(Header.self, from: data)
      guard header.schema == "genbench.case/1" else {
        throw CheckpointError(.unsupported, file: file.path, "schema: expected genbench.case/1, found \(header.schema)")
      }
      id = header.id
      op = header.op
      tolerance = header.tolerance
      origin = header.origin
      let root = try JSONSerialization.jsonObject(with: data) as? [String: Any]
      attributesJSON = try JSONSerialization.data(withJSONObject: root?["attributes"] ?? [String: Any]())
    } catch let error as DecodingError {
      throw CheckpointError(.invalid, file: file.path, "case.json: \(error)")
    }
    self.folder = folder
  }

  /// The `attributes` object as a type of the test's own.
  public func attributes<Attributes: Decodable>(_ type: Attributes.Type = Attributes.self) throws -> Attributes {
    try JSONDecoder().decode(type, from: attributesJSON)
  }

  /// The tensors of `tensors.safetensors`: inputs as `input.…`, results as `output.…`, weights under their own names.
  public func tensors() throws -> SafetensorsFile {
    try SafetensorsFile(path: folder.appendingPathComponent("tensors.safetensors").path)
  }

  /// One tensor as `Float`.
  public func tensor(_ name: String) throws -> Tensor {
    let file = try tensors()
    guard let view = file.weight(named: name) else {
      throw CheckpointError(.invalid, file: file.location, "tensor '\(name)' is missing")
    }
    return view.float32()
  }

  /// The id.
  public var description: String { id }
}

extension GoldenCase.Tolerance {
  /// Nil when `actual` is close enough; otherwise what was expected and seen, with the worst place.
  public func mismatch(actual: Tensor, expected: Tensor, peak: Double = 1) -> String? {
    guard let comparison = Comparison(actual: actual, expected: expected) else {
      return "shape: expected \(expected.shape), found \(actual.shape)"
    }
    let place = "worst at \(comparison.worstIndex): expected \(comparison.worstExpected), found \(comparison.worstActual)"
    if comparison.hasNonFiniteMismatch { return "not finite; \(place)" }
    let (value, passes): (Double, Bool) =
      switch metric {
      case .exact: (comparison.maxAbsolute, comparison.maxAbsolute == 0)
      case .absolute: (comparison.maxAbsolute, comparison.maxAbsolute <= limit)
      case .relative: (comparison.maxRelative, comparison.maxRelative <= limit)
      case .nmse: (comparison.normalizedMeanSquaredError, comparison.normalizedMeanSquaredError <= limit)
      case .psnrDb:
        {
          let psnr = Comparison.psnr(actual: actual, expected: expected, peak: peak)
          return (psnr, psnr >= limit)
        }()
      }
    return passes ? nil : "\(metric.rawValue) \(value), limit \(limit) (\(reason)); \(place)"
  }
}
