/// A seeded stream of standard normal numbers; a value, so that a copy replays the same numbers.
public protocol NoiseSource: Sendable {
  /// Draws independent normals (mean 0, variance 1) in row-major order.
  ///
  /// What a call returns depends on all calls before it, as with the generator it's named after: two calls of 8 elements
  /// aren't one call of 16.
  mutating func normals(shape: Shape) -> Tensor
}

/// The generators whose noise genbench reproduces, to about 1e-6 absolute.
public enum RandomSource: String, Sendable, Hashable, Codable, CaseIterable {
  /// `torch.Generator("cpu")`: what diffusers recommends, ComfyUI, stable-diffusion.cpp `--rng cpu`.
  case torch
  /// `numpy.random.RandomState`: Apple's default, ONNX pipelines.
  case numpy
  /// CUDA's Philox as AUTOMATIC1111 and stable-diffusion.cpp (`--rng cuda`) emulate it.
  case philox

  /// Makes the generator at the start of its stream.
  ///
  /// - Parameter seed: torch and NumPy use the low 32 bits only (torch itself does so; NumPy refuses larger seeds), Philox
  ///   all 64.
  public func makeNoiseSource(seed: UInt64) -> any NoiseSource {
    switch self {
    case .torch: TorchGenerator(seed: seed)
    case .numpy: NumPyRandomState(seed: seed)
    case .philox: PhiloxGenerator(seed: seed)
    }
  }

  /// Makes the generator from a signed seed, as its two's complement: -1 is 2^64-1, as in torch.
  public func makeNoiseSource(seed: Int64) -> any NoiseSource { makeNoiseSource(seed: UInt64(bitPattern: seed)) }
}

/// One generator per image of a batch, as diffusers draws when it's given a list of generators.
///
/// Each image gets the noise that it would get alone.
public struct PerImageNoise: NoiseSource {
  private var sources: [any NoiseSource]

  /// Makes the source from one generator per image.
  ///
  /// - Precondition: there is at least one generator.
  public init(_ sources: [any NoiseSource]) {
    precondition(!sources.isEmpty, "at least one generator is needed")
    self.sources = sources
  }

  /// Draws `[1, …]` from each generator in turn and joins the results along the slowest axis.
  ///
  /// - Precondition: `shape[0]` is the number of generators.
  public mutating func normals(shape: Shape) -> Tensor {
    precondition(shape.rank > 0 && shape[0] == sources.count, "\(sources.count) generators can't fill \(shape)")
    let single = Shape([1] + shape.dimensions.dropFirst())
    return .concatenated(sources.indices.map { sources[$0].normals(shape: single) })
  }
}
