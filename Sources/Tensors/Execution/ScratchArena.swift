/// Scratch memory of one thread: one block that grows to the largest request and is kept.
///
/// Used by one thread at a time: the worker that owns it, or the caller that has entered the pool.
final class ScratchArena: @unchecked Sendable {
  private static let alignment = 64
  private var block: UnsafeMutableRawPointer
  private var capacity: Int

  init() {
    capacity = Self.alignment
    block = .allocate(byteCount: capacity, alignment: Self.alignment)
  }

  deinit { block.deallocate() }

  /// At least `byteCount` bytes, valid until the next call; contents are undefined.
  func reserve(_ byteCount: Int) -> UnsafeMutableRawPointer {
    if byteCount > capacity {
      block.deallocate()
      capacity = (byteCount + 4095) / 4096 * 4096
      block = .allocate(byteCount: capacity, alignment: Self.alignment)
    }
    return block
  }
}
