/// Pixels of a picture that hang together.
struct Region {
  /// Positions `row * width + column`, in rising order.
  var pixels: [Int]
  /// Pixels in a row of the picture.
  var width: Int
  /// Rows of the picture.
  var height: Int
  /// The columns that it spans.
  var columns: ClosedRange<Int>
  /// The rows that it spans.
  var rows: ClosedRange<Int>

  /// Makes a region of at least one pixel.
  init?(pixels: [Int], width: Int, height: Int) {
    guard let first = pixels.min(), let last = pixels.max() else { return nil }
    self.pixels = pixels.sorted()
    self.width = width
    self.height = height
    rows = (first / width)...(last / width)
    var (low, high) = (width, 0)
    for pixel in pixels {
      low = min(low, pixel % width)
      high = max(high, pixel % width)
    }
    columns = low...high
  }

  /// The regions of a mask, neighbours being those that share a side.
  static func all(of mask: [Bool], width: Int, height: Int) -> [Region] {
    var isOpen = mask
    var regions: [Region] = []
    for start in mask.indices where isOpen[start] {
      var (pixels, stack) = ([Int](), [start])
      isOpen[start] = false
      while let pixel = stack.popLast() {
        pixels.append(pixel)
        for next in neighbours(pixel, width, height) where isOpen[next] {
          isOpen[next] = false
          stack.append(next)
        }
      }
      if let region = Region(pixels: pixels, width: width, height: height) { regions.append(region) }
    }
    return regions
  }

  private static func neighbours(_ pixel: Int, _ width: Int, _ height: Int) -> [Int] {
    let (row, column) = (pixel / width, pixel % width)
    var found: [Int] = []
    if column > 0 { found.append(pixel - 1) }
    if column + 1 < width { found.append(pixel + 1) }
    if row > 0 { found.append(pixel - width) }
    if row + 1 < height { found.append(pixel + width) }
    return found
  }

  private var mask: [Bool] {
    var mask = [Bool](repeating: false, count: width * height)
    for pixel in pixels { mask[pixel] = true }
    return mask
  }

  /// The region with its holes.
  var filled: Region {
    let own = mask
    // One pixel of frame around the bounding box is outside for certain.
    let (w, h) = (columns.count + 2, rows.count + 2)
    var isOutside = [Bool](repeating: false, count: w * h)
    func isOwn(_ cell: Int) -> Bool {
      let (row, column) = (cell / w - 1 + rows.lowerBound, cell % w - 1 + columns.lowerBound)
      return rows.contains(row) && columns.contains(column) && own[row * width + column]
    }
    var stack = [0]
    isOutside[0] = true
    while let cell = stack.popLast() {
      for next in Region.neighbours(cell, w, h) where !isOutside[next] && !isOwn(next) {
        isOutside[next] = true
        stack.append(next)
      }
    }
    var inside: [Int] = []
    for cell in 0..<(w * h) where !isOutside[cell] {
      inside.append((cell / w - 1 + rows.lowerBound) * width + cell % w - 1 + columns.lowerBound)
    }
    return Region(pixels: inside, width: width, height: height) ?? self
  }

  /// What is left when the rim is taken off; perhaps nothing.
  func eroded(times: Int) -> (pixels: [Int], rest: Int) {
    var own = mask
    var left = pixels
    for _ in 0..<times {
      let kept = left.filter { pixel in
        let around = Region.neighbours(pixel, width, height)
        return around.count == 4 && around.allSatisfy { own[$0] }
      }
      for pixel in left { own[pixel] = false }
      for pixel in kept { own[pixel] = true }
      left = kept
    }
    return (left, pixels.count - left.count)
  }

  /// The area of the smallest convex polygon around all pixels, in pixels.
  ///
  /// Andrew's monotone chain over the corners of the pixels.
  var hullArea: Double {
    var corners: [(x: Int, y: Int)] = []
    for row in rows {
      let line = pixels.filter { $0 / width == row }
      guard let first = line.first, let last = line.last else { continue }
      for y in [row, row + 1] { corners += [(first % width, y), (last % width + 1, y)] }
    }
    corners.sort { ($0.x, $0.y) < ($1.x, $1.y) }
    func half(_ points: [(x: Int, y: Int)]) -> [(x: Int, y: Int)] {
      var chain: [(x: Int, y: Int)] = []
      for point in points {
        while chain.count >= 2 {
          let (a, b) = (chain[chain.count - 2], chain[chain.count - 1])
          guard (b.x - a.x) * (point.y - a.y) - (b.y - a.y) * (point.x - a.x) <= 0 else { break }
          chain.removeLast()
        }
        chain.append(point)
      }
      return chain
    }
    let outline = half(corners).dropLast() + half(corners.reversed()).dropLast()
    var doubled = 0
    for (index, point) in outline.enumerated() {
      let next = outline[(index + 1) % outline.count]
      doubled += point.x * next.y - next.x * point.y
    }
    return Double(abs(doubled)) / 2
  }
}
