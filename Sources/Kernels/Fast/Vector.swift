// The vector type of the instruction set that this copy of the folder is compiled for.

#if GENBENCH_ISA_V4
  typealias Vector = SIMD16<Float>
  typealias VectorBits = SIMD16<UInt32>
#elseif GENBENCH_ISA_V3
  typealias Vector = SIMD8<Float>
  typealias VectorBits = SIMD8<UInt32>
#else
  typealias Vector = SIMD4<Float>
  typealias VectorBits = SIMD4<UInt32>
#endif

/// Floats in a vector.
let lanes = Vector.scalarCount

/// `sum + left · right`, rounded once where the instruction set can; SSE2 can't, and there `addingProduct` would be a
/// library call per lane.
@inline(__always)
func multiplyAdd(_ sum: Vector, _ left: Vector, _ right: Vector) -> Vector {
  #if GENBENCH_ISA_BASELINE && arch(x86_64)
    return sum + left * right
  #else
    return sum.addingProduct(left, right)
  #endif
}

/// The scalar twin of ``multiplyAdd(_:_:_:)-(Vector,_,_)``, with the same rounding.
@inline(__always)
func multiplyAdd(_ sum: Float, _ left: Float, _ right: Float) -> Float {
  #if GENBENCH_ISA_BASELINE && arch(x86_64)
    return sum + left * right
  #else
    return sum.addingProduct(left, right)
  #endif
}

@inline(__always)
func load(_ pointer: UnsafePointer<Float>) -> Vector { UnsafeRawPointer(pointer).loadUnaligned(as: Vector.self) }

@inline(__always)
func load(_ pointer: UnsafeMutablePointer<Float>) -> Vector { UnsafeRawPointer(pointer).loadUnaligned(as: Vector.self) }

@inline(__always)
func store(_ vector: Vector, _ pointer: UnsafeMutablePointer<Float>) {
  UnsafeMutableRawPointer(pointer).storeBytes(of: vector, as: Vector.self)
}

/// The sum of the lanes, halves first: the same order on every path.
@inline(__always)
func horizontalSum(_ vector: Vector) -> Float {
  #if GENBENCH_ISA_V4
    let eight = vector.lowHalf + vector.highHalf
    let four = eight.lowHalf + eight.highHalf
  #elseif GENBENCH_ISA_V3
    let four = vector.lowHalf + vector.highHalf
  #else
    let four = vector
  #endif
  let two = four.lowHalf + four.highHalf
  return two.x + two.y
}

/// Lane by lane the larger value; `right` where a lane of `left` is NaN.
@inline(__always)
func maximum(_ left: Vector, _ right: Vector) -> Vector { right.replacing(with: left, where: left .> right) }

/// Lane by lane the smaller value; `right` where a lane of `left` is NaN.
@inline(__always)
func minimum(_ left: Vector, _ right: Vector) -> Vector { right.replacing(with: left, where: left .< right) }

/// The largest lane.
///
/// Spelled out for each width: a generic helper would go lane by lane.
@inline(__always)
func horizontalMaximum(_ vector: Vector) -> Float {
  #if GENBENCH_ISA_V4
    let (low, high) = (vector.lowHalf, vector.highHalf)
    let eight = high.replacing(with: low, where: low .> high)
    let four = eight.highHalf.replacing(with: eight.lowHalf, where: eight.lowHalf .> eight.highHalf)
  #elseif GENBENCH_ISA_V3
    let four = vector.highHalf.replacing(with: vector.lowHalf, where: vector.lowHalf .> vector.highHalf)
  #else
    let four = vector
  #endif
  return max(max(four.x, four.y), max(four.z, four.w))
}
