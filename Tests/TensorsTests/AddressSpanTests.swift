import TestSupport
import Testing

@testable import Tensors

/// Blocks cut from a span: where they lie, and what memory stands behind them.
struct AddressSpanTests {
  private let page = AddressSpan.pageSize

  private func span(pages: Int) throws -> AddressSpan { try #require(AddressSpan(byteCount: pages * page)) }

  private func take(_ count: Int, from span: inout AddressSpan) throws -> UInt {
    let address = span.take(count)
    return try #require(address)
  }

  @Test func beginsAtAPageAndHoldsWholePages() throws {
    let span = try #require(AddressSpan(byteCount: page + 1))
    defer { span.unmap() }
    #expect(span.base % UInt(page) == 0)
    #expect(span.byteCount == 2 * page)
    #expect(span.isUnused && span.backedCount == 0)
    #expect(span.contains(span.base) && span.contains(span.base + UInt(2 * page - 1)))
    #expect(!span.contains(span.base + UInt(2 * page)) && !span.contains(span.base - 1))
  }

  @Test func blocksFillTheLowestGap() throws {
    var span = try span(pages: 4)
    defer { span.unmap() }
    let blocks = try (0..<4).map { _ in try take(page / 2, from: &span) }
    #expect(blocks == (0..<4).map { span.base + UInt($0 * page / 2) })
    span.giveBack(blocks[1], count: page / 2)
    span.giveBack(blocks[3], count: page / 2)
    let part = span.take(page / 4)
    #expect(part == blocks[1])
    // The rest of that gap is too small; the last block's place has become one with what follows it.
    let half = span.take(page / 2)
    #expect(half == blocks[3])
    let rest = span.take(page / 4)
    #expect(rest == blocks[1] + UInt(page / 4))
  }

  @Test func whatDoesNotFitIsRefused() throws {
    var span = try span(pages: 2)
    defer { span.unmap() }
    let tooLarge = span.take(2 * page + 64)
    #expect(tooLarge == nil)
    let whole = try take(2 * page, from: &span)
    #expect(span.free.isEmpty)
    let another = span.take(64)
    #expect(another == nil)
    span.giveBack(whole, count: 2 * page)
    #expect(span.isUnused)
  }

  @Test(arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
  func neighboursBecomeOneGap(order: [Int]) throws {
    var span = try span(pages: 3)
    defer { span.unmap() }
    let blocks = try (0..<3).map { _ in try take(page, from: &span) }
    for index in order { span.giveBack(blocks[index], count: page) }
    #expect(span.isUnused)
  }

  @Test func memoryIsKeptUntilItIsReleased() throws {
    var span = try span(pages: 8)
    defer { span.unmap() }
    let low = try take(3 * page, from: &span)
    let middle = try take(64, from: &span)
    let high = try take(2 * page, from: &span)
    #expect(span.backedCount == 6)
    let bytes = try #require(UnsafeMutablePointer<UInt8>(bitPattern: middle))
    bytes.pointee = 7
    let freed = try #require(UnsafeMutablePointer<UInt8>(bitPattern: low))
    freed.pointee = 9
    span.giveBack(low, count: 3 * page)
    span.giveBack(high, count: 2 * page)
    #expect(span.backedCount == 6)
    // From the end: the pages of the high block, but for the one that it shares.
    span.release(keeping: 5)
    #expect(span.backedCount == 5 && freed.pointee == 9)
    span.release(keeping: 0)
    #expect(span.backedCount == 1)
    #expect(bytes.pointee == 7)
    #expect(freed.pointee == 0)
    let again = span.take(page)
    #expect(again == low)
    #expect(span.backedCount == 2)
  }

  /// Blocks never overlap, and the account of memory is what a plain list of the blocks says.
  @Test func manyBlocks() throws {
    var span = try span(pages: 64)
    defer { span.unmap() }
    var random = TestRandom(seed: 3)
    var alive: [(address: UInt, count: Int)] = []
    var touched = Set<Int>()
    for round in 0..<2000 {
      if alive.count > 20 || (random.next() % 2 == 0 && !alive.isEmpty) {
        let block = alive.remove(at: Int(random.next() % UInt64(alive.count)))
        span.giveBack(block.address, count: block.count)
      } else {
        let count = Int(random.next() % 1000 + 1) * 4096
        guard let address = span.take(count) else { continue }
        #expect(alive.allSatisfy { address >= $0.address + UInt($0.count) || address + UInt(count) <= $0.address })
        #expect(span.contains(address) && span.contains(address + UInt(count) - 1))
        alive.append((address, count))
        touched.formUnion(pages(of: (address, count), in: span))
      }
      if round % 100 == 99 {
        span.release(keeping: 0)
        touched = Set(alive.flatMap { pages(of: $0, in: span) })
      }
      #expect(span.backedCount == touched.count)
      #expect(span.free.reduce(0) { $0 + $1.count } + alive.reduce(0) { $0 + $1.count } == span.byteCount)
    }
    for block in alive { span.giveBack(block.address, count: block.count) }
    #expect(span.isUnused)
  }

  private func pages(of block: (address: UInt, count: Int), in span: AddressSpan) -> Set<Int> {
    let offset = Int(block.address - span.base)
    return Set(offset / page...(offset + block.count - 1) / page)
  }

  @Test func addressSpaceThatThereIsNot() { #expect(AddressSpan(byteCount: Int.max - (4 << 20)) == nil) }
}
