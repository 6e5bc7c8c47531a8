import Foundation
import Synchronization

/// Where results (stdout) and talk (stderr) go.
public final class Console: Sendable {
  /// What the terminal can show.
  public struct Style: Sendable, Hashable {
    /// Whether stderr is a terminal that can redraw a line.
    public var isInteractive: Bool
    /// Whether stderr may be coloured.
    public var hasColour: Bool
    /// Characters in a line.
    public var columns: Int

    /// Makes a style.
    public init(isInteractive: Bool = false, hasColour: Bool = false, columns: Int = 80) {
      self.isInteractive = isInteractive
      self.hasColour = hasColour
      self.columns = columns
    }

    /// What this process has: a terminal counts only without `CI`, colours only without `NO_COLOR`.
    public static func detect(environment: [String: String]) -> Style {
      let isTerminal = isatty(STDERR_FILENO) == 1 && environment["TERM"] != "dumb"
      let isCI = environment["CI"].map { !$0.isEmpty && $0 != "false" && $0 != "0" } ?? false
      var size = winsize()
      let isSized = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 20
      return Style(
        isInteractive: isTerminal && !isCI, hasColour: isTerminal && !isCI && environment["NO_COLOR", default: ""].isEmpty,
        columns: isSized ? min(Int(size.ws_col), 120) : 80)
    }
  }

  /// What the terminal can show.
  public let style: Style
  private let writeOut: @Sendable (String) -> Int32
  private let writeError: @Sendable (String) -> Void
  /// The progress line that stands at the end of the terminal now.
  private let transient = Mutex("")
  private let failure = Mutex<Int32>(0)

  /// Makes a console that writes to this process's streams.
  public convenience init(style: Style) {
    self.init(style: style, checkedOut: { Console.write($0, toErrors: false) }, error: { _ = Console.write($0, toErrors: true) })
  }

  /// Makes a console that writes to closures.
  public convenience init(style: Style, out: @escaping @Sendable (String) -> Void, error: @escaping @Sendable (String) -> Void) {
    self.init(
      style: style,
      checkedOut: {
        out($0)
        return 0
      }, error: error)
  }

  /// Makes a console whose writing of results gives 0, or the error's number.
  init(
    style: Style, checkedOut: @escaping @Sendable (String) -> Int32, error: @escaping @Sendable (String) -> Void
  ) {
    self.style = style
    writeOut = checkedOut
    writeError = error
  }

  /// Writes to this process's stdout or stderr.
  ///
  /// - Returns: 0, or the error's number.
  static func write(_ text: String, toErrors: Bool) -> Int32 {
    let bytes = Array(text.utf8)
    var offset = 0
    while offset < bytes.count {
      let count = bytes[offset...].withUnsafeBytes {
        Foundation.write(toErrors ? STDERR_FILENO : STDOUT_FILENO, $0.baseAddress, $0.count)
      }
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return errno }
      offset += count
    }
    return 0
  }

  /// Why results were lost; nil when none were, or nobody wanted them any more (a pipe that was closed).
  var outputFailure: String? {
    let code = failure.withLock { $0 }
    return code == 0 || code == EPIPE ? nil : String(cString: strerror(code))
  }

  /// Writes a result; after one that was lost nothing more is written.
  private func put(_ text: String) {
    clearTransient()
    failure.withLock { if $0 == 0 { $0 = writeOut(text) } }
  }

  /// Prints a result and a newline.
  public func print(_ text: String) {
    put(text + "\n")
  }

  /// Prints a result as it is.
  public func printRaw(_ text: String) {
    put(text)
  }

  /// Says something to the user.
  public func say(_ text: String) {
    transient.withLock { line in
      if !line.isEmpty { writeError("\r\u{1b}[K") }
      writeError(text + "\n")
      if !line.isEmpty { writeError(line) }
    }
  }

  /// Warns the user.
  public func warn(_ text: String) { say(style.hasColour ? "\u{1b}[33mWarning:\u{1b}[0m \(text)" : "Warning: \(text)") }

  /// Redraws the line at the end of the terminal; does nothing when there's no terminal.
  func showTransient(_ text: String) {
    guard style.isInteractive else { return }
    transient.withLock { line in
      if line == text { return }
      line = text
      writeError("\r\u{1b}[K" + text)
    }
  }

  /// Removes that line.
  func clearTransient() {
    transient.withLock { line in
      if !line.isEmpty { writeError("\r\u{1b}[K") }
      line = ""
    }
  }
}
