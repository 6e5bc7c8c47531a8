/// Shape of the register tiles: `tileRows` rows of the left matrix times `panelWidth` columns of a packed panel.
///
/// The accumulators, one row of the panel and one broadcast element must fit the registers: 16 on AVX2 and SSE2
/// (6 · 2 + 2 + 1), 32 with AVX-512 (8 · 3 + 3 + 1) and NEON (8 · 2 + 2 + 1).
#if GENBENCH_ISA_V4
  let tileRows = 8
  typealias FullRow = TileRow3
#elseif arch(x86_64)
  let tileRows = 6
  typealias FullRow = TileRow2
#else
  let tileRows = 8
  typealias FullRow = TileRow2
#endif

/// Columns of a packed panel.
let panelWidth = FullRow.vectorCount * lanes

/// One row of a register tile: a few vectors side by side.
protocol TileRow {
  static var vectorCount: Int { get }
  init()
  init(at pointer: UnsafePointer<Float>)
  mutating func add(_ factor: Vector, times other: Self)
  func write(to pointer: UnsafeMutablePointer<Float>)
}

/// A tile row of one vector.
struct TileRow1: TileRow {
  static var vectorCount: Int { 1 }
  var v0 = Vector()

  @inline(__always) init() {}
  @inline(__always) init(at pointer: UnsafePointer<Float>) { v0 = load(pointer) }
  @inline(__always) mutating func add(_ factor: Vector, times other: Self) { v0 = multiplyAdd(v0, factor, other.v0) }
  @inline(__always) func write(to pointer: UnsafeMutablePointer<Float>) { store(v0, pointer) }
}

/// A tile row of two vectors.
struct TileRow2: TileRow {
  static var vectorCount: Int { 2 }
  var v0 = Vector()
  var v1 = Vector()

  @inline(__always) init() {}
  @inline(__always) init(at pointer: UnsafePointer<Float>) {
    v0 = load(pointer)
    v1 = load(pointer + lanes)
  }
  @inline(__always) mutating func add(_ factor: Vector, times other: Self) {
    v0 = multiplyAdd(v0, factor, other.v0)
    v1 = multiplyAdd(v1, factor, other.v1)
  }
  @inline(__always) func write(to pointer: UnsafeMutablePointer<Float>) {
    store(v0, pointer)
    store(v1, pointer + lanes)
  }
}

/// A tile row of three vectors.
struct TileRow3: TileRow {
  static var vectorCount: Int { 3 }
  var v0 = Vector()
  var v1 = Vector()
  var v2 = Vector()

  @inline(__always) init() {}
  @inline(__always) init(at pointer: UnsafePointer<Float>) {
    v0 = load(pointer)
    v1 = load(pointer + lanes)
    v2 = load(pointer + 2 * lanes)
  }
  @inline(__always) mutating func add(_ factor: Vector, times other: Self) {
    v0 = multiplyAdd(v0, factor, other.v0)
    v1 = multiplyAdd(v1, factor, other.v1)
    v2 = multiplyAdd(v2, factor, other.v2)
  }
  @inline(__always) func write(to pointer: UnsafeMutablePointer<Float>) {
    store(v0, pointer)
    store(v1, pointer + lanes)
    store(v2, pointer + 2 * lanes)
  }
}

/// `c = a · b`, or `c += a · b`, for one register tile.
///
/// Each element's sum runs over the depth in order, one rounding a step, whatever the tile's shape; so tiles may be cut
/// anywhere without changing a bit.
///
/// - Parameters:
///   - rows: Rows to write, `1...computed`. The ones beyond repeat the last row.
///   - computed: Rows that the tile computes: a literal 2 or 4, for few rows, or `tileRows`.
///   - depth: Columns of `a`, rows of `b`.
///   - a: `[rows, depth]`, rows `aStride` floats apart, used as it lies in memory.
///   - b: One panel, `[depth, Row.vectorCount · lanes]`, rows `bStride` floats apart.
///   - c: `[rows, Row.vectorCount · lanes]`, rows `cStride` floats apart.
@inline(__always)
func multiplyTile<Row: TileRow>(
  _ type: Row.Type, rows: Int, computed: Int, depth: Int, a: UnsafePointer<Float>, aStride: Int, b: UnsafePointer<Float>,
  bStride: Int, c: UnsafeMutablePointer<Float>, cStride: Int, accumulate: Bool
) {
  let last = rows &- 1
  let a0 = a
  let a1 = a + min(1, last) &* aStride
  let a2 = a + min(2, last) &* aStride
  let a3 = a + min(3, last) &* aStride
  let a4 = a + min(4, last) &* aStride
  let a5 = a + min(5, last) &* aStride
  var r0 = Row()
  var r1 = Row()
  var r2 = Row()
  var r3 = Row()
  var r4 = Row()
  var r5 = Row()
  #if GENBENCH_ISA_V4 || !arch(x86_64)
    let a6 = a + min(6, last) &* aStride
    let a7 = a + min(7, last) &* aStride
    var r6 = Row()
    var r7 = Row()
  #endif
  if accumulate {
    r0 = Row(at: c)
    if rows > 1 { r1 = Row(at: c + cStride) }
    if rows > 2 { r2 = Row(at: c + 2 &* cStride) }
    if rows > 3 { r3 = Row(at: c + 3 &* cStride) }
    if rows > 4 { r4 = Row(at: c + 4 &* cStride) }
    if rows > 5 { r5 = Row(at: c + 5 &* cStride) }
    #if GENBENCH_ISA_V4 || !arch(x86_64)
      if rows > 6 { r6 = Row(at: c + 6 &* cStride) }
      if rows > 7 { r7 = Row(at: c + 7 &* cStride) }
    #endif
  }
  // One plain loop, without a nested function: what that captures would be written to the stack in every step.
  var panel = b
  var k = 0
  while k < depth {
    let row = Row(at: panel)
    r0.add(Vector(repeating: a0[k]), times: row)
    r1.add(Vector(repeating: a1[k]), times: row)
    if computed > 2 { r2.add(Vector(repeating: a2[k]), times: row) }
    if computed > 2 { r3.add(Vector(repeating: a3[k]), times: row) }
    if computed > 4 { r4.add(Vector(repeating: a4[k]), times: row) }
    if computed > 4 { r5.add(Vector(repeating: a5[k]), times: row) }
    #if GENBENCH_ISA_V4 || !arch(x86_64)
      if computed > 4 { r6.add(Vector(repeating: a6[k]), times: row) }
      if computed > 4 { r7.add(Vector(repeating: a7[k]), times: row) }
    #endif
    panel += bStride
    k &+= 1
  }
  r0.write(to: c)
  if rows > 1 { r1.write(to: c + cStride) }
  if rows > 2 { r2.write(to: c + 2 &* cStride) }
  if rows > 3 { r3.write(to: c + 3 &* cStride) }
  if rows > 4 { r4.write(to: c + 4 &* cStride) }
  if rows > 5 { r5.write(to: c + 5 &* cStride) }
  #if GENBENCH_ISA_V4 || !arch(x86_64)
    if rows > 6 { r6.write(to: c + 6 &* cStride) }
    if rows > 7 { r7.write(to: c + 7 &* cStride) }
  #endif
}
