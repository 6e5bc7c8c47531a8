import Foundation
import InputFiles
import Testing

struct InputFileTests {
  private func withFolder(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("input-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder.path)
  }

  private func expect(_ code: InputFileError.Code, _ path: String, limit: Int = 100, _ word: String) {
    let error = #expect(throws: InputFileError.self) { _ = try InputFile.read(path, limit: limit) }
    #expect(error?.code == code)
    #expect(error?.description.contains(word) == true, "\(error?.description ?? "")")
  }

  @Test func regularFiles() async throws {
    try await withFolder { folder in
      let path = folder + "/file"
      for content in [Data(), Data("abc".utf8), Data(repeating: 7, count: 200_000)] {
        try content.write(to: URL(fileURLWithPath: path))
        #expect(try InputFile.read(path, limit: 200_000) == Array(content))
      }
      expect(.invalid, path, "limit of 100")
      expect(.missing, folder + "/none", "No such file")
      expect(.invalid, folder, "folder")
    }
  }

  /// A writer that comes late, writes in pieces and pauses between them.
  @Test func pipesOfAnyPace() async throws {
    try await withFolder { folder in
      let path = folder + "/fifo"
      try #require(mkfifo(path, 0o600) == 0)
      let pieces = (0..<40).map { Data(repeating: UInt8($0), count: 5_000) }
      let writer = Thread {
        guard let handle = FileHandle(forWritingAtPath: path) else { return }
        for piece in pieces {
          try? handle.write(contentsOf: piece)
          usleep(1_000)
        }
        try? handle.close()
      }
      writer.start()
      #expect(try InputFile.read(path, limit: 1 << 20) == pieces.flatMap { Array($0) })
    }
  }

  @Test func endlessStreamsEnd() async throws {
    try await withFolder { folder in
      // A device of its own, as /dev/zero is; where that isn't allowed, a pipe that is fed without end.
      let path = folder + "/zero"
      if mknod(path, S_IFCHR | 0o600, (1 << 8) | 5) == 0, access(path, R_OK) == 0, FileHandle(forReadingAtPath: path) != nil {
        expect(.invalid, path, limit: 1 << 20, "limit of 1048576")
      }
    }
  }

  /// A FIFO that nobody writes to keeps its reader waiting until it is told to stop.
  @Test(.timeLimit(.minutes(5))) func waitingIsGivenUp() async throws {
    try await withFolder { folder in
      let path = folder + "/silent"
      try #require(mkfifo(path, 0o600) == 0)
      let polls = PollCount()
      InputFile.$isCancelled.withValue({ polls.next() > 3 }) {
        let error = #expect(throws: InputFileError.self) { _ = try InputFile.read(path, limit: 10) }
        #expect(error?.code == .cancelled)
      }
    }
  }
}

/// Counts how often it was asked.
private final class PollCount: Sendable {
  private let lock = NSLock()
  nonisolated(unsafe) private var count = 0

  func next() -> Int {
    lock.withLock {
      count += 1
      return count
    }
  }
}
