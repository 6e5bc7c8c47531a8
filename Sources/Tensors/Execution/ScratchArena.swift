/// Scratch memory of one thread: one block that grows to the largest request and is kept.
///
/// Used by one thread at a time: the worker that owns it, or the caller that has entered the pool.
final class ScratchArena: @unchecked Sendable {
  private static let alignment = 64
  /// From this size on, large pages stand behind the block: kernels walk through it in dozens of streams at once.
  private static let smallestSpan = 256 << 10

  private var start: UnsafeMutableRawPointer
  private var capacity: Int
  /// What the block lies in, when it's a large one.
  private var span: AddressSpan?

  init() {
    capacity = Self.alignment
    start = .allocate(byteCount: capacity, alignment: Self.alignment)
  }

  deinit { release() }

  /// At least `byteCount` bytes, valid until the next call; contents are undefined.
  func reserve(_ byteCount: Int) -> UnsafeMutableRawPointer {
    guard byteCount > capacity else { return start }
    release()
    if byteCount >= Self.smallestSpan, let span = AddressSpan(byteCount: byteCount),
      let pointer = UnsafeMutableRawPointer(bitPattern: span.base)
    {
      (self.span, start, capacity) = (span, pointer, span.byteCount)
    } else {
      span = nil
      capacity = (byteCount + 4095) / 4096 * 4096
      start = .allocate(byteCount: capacity, alignment: Self.alignment)
    }
    return start
  }

  private func release() {
    if let span { span.unmap() } else { start.deallocate() }
  }
}
