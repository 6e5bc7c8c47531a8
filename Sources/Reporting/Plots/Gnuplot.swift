import Checkpoints
public import Foundation

/// gnuplot: scripts that run without this program, and the running of them.
public enum Gnuplot {
  /// A script with its data, as files of one folder.
  public struct Figure: Sendable, Hashable {
    /// The name of all its files, without ending.
    public var name: String
    /// The content of `NAME.dat`.
    public var data: String
    /// The plotting commands between `set output` and the next one.
    public var commands: String

    /// Makes a figure.
    public init(name: String, data: String, commands: String) {
      self.name = name
      self.data = data
      self.commands = commands
    }

    /// The content of `NAME.gp`; `gnuplot NAME.gp` in its folder draws `NAME.png` and `NAME.svg`.
    public var script: String {
      """
      # Draws \(name).png and \(name).svg from \(name).dat: gnuplot \(name).gp
      set encoding utf8
      set loadpath '.'
      set grid lc rgb '#dddddd'
      set border 3
      set tics nomirror
      set key outside top center horizontal noenhanced
      set terminal pngcairo noenhanced size 1200,700 font 'sans,11'
      set output '\(name).png'
      \(commands)
      set terminal svg noenhanced size 1200,700 font 'sans,11' background rgb 'white'
      set output '\(name).svg'
      replot
      set output

      """
    }
  }

  /// Draws a figure with characters, for a terminal.
  ///
  /// - Returns: The drawing; nil without gnuplot, or when it refuses.
  public static func dumb(_ figure: Figure, columns: Int, rows: Int, environment: [String: String]) -> String? {
    guard let executable = executable(environment: environment) else { return nil }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("genbench-plot-\(UUID().uuidString)")
    guard (try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)) != nil else { return nil }
    defer { try? FileManager.default.removeItem(at: folder) }
    let script = """
      set encoding utf8
      set key noenhanced
      set terminal dumb noenhanced size \(columns),\(rows)
      \(figure.commands)

      """
    guard (try? Data(figure.data.utf8).write(to: folder.appendingPathComponent(figure.name + ".dat"))) != nil,
      (try? Data(script.utf8).write(to: folder.appendingPathComponent("dumb.gp"))) != nil
    else { return nil }
    let process = Process()
    process.executableURL = executable
    process.arguments = ["dumb.gp"]
    process.currentDirectoryURL = folder
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let drawn = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { return nil }
    // A page feed stands before the drawing.
    return String(decoding: drawn, as: UTF8.self).replacing("\u{0c}", with: "")
  }

  /// What became of a figure.
  public enum Outcome: Sendable, Hashable {
    /// The pictures are there.
    case drawn
    /// There's no gnuplot on this machine.
    case missing
    /// gnuplot refused; what it said.
    case failed(String)
    /// gnuplot said that all was well, but a picture isn't there or isn't whole.
    case cut(String)

    /// What to tell the user; nil when the pictures are there.
    public func complaint(about name: String) -> String? {
      switch self {
      case .drawn: nil
      case .missing: "gnuplot isn't installed, so \(name).png isn't drawn; \(name).gp and \(name).dat are there for it"
      case .failed(let reason), .cut(let reason): "gnuplot couldn't draw \(name): \(reason)"
      }
    }
  }

  /// The gnuplot of the search path, or of `GENBENCH_GNUPLOT`; nil when there's none.
  public static func executable(environment: [String: String]) -> URL? {
    if let named = environment["GENBENCH_GNUPLOT"] {
      return FileManager.default.isExecutableFile(atPath: named) ? URL(fileURLWithPath: named) : nil
    }
    for folder in (environment["PATH"] ?? "").split(separator: ":") {
      let file = URL(fileURLWithPath: String(folder)).appendingPathComponent("gnuplot")
      if FileManager.default.isExecutableFile(atPath: file.path) { return file }
    }
    return nil
  }

  /// Writes the script and the data of a figure and draws it.
  ///
  /// - Throws: `CheckpointError` `.unwritable` when the files can't be written; trouble with gnuplot is an outcome, not an error.
  public static func draw(_ figure: Figure, in folder: URL, environment: [String: String]) throws -> Outcome {
    do { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) } catch {
      throw CheckpointError(.unwritable, file: folder.path, "can't be made: \(error.localizedDescription)")
    }
    let script = folder.appendingPathComponent(figure.name + ".gp")
    try AtomicFile.write(figure.data, to: folder.appendingPathComponent(figure.name + ".dat").path)
    try AtomicFile.write(figure.script, to: script.path)
    // A picture of an earlier drawing mustn't pass for this one's.
    let pictures = ["png", "svg"].map { folder.appendingPathComponent("\(figure.name).\($0)") }
    for picture in pictures { unlink(picture.path) }
    guard let executable = executable(environment: environment) else { return .missing }
    let process = Process()
    process.executableURL = executable
    process.arguments = [script.lastPathComponent]
    process.currentDirectoryURL = folder
    let errors = Pipe()
    process.standardError = errors
    process.standardOutput = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    do { try process.run() } catch { return .failed("can't be started: \(error.localizedDescription)") }
    let said = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      return .failed(said.isEmpty ? "exit \(process.terminationStatus)" : said.trimmingCharacters(in: .whitespacesAndNewlines))
    }
    for picture in pictures where !isWhole(picture) {
      return .cut("\(picture.lastPathComponent) isn't whole, as when the disk is full\(said.isEmpty ? "" : ": " + said)")
    }
    return .drawn
  }

  /// Whether a picture is there up to its end mark.
  private static func isWhole(_ picture: URL) -> Bool {
    guard let data = FileManager.default.contents(atPath: picture.path) else { return false }
    // A PNG ends with the chunk IEND, which is empty: its length, name and checksum.
    let end = picture.pathExtension == "png" ? Data("IEND".utf8) + [0xAE, 0x42, 0x60, 0x82] : Data("</svg>".utf8)
    return data.suffix(end.count + 8).range(of: end) != nil
  }
}
