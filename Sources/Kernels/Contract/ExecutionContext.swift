public import Tensors

/// What a network needs while it runs: operators, the stop signal, and somebody who looks at the blocks' outputs.
public struct ExecutionContext: Sendable {
  /// The operators.
  public var kernels: any KernelSet
  /// Looked at before and after each block; the operators look at it themselves, where they can.
  public var cancellation: CancellationToken
  /// Sees each block's output under its checkpoint name (`down_blocks.0.resnets.1`), channels first; for traces.
  public var observeBlock: (@Sendable (_ name: String, _ output: () -> Tensor) -> Void)?

  /// Makes a context.
  public init(
    kernels: any KernelSet, cancellation: CancellationToken = CancellationToken(),
    observeBlock: (@Sendable (_ name: String, _ output: () -> Tensor) -> Void)? = nil
  ) {
    self.kernels = kernels.stopping(at: cancellation)
    self.cancellation = cancellation
    self.observeBlock = observeBlock
  }
}
