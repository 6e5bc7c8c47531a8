/// Byte-pair encoding over token ids: the pair of lowest rank is merged first, the leftmost of equals.
///
/// A word of n symbols takes O(n log n): a linked list of symbols and a heap of candidate merges.
struct BytePairEncoder: Sendable {
  private struct Merge {
    var rank: Int32
    var result: Int32
  }

  private var merges: [UInt64: Merge] = [:]

  /// Makes an encoder.
  ///
  /// - Parameters:
  ///   - merges: The merges in order of rank; of a repeated pair the last one counts, as in Hugging Face's reader.
  ///   - vocabulary: The id of each token.
  ///   - source: The file, for the error message.
  /// - Throws: ``TokenizerError`` when a part or the result of a merge isn't in the vocabulary.
  init(merges: [(left: String, right: String)], vocabulary: TokenIndex, source: String) throws {
    self.merges.reserveCapacity(merges.count)
    for (rank, merge) in merges.enumerated() {
      func id(_ token: String) throws -> Int32 {
        if let id = vocabulary[token] { return id }
        throw TokenizerError(
          .invalid, source: source,
          "merge \(rank + 1): '\(token)' isn't in the vocabulary; vocabulary and merges must come from the same tokenizer")
      }
      let (left, right) = (try id(merge.left), try id(merge.right))
      self.merges[Self.key(left, right)] = Merge(rank: Int32(rank), result: try id(merge.left + merge.right))
    }
  }

  /// Merges the symbols of one word and appends the resulting ids.
  func encode(_ symbols: [Int32], into output: inout [Int]) {
    if symbols.count < 2 {
      for symbol in symbols { output.append(Int(symbol)) }
      return
    }
    var ids = symbols
    var next = Array(1...symbols.count)  // the end is symbols.count
    var previous = Array(-1..<symbols.count - 1)
    var queue = MergeQueue()
    func offer(_ position: Int) {
      let right = next[position]
      guard right < ids.count, let merge = merges[Self.key(ids[position], ids[right])] else { return }
      queue.insert(.init(rank: merge.rank, position: Int32(truncatingIfNeeded: position), result: merge.result))
    }
    for position in 0..<symbols.count - 1 { offer(position) }
    while let best = queue.popFirst() {
      let position = Int(best.position)
      guard ids[position] >= 0, next[position] < ids.count else { continue }
      let right = next[position]
      // The symbols may have changed since the entry was made.
      guard let merge = merges[Self.key(ids[position], ids[right])], merge.result == best.result else { continue }
      ids[position] = merge.result
      ids[right] = -1
      next[position] = next[right]
      if next[position] < ids.count { previous[next[position]] = position }
      if previous[position] >= 0 { offer(previous[position]) }
      offer(position)
    }
    var position = 0
    while position < ids.count {
      output.append(Int(ids[position]))
      position = next[position]
    }
  }

  private static func key(_ left: Int32, _ right: Int32) -> UInt64 {
    UInt64(UInt32(bitPattern: left)) << 32 | UInt64(UInt32(bitPattern: right))
  }
}

/// A binary heap of candidate merges: lowest rank first, then leftmost.
private struct MergeQueue {
  struct Entry {
    var rank: Int32
    var position: Int32
    var result: Int32

    static func < (left: Entry, right: Entry) -> Bool {
      left.rank != right.rank ? left.rank < right.rank : left.position < right.position
    }
  }

  private var entries: [Entry] = []

  mutating func insert(_ entry: Entry) {
    entries.append(entry)
    var child = entries.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard entries[child] < entries[parent] else { return }
      entries.swapAt(child, parent)
      child = parent
    }
  }

  mutating func popFirst() -> Entry? {
    guard let last = entries.popLast() else { return nil }
    guard let first = entries.first else { return last }
    entries[0] = last
    var parent = 0
    while true {
      var child = 2 * parent + 1
      guard child < entries.count else { return first }
      if child + 1 < entries.count, entries[child + 1] < entries[child] { child += 1 }
      guard entries[child] < entries[parent] else { return first }
      entries.swapAt(child, parent)
      parent = child
    }
  }
}
