// Products of bfloat16 pairs; only the instruction set that multiplies them has this file's content.

#if GENBENCH_ISA_V4BF16
  internal import CPUFeatures

  /// Rounds rows to bfloat16: `[rows, pairs, 2]`, a zero behind an odd depth.
  func roundRows(
    _ source: UnsafePointer<Float>, stride: Int, rows: Int, depth: Int, into target: UnsafeMutablePointer<Float>
  ) {
    let pairCount = (depth + 1) / 2
    for row in 0..<rows {
      let from = source + row * stride
      let to = UnsafeMutableRawPointer(target + row * pairCount)
      if depth % 2 == 1 { target[row * pairCount + pairCount - 1] = 0 }
      var index = 0
      while index < depth {
        genbench_to_bf16(from + index, to + 2 * index, min(16, depth - index))
        index += 16
      }
    }
  }

  /// A panel of floats, `[depth, panelWidth]`, as pairs of bfloat16, `[pairs, panelWidth, 2]`.
  ///
  /// - Parameter panel: Has room for one row more, which is zeroed where the depth is odd.
  func interleavePairs(_ panel: UnsafeMutablePointer<Float>, depth: Int, into target: UnsafeMutablePointer<Float>) {
    if depth % 2 == 1 { (panel + depth * panelWidth).update(repeating: 0, count: panelWidth) }
    for pair in 0..<((depth + 1) / 2) {
      let even = panel + 2 * pair * panelWidth
      for column in stride(from: 0, to: panelWidth, by: 16) {
        genbench_interleave_bf16(even + column, even + panelWidth + column, target + pair * panelWidth + column)
      }
    }
  }

  /// A tile row that adds products of pairs.
  private protocol PairTileRow: TileRow {
    mutating func addPairs(_ pair: Int32, _ panel: UnsafePointer<Float>)
  }

  extension TileRow1: PairTileRow {
    @inline(__always) fileprivate mutating func addPairs(_ pair: Int32, _ panel: UnsafePointer<Float>) {
      v0 = genbench_add_bf16_pairs(v0, pair, panel)
    }
  }

  extension TileRow2: PairTileRow {
    @inline(__always) fileprivate mutating func addPairs(_ pair: Int32, _ panel: UnsafePointer<Float>) {
      v0 = genbench_add_bf16_pairs(v0, pair, panel)
      v1 = genbench_add_bf16_pairs(v1, pair, panel + lanes)
    }
  }

  extension TileRow3: PairTileRow {
    @inline(__always) fileprivate mutating func addPairs(_ pair: Int32, _ panel: UnsafePointer<Float>) {
      v0 = genbench_add_bf16_pairs(v0, pair, panel)
      v1 = genbench_add_bf16_pairs(v1, pair, panel + lanes)
      v2 = genbench_add_bf16_pairs(v2, pair, panel + 2 * lanes)
    }
  }

  /// `C = A · B`, or `C += A · B`, for one panel of pairs.
  ///
  /// - Parameters:
  ///   - rows: Rows of A and C.
  ///   - columns: Columns of C, `1...panelWidth`.
  ///   - pairCount: Pairs of depth.
  ///   - a: `[rows, pairs, 2]` of bfloat16, rows `aStride` pairs apart.
  ///   - b: `[pairs, panelWidth, 2]` of bfloat16.
  ///   - c: `[rows, columns]`, rows `cStride` floats apart.
  ///   - edge: Room for `tileRows · panelWidth` floats.
  func multiplyPairRows(
    rows: Int, columns: Int, pairCount: Int, a: UnsafePointer<Float>, aStride: Int, b: UnsafePointer<Float>,
    c: UnsafeMutablePointer<Float>, cStride: Int, edge: UnsafeMutablePointer<Float>, accumulate: Bool
  ) {
    let vectors = (columns + lanes - 1) / lanes
    if vectors == 3 {
      multiplyPairTiles(TileRow3.self, rows, columns, pairCount, a, aStride, b, c, cStride, edge, accumulate)
    } else if vectors == 2 {
      multiplyPairTiles(TileRow2.self, rows, columns, pairCount, a, aStride, b, c, cStride, edge, accumulate)
    } else {
      multiplyPairTiles(TileRow1.self, rows, columns, pairCount, a, aStride, b, c, cStride, edge, accumulate)
    }
  }

  @inline(__always)
  private func multiplyPairTiles<Row: PairTileRow>(
    _ type: Row.Type, _ rows: Int, _ columns: Int, _ pairCount: Int, _ a: UnsafePointer<Float>, _ aStride: Int,
    _ b: UnsafePointer<Float>, _ c: UnsafeMutablePointer<Float>, _ cStride: Int, _ edge: UnsafeMutablePointer<Float>,
    _ accumulate: Bool
  ) {
    let isWhole = columns == Row.vectorCount * lanes
    for first in stride(from: 0, to: rows, by: tileRows) {
      let count = min(tileRows, rows - first)
      let target = c + first * cStride
      let left = UnsafeRawPointer(a + first * aStride).assumingMemoryBound(to: Int32.self)
      if isWhole {
        multiplyPairTile(
          type, rows: count, pairCount: pairCount, a: left, aStride: aStride, b: b, c: target, cStride: cStride,
          accumulate: accumulate)
      } else {
        if accumulate {
          for row in 0..<count { (edge + row * panelWidth).update(from: target + row * cStride, count: columns) }
        }
        multiplyPairTile(
          type, rows: count, pairCount: pairCount, a: left, aStride: aStride, b: b, c: edge, cStride: panelWidth,
          accumulate: accumulate)
        for row in 0..<count { (target + row * cStride).update(from: edge + row * panelWidth, count: columns) }
      }
    }
  }

  /// One register tile of eight rows; rows beyond `rows` repeat the last one and aren't written.
  @inline(__always)
  private func multiplyPairTile<Row: PairTileRow>(
    _ type: Row.Type, rows: Int, pairCount: Int, a: UnsafePointer<Int32>, aStride: Int, b: UnsafePointer<Float>,
    c: UnsafeMutablePointer<Float>, cStride: Int, accumulate: Bool
  ) {
    let last = rows &- 1
    let a0 = a
    let a1 = a + min(1, last) &* aStride
    let a2 = a + min(2, last) &* aStride
    let a3 = a + min(3, last) &* aStride
    let a4 = a + min(4, last) &* aStride
    let a5 = a + min(5, last) &* aStride
    let a6 = a + min(6, last) &* aStride
    let a7 = a + min(7, last) &* aStride
    var r0 = Row()
    var r1 = Row()
    var r2 = Row()
    var r3 = Row()
    var r4 = Row()
    var r5 = Row()
    var r6 = Row()
    var r7 = Row()
    if accumulate {
      r0 = Row(at: c)
      if rows > 1 { r1 = Row(at: c + cStride) }
      if rows > 2 { r2 = Row(at: c + 2 &* cStride) }
      if rows > 3 { r3 = Row(at: c + 3 &* cStride) }
      if rows > 4 { r4 = Row(at: c + 4 &* cStride) }
      if rows > 5 { r5 = Row(at: c + 5 &* cStride) }
      if rows > 6 { r6 = Row(at: c + 6 &* cStride) }
      if rows > 7 { r7 = Row(at: c + 7 &* cStride) }
    }
    var panel = b
    var pair = 0
    while pair < pairCount {
      r0.addPairs(a0[pair], panel)
      r1.addPairs(a1[pair], panel)
      r2.addPairs(a2[pair], panel)
      r3.addPairs(a3[pair], panel)
      r4.addPairs(a4[pair], panel)
      r5.addPairs(a5[pair], panel)
      r6.addPairs(a6[pair], panel)
      r7.addPairs(a7[pair], panel)
      panel += panelWidth
      pair &+= 1
    }
    r0.write(to: c)
    if rows > 1 { r1.write(to: c + cStride) }
    if rows > 2 { r2.write(to: c + 2 &* cStride) }
    if rows > 3 { r3.write(to: c + 3 &* cStride) }
    if rows > 4 { r4.write(to: c + 4 &* cStride) }
    if rows > 5 { r5.write(to: c + 5 &* cStride) }
    if rows > 6 { r6.write(to: c + 6 &* cStride) }
    if rows > 7 { r7.write(to: c + 7 &* cStride) }
  }
#endif
