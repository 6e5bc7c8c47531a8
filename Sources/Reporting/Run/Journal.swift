import Checkpoints
public import Foundation

/// `journal.jsonl`: one event a line, each on the disk before the next one is written.
public enum Journal {
  /// The file's name in a run's folder.
  public static let fileName = "journal.jsonl"

  /// One event as a line without its end.
  public static func line(_ event: JournalEvent) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(event)
  }

  /// What a journal holds.
  public struct Content: Sendable {
    /// The events in order.
    public var events: [JournalEvent]
    /// Whether the last line was cut, as by a crash; it was dropped.
    public var isTorn: Bool
    /// Bytes of the whole lines.
    public var wholeBytes: Int

    /// Makes a content.
    public init(events: [JournalEvent], isTorn: Bool, wholeBytes: Int) {
      self.events = events
      self.isTorn = isTorn
      self.wholeBytes = wholeBytes
    }
  }

  /// Reads a journal.
  ///
  /// - Throws: ``RunDocumentError`` when it can't be read, or when another line than the last one is damaged.
  public static func read(_ file: URL) throws(RunDocumentError) -> Content {
    let data: Data
    do { data = try Data(contentsOf: file) } catch {
      throw RunDocumentError("\(file.path): can't be read: \(error.localizedDescription)")
    }
    var content = Content(events: [], isTorn: false, wholeBytes: 0)
    let decoder = JSONDecoder()
    var start = data.startIndex
    var number = 0
    while start < data.endIndex {
      number += 1
      let end = data[start...].firstIndex(of: UInt8(ascii: "\n"))
      let line = data[start..<(end ?? data.endIndex)]
      do {
        let event = try decoder.decode(JournalEvent.self, from: line)
        // A line without its end may have been cut within a number: it doesn't count.
        if end == nil {
          content.isTorn = true
          break
        }
        content.events.append(event)
        content.wholeBytes += line.count + 1
      } catch let error as RunDocumentError {
        throw RunDocumentError("\(file.path):\(number): \(error.message)")
      } catch {
        let isLast = end.map { data.index(after: $0) >= data.endIndex } ?? true
        guard isLast else {
          throw RunDocumentError(
            "\(file.path):\(number): damaged line in the middle of the journal (\(error)); only the last line may be cut")
        }
        content.isTorn = true
        break
      }
      guard let end else { break }
      start = data.index(after: end)
    }
    return content
  }
}

/// Appends to a journal; every line is synced.
public final class JournalWriter: Sendable {
  private let descriptor: Int32
  private let path: String

  /// Opens a journal to append to, cut back to its whole lines.
  ///
  /// - Parameter keeping: Bytes that stay; nil for a new file, which mustn't be there yet.
  /// - Throws: `CheckpointError` `.unwritable`.
  public init(_ file: URL, keeping: Int?) throws {
    path = file.path
    let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (keeping == nil ? O_EXCL : 0)
    descriptor = open(path, flags, 0o644)
    guard descriptor >= 0 else {
      throw CheckpointError(
        .unwritable, file: path,
        errno == EEXIST
          ? "a journal of another run is there; give --resume to continue it, or another --out"
          : "can't be written: \(String(cString: strerror(errno)))")
    }
    if let keeping, ftruncate(descriptor, off_t(keeping)) != 0 {
      throw CheckpointError(.unwritable, file: path, "can't be cut: \(String(cString: strerror(errno)))")
    }
    // One writer at a time: a second run in the same folder would mix its lines into these.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      throw CheckpointError(.unwritable, file: path, "another process is writing this run; wait for it, or give another --out")
    }
  }

  deinit { close(descriptor) }

  /// Writes one event and waits until it's on the disk.
  ///
  /// - Throws: `CheckpointError` `.unwritable`, when the disk is full for one.
  public func append(_ event: JournalEvent) throws {
    var line = try Journal.line(event)
    line.append(UInt8(ascii: "\n"))
    let failure = line.withUnsafeBytes { bytes -> Int32 in
      var rest = bytes[...]
      while !rest.isEmpty {
        let written = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if written < 0, errno == EINTR { continue }
        guard written > 0 else { return errno }
        rest = rest.dropFirst(written)
      }
      return fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno
    }
    guard failure == 0 else {
      throw CheckpointError(.unwritable, file: path, "can't be written: \(String(cString: strerror(failure)))")
    }
  }
}
