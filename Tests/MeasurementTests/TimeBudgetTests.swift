import GenBackend
import Measurement
import Testing

@Suite struct TimeBudgetTests {
  private func began(_ stage: Stage, _ time: UInt64, _ index: Int? = nil) -> GenerationEvent {
    .began(stage, index: index, timeNs: time)
  }
  private func ended(_ stage: Stage, _ time: UInt64, _ index: Int? = nil) -> GenerationEvent {
    .ended(stage, index: index, timeNs: time)
  }

  @Test func partsSumToTheWhole() {
    let budget = TimeBudget(
      events: [
        began(.tokenize, 105), ended(.tokenize, 110), began(.textEncode, 112), ended(.textEncode, 140),
        began(.step, 150, 0), began(.unetUnconditional, 151, 0), ended(.unetUnconditional, 160, 0),
        began(.unetConditional, 160, 0), ended(.unetConditional, 170, 0), began(.schedulerStep, 171, 0),
        ended(.schedulerStep, 172, 0), ended(.step, 175, 0), .progress(step: 1, total: 2, timeNs: 175),
        began(.step, 175, 1), began(.unet, 176, 1), ended(.unet, 190, 1), ended(.step, 195, 1),
        began(.vaeDecode, 200), ended(.vaeDecode, 290),
      ], startNs: 100, endNs: 300)
    #expect(budget.totalNs == 200)
    #expect(budget.stagesNs == ["tokenize": 5, "text_encode": 28, "step": 45, "vae_decode": 90])
    #expect(budget.unaccountedNs == 200 - 168)
    #expect(budget.steps.map(\.ns) == [25, 20])
    #expect(budget.steps[0].partsNs == ["unet_uncond": 9, "unet_cond": 10, "scheduler": 1])
    #expect(budget.steps[1].partsNs == ["unet": 14])
    #expect(budget.openStages.isEmpty)
    #expect(budget[.vaeDecode] == 90 && budget[.preview] == nil)
  }

  @Test func aPreviewWithinAStepIsAPartOfIt() {
    let budget = TimeBudget(
      events: [
        began(.step, 0, 0), ended(.step, 10, 0), began(.preview, 10, 1), ended(.preview, 14, 1),
        began(.step, 14, 1), began(.preview, 15, 2), ended(.preview, 18, 2), ended(.step, 20, 1),
      ], startNs: 0, endNs: 20)
    #expect(budget.stagesNs == ["step": 16, "preview": 4])
    #expect(budget.steps[1].partsNs == ["preview": 3])
    #expect(budget.unaccountedNs == 0)
  }

  @Test func cancelledStagesCountUpToTheEnd() {
    let budget = TimeBudget(
      events: [began(.step, 10, 0), began(.unet, 12, 0)], startNs: 0, endNs: 30)
    #expect(budget.stagesNs == ["step": 20])
    #expect(budget.openStages == ["step", "unet"])
    #expect(budget.steps[0].ns == 20 && budget.steps[0].partsNs == ["unet": 18])
  }

  @Test func disorderNeverTrapsNorCountsTwice() {
    let events: [[GenerationEvent]] = [
      [ended(.unet, 5)], [began(.unet, 50), ended(.unet, 40)], [began(.step, 5, 0), ended(.step, 9, 1)],
      [began(.load, 0), began(.unet, 10), ended(.load, 20), ended(.unet, 30)],
      [began(.load, 1000), ended(.load, 2000)], [began(.load, 0), ended(.load, 5)],
    ]
    for list in events {
      let budget = TimeBudget(events: list, startNs: 10, endNs: 100)
      #expect(budget.stagesNs.values.reduce(0, +) + budget.unaccountedNs == 90)
    }
    #expect(TimeBudget(events: [], startNs: 9, endNs: 3).totalNs == 0)
  }

  @Test func theRecorderKeepsOrderAndWarnsOnce() {
    let recorder = RequestRecorder()
    let control = recorder.control()
    control.onEvent(.began(.load, index: nil, timeNs: recorder.startNs))
    control.onEvent(.ended(.load, index: nil, timeNs: recorder.startNs + 1))
    for _ in 0..<2 { control.onEvent(.warning("cut")) }
    #expect(recorder.measure(Stage(rawValue: "png")) { 7 } == 7)
    recorder.finish()
    let budget = recorder.budget
    #expect(budget.stagesNs["load"] == 1 && budget.stagesNs["png"] != nil)
    #expect(recorder.budget == budget, "the clock is stopped")
    #expect(recorder.warnings == ["cut"])
    #expect(recorder.spans.map(\.stage.rawValue) == ["load", "png"])
  }
}
