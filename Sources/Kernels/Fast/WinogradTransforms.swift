// Winograd's minimal filtering F(4, 3) in one dimension: four outputs of a filter of three taps from six inputs with six
// multiplications, `y = Aᵀ ((G g) ⊙ (Bᵀ d))`. Lavin & Gray 2015, arXiv:1509.09308, with other interpolation points:
// 0, ±3/4, ±3/2 and infinity in place of 0, ±1, ±2 and infinity. They make the rounding error of a 3 × 3 convolution
// about 1.7 times that of a direct sum, where the usual points make it 3.5 times. In two dimensions each transform is
// applied to columns, then to rows. The filter transform is in FilterTransform.h.

/// Six vectors: a column or row of a transformed tile.
struct Six {
  var v0: Vector
  var v1: Vector
  var v2: Vector
  var v3: Vector
  var v4: Vector
  var v5: Vector

  /// Loads vectors that lie `stride` floats apart.
  @inline(__always)
  init(at pointer: UnsafePointer<Float>, stride: Int) {
    self.init(
      load(pointer), load(pointer + stride), load(pointer + 2 &* stride), load(pointer + 3 &* stride),
      load(pointer + 4 &* stride), load(pointer + 5 &* stride))
  }

  @inline(__always)
  init(_ v0: Vector, _ v1: Vector, _ v2: Vector, _ v3: Vector, _ v4: Vector, _ v5: Vector) {
    self.v0 = v0
    self.v1 = v1
    self.v2 = v2
    self.v3 = v3
    self.v4 = v4
    self.v5 = v5
  }

  /// Writes the vectors `stride` floats apart.
  @inline(__always)
  func write(to pointer: UnsafeMutablePointer<Float>, stride: Int) {
    store(v0, pointer)
    store(v1, pointer + stride)
    store(v2, pointer + 2 &* stride)
    store(v3, pointer + 3 &* stride)
    store(v4, pointer + 4 &* stride)
    store(v5, pointer + 5 &* stride)
  }
}

/// The points a = 3/4 and b = 3/2; all their powers below are exact in single precision.
private let a: Float = 0.75
private let b: Float = 1.5

/// `Bᵀ d`, the input transform.
///
///     a²b²  0    -(a²+b²)  0        1  0
///     0    -ab²  -b²       a        1  0
///     0     ab²  -b²      -a        1  0
///     0    -ba²  -a²       b        1  0
///     0     ba²  -a²      -b        1  0
///     0     a²b²  0       -(a²+b²)  0  1
@inline(__always)
func transformInput(_ d: Six) -> Six {
  let a2 = Vector(repeating: -(a * a))
  let b2 = Vector(repeating: -(b * b))
  let product = Vector(repeating: a * a * b * b)
  let sum = Vector(repeating: -(a * a + b * b))
  let evenA = multiplyAdd(d.v4, d.v2, b2)
  let oddA = multiplyAdd(d.v3, d.v1, b2)
  let evenB = multiplyAdd(d.v4, d.v2, a2)
  let oddB = multiplyAdd(d.v3, d.v1, a2)
  return Six(
    multiplyAdd(multiplyAdd(d.v4, d.v2, sum), d.v0, product),
    multiplyAdd(evenA, oddA, Vector(repeating: a)), multiplyAdd(evenA, oddA, Vector(repeating: -a)),
    multiplyAdd(evenB, oddB, Vector(repeating: b)), multiplyAdd(evenB, oddB, Vector(repeating: -b)),
    multiplyAdd(multiplyAdd(d.v5, d.v3, sum), d.v1, product))
}

/// `Aᵀ m`, the output transform: row i is `pⁱ` of the finite points; infinity adds to the last row.
@inline(__always)
func transformOutput(_ m: Six) -> (Vector, Vector, Vector, Vector) {
  let evenA = m.v1 + m.v2
  let oddA = m.v1 - m.v2
  let evenB = m.v3 + m.v4
  let oddB = m.v3 - m.v4
  return (
    m.v0 + evenA + evenB, multiplyAdd(oddA * Vector(repeating: a), oddB, Vector(repeating: b)),
    multiplyAdd(evenA * Vector(repeating: a * a), evenB, Vector(repeating: b * b)),
    multiplyAdd(multiplyAdd(m.v5, oddA, Vector(repeating: a * a * a)), oddB, Vector(repeating: b * b * b))
  )
}
