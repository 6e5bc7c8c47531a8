public import KernelContract
public import Tensors

/// The operators with SIMD types and threads, for the instruction set that this copy of the module is compiled for.
///
/// This is the only code with unchecked pointers: shapes are checked on entry, and inside each loop body writes only the
/// part of the output that belongs to its index. Results are the same, bit for bit, for every thread count.
public struct FastKernels: KernelSet {
  let pool: WorkCrew
  /// The arithmetic of matrix products.
  let precision: Precision

  /// Makes the set on its own threads.
  public init(threads: Int) { self.init(pool: WorkerPool(threadCount: threads)) }

  /// Makes the set on given threads.
  public init(pool: WorkerPool) { self.init(pool: WorkCrew(pool: pool, cancellation: nil), precision: .f32) }

  private init(pool: WorkCrew, precision: Precision) {
    self.pool = pool
    self.precision = precision
  }

  /// The same set, whose operators return early, with meaningless results, once the token is cancelled.
  public func stopping(at token: CancellationToken) -> any KernelSet {
    FastKernels(pool: WorkCrew(pool: pool.pool, cancellation: token), precision: precision)
  }

  /// bfloat16 where the instruction set multiplies it.
  public func with(_ precision: Precision) -> (any KernelSet)? {
    #if GENBENCH_ISA_V4BF16
      FastKernels(pool: pool, precision: precision)
    #else
      precision == .f32 ? self : nil
    #endif
  }

  /// `fast-x86-64-v3` and the like.
  public var name: String { precision == .f32 ? instructionSetName : instructionSetName + " (bf16)" }

  private var instructionSetName: String {
    #if GENBENCH_ISA_V4BF16
      "fast-x86-64-v4-bf16"
    #elseif GENBENCH_ISA_V4
      "fast-x86-64-v4"
    #elseif GENBENCH_ISA_V3
      "fast-x86-64-v3"
    #elseif arch(x86_64)
      "fast-x86-64"
    #elseif arch(arm64)
      "fast-arm64"
    #else
      "fast"
    #endif
  }

  /// Threads of the pool, the caller included.
  public var threadCount: Int { pool.threadCount }
}

extension Tensor {
  /// Makes a tensor from its pointer; `body` must write every element.
  static func filled(_ shape: Shape, _ body: (UnsafeMutablePointer<Float>) -> Void) -> Tensor {
    Tensor(shape: shape) { buffer in
      if let base = buffer.baseAddress { body(base) }
    }
  }

  /// Calls `body` with the elements for reading.
  func withPointer<Result>(_ body: (UnsafePointer<Float>?) -> Result) -> Result { withUnsafeBuffer { body($0.baseAddress) } }
}

/// Calls `body` with `count` floats of pooled memory, undefined before and given back after.
func withPooledScratch(_ count: Int, _ body: (UnsafeMutablePointer<Float>) -> Void) {
  _ = Tensor.filled([max(count, 1)], body)
}

/// Calls `body` with the elements of tensors that may be absent.
func withPointers(
  _ first: Tensor?, _ second: Tensor? = nil, _ third: Tensor? = nil,
  _ body: (UnsafePointer<Float>?, UnsafePointer<Float>?, UnsafePointer<Float>?) -> Void
) {
  func open(_ tensor: Tensor?, _ body: (UnsafePointer<Float>?) -> Void) {
    if let tensor { tensor.withPointer(body) } else { body(nil) }
  }
  open(first) { first in open(second) { second in open(third) { third in body(first, second, third) } } }
}
