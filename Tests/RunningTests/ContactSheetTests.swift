import Tensors
import Testing

@testable import Running

@Suite struct ContactSheetTests {
  @Test func groupsBeginNewRowsAndAspectIsKept() throws {
    let wide = Bitmap(width: 200, height: 100, samples: Array(repeating: 0, count: 60_000))
    let sheet = try #require(ContactSheet.make([Array(repeating: wide, count: 9), [], [wide]]))
    #expect(sheet.width == 4 + 8 * 100)
    #expect(sheet.height == 4 + 3 * 100 + 12)
    func isBlack(_ x: Int, _ y: Int) -> Bool { sheet.samples[(y * sheet.width + x) * 3] < 10 }
    #expect(isBlack(52, 52) && !isBlack(52, 10) && isBlack(52, 152) && !isBlack(152, 152) && isBlack(52, 264))
  }

  @Test func noImagesMakeNoSheet() { #expect(ContactSheet.make([[]]) == nil) }
}
