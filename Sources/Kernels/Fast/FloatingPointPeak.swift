public import KernelContract
internal import Tensors

extension FastKernels: PeakMeasurable {
  /// Runs chains of multiplications and additions that never leave the registers, on all threads.
  public func floatingPointPeak() -> Double {
    let steps = 2_000_000
    let chains = 16
    var best = Double.infinity
    withPooledScratch(16 * pool.threadCount) { results in
      for _ in 0..<5 {
        let start = MonotonicTime.nanoseconds()
        pool.parallelFor(pool.threadCount) { thread, _ in results[16 * thread] = fusedChains(steps: steps) }
        best = min(best, Double(MonotonicTime.nanoseconds() - start))
      }
    }
    return 2 * Double(steps * chains * lanes * pool.threadCount) / best
  }
}

/// Sixteen independent chains, enough for two units of four cycles; the sum keeps them from being left out.
@inline(never)
private func fusedChains(steps: Int) -> Float {
  let factor = Vector(repeating: 0.999)
  let term = Vector(repeating: 0.5)
  var s0 = Vector(repeating: 0)
  var s1 = Vector(repeating: 1)
  var s2 = Vector(repeating: 2)
  var s3 = Vector(repeating: 3)
  var s4 = Vector(repeating: 4)
  var s5 = Vector(repeating: 5)
  var s6 = Vector(repeating: 6)
  var s7 = Vector(repeating: 7)
  var s8 = Vector(repeating: 8)
  var s9 = Vector(repeating: 9)
  var s10 = Vector(repeating: 10)
  var s11 = Vector(repeating: 11)
  var s12 = Vector(repeating: 12)
  var s13 = Vector(repeating: 13)
  var s14 = Vector(repeating: 14)
  var s15 = Vector(repeating: 15)
  var step = 0
  while step < steps {
    s0 = multiplyAdd(term, s0, factor)
    s1 = multiplyAdd(term, s1, factor)
    s2 = multiplyAdd(term, s2, factor)
    s3 = multiplyAdd(term, s3, factor)
    s4 = multiplyAdd(term, s4, factor)
    s5 = multiplyAdd(term, s5, factor)
    s6 = multiplyAdd(term, s6, factor)
    s7 = multiplyAdd(term, s7, factor)
    s8 = multiplyAdd(term, s8, factor)
    s9 = multiplyAdd(term, s9, factor)
    s10 = multiplyAdd(term, s10, factor)
    s11 = multiplyAdd(term, s11, factor)
    s12 = multiplyAdd(term, s12, factor)
    s13 = multiplyAdd(term, s13, factor)
    s14 = multiplyAdd(term, s14, factor)
    s15 = multiplyAdd(term, s15, factor)
    step &+= 1
  }
  let sum = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7)) + ((s8 + s9) + (s10 + s11)) + ((s12 + s13) + (s14 + s15))
  return horizontalSum(sum)
}
