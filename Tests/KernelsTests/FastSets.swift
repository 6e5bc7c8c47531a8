import KernelContract
import Kernels
import KernelsReference
import Tensors
import TestSupport
import Testing

/// The fast sets that this CPU runs, each with one, two and three threads.
struct FastSet: Sendable, CustomTestStringConvertible {
  let instructionSet: InstructionSet
  let kernels: [any KernelSet]

  /// The set on two threads.
  var two: any KernelSet { kernels[1] }

  var testDescription: String { instructionSet.rawValue }

  static let all: [FastSet] = KernelFactory.availableInstructionSets.compactMap { instructionSet in
    let sets = [1, 2, 3].compactMap { try? KernelFactory.make(.fast, threads: $0, instructionSet: instructionSet) }
    return sets.count == 3 ? FastSet(instructionSet: instructionSet, kernels: sets) : nil
  }

  /// Runs `body` on the reference and on the set with each thread count; all results must have the reference's values
  /// within `limit` of its largest value, and the same bits for every thread count.
  func expectAgreement(
    limit: Double, _ comment: @autoclosure () -> String = "", sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (any KernelSet) -> Tensor
  ) {
    let expected = body(ReferenceKernels())
    let actual = kernels.map(body)
    let tolerance = GoldenTolerance.relative(limit)
    let mismatch = tolerance(actual[0], expected)
    #expect(mismatch == nil, "\(instructionSet.rawValue) \(comment()): \(mismatch ?? "")", sourceLocation: sourceLocation)
    for (index, other) in actual.enumerated().dropFirst() {
      #expect(
        bits(of: other) == bits(of: actual[0]), "\(instructionSet.rawValue) \(comment()): \(index + 1) threads differ from 1",
        sourceLocation: sourceLocation)
    }
  }
}

/// Comparisons by relative error.
enum GoldenTolerance {
  /// A function that says what is wrong, if anything.
  static func relative(_ limit: Double) -> (Tensor, Tensor) -> String? {
    { actual, expected in
      guard let comparison = Comparison(actual: actual, expected: expected) else {
        return "shape: expected \(expected.shape), found \(actual.shape)"
      }
      if !comparison.hasNonFiniteMismatch, comparison.maxRelative <= limit { return nil }
      return "relative \(comparison.maxRelative), limit \(limit); worst at \(comparison.worstIndex): "
        + "expected \(comparison.worstExpected), found \(comparison.worstActual)"
    }
  }
}

/// The bit patterns of a tensor.
func bits(of tensor: Tensor) -> [UInt32] { tensor.elements.map(\.bitPattern) }

/// A weight of a plain type with the values of `tensor`, rounded to it.
func weight(_ tensor: Tensor, as dtype: DType) -> WeightView {
  let bytes: [UInt8] =
    switch dtype {
    case .f16: tensor.elements.flatMap { value in withUnsafeBytes(of: Float16(value).bitPattern.littleEndian, Array.init) }
    case .bf16:
      tensor.elements.flatMap { value in
        withUnsafeBytes(of: UInt16(truncatingIfNeeded: value.bitPattern >> 16).littleEndian, Array.init)
      }
    case .f64: tensor.elements.flatMap { value in withUnsafeBytes(of: Double(value), Array.init) }
    default: tensor.elements.flatMap { value in withUnsafeBytes(of: value, Array.init) }
    }
  let owner = BytesOwner(bytes)
  return WeightView(name: "weight", dtype: dtype, shape: tensor.shape, bytes: owner.bytes, owner: owner)
}

/// Keeps bytes for a weight view, at an odd address when asked, as in a file whose header has an odd length.
final class BytesOwner: WeightOwner, @unchecked Sendable {
  private let memory: UnsafeMutableRawBufferPointer
  let bytes: UnsafeRawBufferPointer

  init(_ values: [UInt8], offset: Int = 1) {
    memory = .allocate(byteCount: values.count + offset, alignment: 64)
    UnsafeMutableRawBufferPointer(rebasing: memory[offset...]).copyBytes(from: values)
    bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[offset...])
  }

  deinit { memory.deallocate() }
}
