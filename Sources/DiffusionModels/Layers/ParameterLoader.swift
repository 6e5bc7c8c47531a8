public import Checkpoints
public import KernelContract
public import Tensors

/// Hands out the parameters of a network by name and checks their shapes.
///
/// A network is built by one pass over its modules, each asking for what it needs under its checkpoint name. The same
/// pass serves files (``FileParameters``) and planning (``ParameterInventory``), so there is one list of parameters only.
public protocol ParameterSource: AnyObject {
  /// The parameter of a name.
  ///
  /// - Parameters:
  ///   - name: The checkpoint name.
  ///   - shape: What the configuration asks for; a matrix may also be stored as a 1×1 convolution, and the reverse.
  /// - Throws: `CheckpointError` when it's absent or of another shape.
  func parameter(named name: String, shape: Shape) throws(CheckpointError) -> WeightView
}

/// Parameters of one component's files.
public final class FileParameters: ParameterSource {
  private let source: any WeightSource
  private var unused: Set<String>

  /// Makes a source over a component's weights.
  public init(_ source: any WeightSource) {
    self.source = source
    unused = Set(source.weightNames)
  }

  /// The parameter of a name, see ``ParameterSource``.
  public func parameter(named name: String, shape: Shape) throws(CheckpointError) -> WeightView {
    unused.remove(name)
    if let view = source.weight(named: name), view.shape != shape,
      view.shape.dimensions.filter({ $0 != 1 }) == shape.dimensions.filter({ $0 != 1 })
    {
      return view.reinterpreted(shape: shape)
    }
    return try source.requireWeight(named: name, shape: shape)
  }

  /// The names of tensors that the network didn't ask for, sorted.
  public var unusedNames: [String] { unused.sorted() }
}

/// Walks the modules of a network by name.
public struct ParameterLoader {
  private let source: any ParameterSource
  /// The operators that prepare weights.
  public let kernels: any KernelSet
  /// The dotted name so far.
  public let name: String

  /// Makes a loader at the root of a network.
  public init(_ source: any ParameterSource, kernels: any KernelSet) {
    self.init(source: source, kernels: kernels, name: "")
  }

  private init(source: any ParameterSource, kernels: any KernelSet, name: String) {
    self.source = source
    self.kernels = kernels
    self.name = name
  }

  /// The loader of a child module: `loader["down_blocks.0"]`.
  public subscript(child: String) -> ParameterLoader {
    ParameterLoader(source: source, kernels: kernels, name: path(child))
  }

  private func path(_ child: String) -> String { name.isEmpty ? child : name + "." + child }

  /// A parameter as it lies in the file.
  public func weight(_ child: String, _ shape: Shape) throws(CheckpointError) -> WeightView {
    try source.parameter(named: path(child), shape: shape)
  }

  /// A small parameter as `Float`s; must be finite.
  public func tensor(_ child: String, _ shape: Shape) throws(CheckpointError) -> Tensor {
    let view = try weight(child, shape)
    let tensor = view.float32()
    guard !tensor.hasNonFinite else {
      throw CheckpointError(.invalid, file: view.name, "holds NaN or infinite values; the checkpoint is damaged")
    }
    return tensor
  }
}
