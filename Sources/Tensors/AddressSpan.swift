#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A stretch of address space that large blocks are cut from.
///
/// Only what has been handed out once is backed by memory: the span keeps account of that in large pages, which is also how the
/// system backs it where it can. A block goes to the lowest address where it fits, so that blocks stay together and the memory
/// behind the rest of the span is never asked for.
struct AddressSpan {
  /// Bytes of a large page.
  static let pageSize = 2 << 20

  /// Where the span begins; a multiple of ``pageSize``.
  let base: UInt
  /// A multiple of ``pageSize``.
  let byteCount: Int
  /// The stretches that aren't in use, by offset; no two of them touch each other.
  private(set) var free: [Range<Int>]
  /// Whether memory stands behind each page.
  private var isBacked: [Bool]
  /// Pages with memory behind them.
  private(set) var backedCount = 0

  /// Reserves address space for at least `byteCount` bytes; `nil` when the system has none.
  init?(byteCount: Int) {
    let rounded = (byteCount + Self.pageSize - 1) / Self.pageSize * Self.pageSize
    guard let address = Self.map(rounded) else { return nil }
    base = address
    self.byteCount = rounded
    free = [0..<rounded]
    isBacked = Array(repeating: false, count: rounded / Self.pageSize)
  }

  /// Whether no block of it is in use.
  var isUnused: Bool { free == [0..<byteCount] }

  /// Whether the address lies in the span.
  func contains(_ address: UInt) -> Bool { address >= base && address < base + UInt(byteCount) }

  /// Takes a block; `nil` when it fits nowhere.
  mutating func take(_ count: Int) -> UInt? {
    guard let index = free.firstIndex(where: { $0.count >= count }) else { return nil }
    let offset = free[index].lowerBound
    if free[index].count == count {
      free.remove(at: index)
    } else {
      free[index] = offset + count..<free[index].upperBound
    }
    for page in offset / Self.pageSize...(offset + count - 1) / Self.pageSize where !isBacked[page] {
      isBacked[page] = true
      backedCount += 1
    }
    return base + UInt(offset)
  }

  /// Takes a block back; the memory behind it is kept for the next one.
  mutating func giveBack(_ address: UInt, count: Int) {
    let offset = Int(address - base)
    var freed = offset..<offset + count
    var index = free.firstIndex { $0.lowerBound > offset } ?? free.count
    if index < free.count, free[index].lowerBound == freed.upperBound {
      freed = freed.lowerBound..<free[index].upperBound
      free.remove(at: index)
    }
    if index > 0, free[index - 1].upperBound == freed.lowerBound {
      index -= 1
      freed = free[index].lowerBound..<freed.upperBound
      free.remove(at: index)
    }
    free.insert(freed, at: index)
  }

  /// Returns the memory behind unused pages to the system, from the end, until at most `kept` pages are backed.
  mutating func release(keeping kept: Int) {
    for range in free.reversed() {
      var page = range.upperBound / Self.pageSize - 1
      let first = (range.lowerBound + Self.pageSize - 1) / Self.pageSize
      while page >= first, backedCount > kept {
        // A run of pages goes back in one call.
        let end = page
        while page >= first, isBacked[page], backedCount > kept {
          isBacked[page] = false
          backedCount -= 1
          page -= 1
        }
        if page < end {
          Self.discard(base + UInt((page + 1) * Self.pageSize), count: (end - page) * Self.pageSize)
        } else {
          page -= 1
        }
      }
    }
  }

  /// Gives the address space back; the span isn't used afterwards.
  func unmap() { munmap(UnsafeMutableRawPointer(bitPattern: base), byteCount) }

  // MARK: - The system's side

  /// Address space at a multiple of ``pageSize``, which the system may back with large pages.
  private static func map(_ byteCount: Int) -> UInt? {
    #if os(Linux)
      let flags = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE
    #else
      let flags = MAP_PRIVATE | MAP_ANON
    #endif
    let (asked, overflow) = byteCount.addingReportingOverflow(pageSize)
    guard !overflow, let pointer = mmap(nil, asked, PROT_READ | PROT_WRITE, flags, -1, 0), pointer != MAP_FAILED else {
      return nil
    }
    let start = UInt(bitPattern: pointer)
    let base = (start + UInt(pageSize) - 1) / UInt(pageSize) * UInt(pageSize)
    if base > start { munmap(pointer, Int(base - start)) }
    let tail = Int(start) + asked - Int(base) - byteCount
    if tail > 0 { munmap(UnsafeMutableRawPointer(bitPattern: base + UInt(byteCount)), tail) }
    #if os(Linux)
      madvise(UnsafeMutableRawPointer(bitPattern: base), byteCount, MADV_HUGEPAGE)
    #endif
    return base
  }

  private static func discard(_ address: UInt, count: Int) {
    let pointer = UnsafeMutableRawPointer(bitPattern: address)
    #if os(Linux)
      madvise(pointer, count, MADV_DONTNEED)
    #else
      // Elsewhere the advice alone doesn't return memory; fresh pages in its place do.
      mmap(pointer, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1, 0)
    #endif
  }
}
