import { describe, expect, test } from "vitest";
import { decideNextStep, type RolloutFacts, type ScheduleState } from "@/lib/releases/rollouts/decide-next-step";

const HOUR_MS = 60 * 60 * 1000;
const START = new Date("2026-11-22T00:00:00Z");
const atHour = (hours: number) => new Date(START.getTime() + hours * HOUR_MS);

const STATE: ScheduleState = {
  version: "2.3.0",
  steps: [5, 20, 100],
  step: 0,
  everySeconds: 24 * 60 * 60,
  nextStepAt: atHour(24),
  observedAt: START,
  maxFailureShare: 0.05,
  minReports: 50,
  minAdoptionShare: 0.1,
  minOfferedClients: 50,
};
const QUIET: RolloutFacts = { reports: 0, failures: 0, frequentCode: null, offeredClients: 0, clients: 0 };

/** Decides at an hour, a minute after the last look unless another one is given. */
function decideAt(
  hours: number,
  change: Partial<ScheduleState> = {},
  facts: Partial<RolloutFacts> = {},
  isApplied = true,
) {
  const now = atHour(hours);
  const state = { ...STATE, observedAt: new Date(now.getTime() - 60_000), ...change };
  return decideNextStep(state, { ...QUIET, ...facts }, now, isApplied);
}

describe("a step", () => {
  test("lasts its whole time, then the next one begins", () => {
    expect(decideAt(23.9)).toEqual({ kind: "wait", nextStepAt: atHour(24) });
    expect(decideAt(24)).toEqual({ kind: "advance", step: 1, nextStepAt: atHour(48) });
  });

  test("is not skipped, however late it is evaluated", () => {
    expect(decideAt(24 * 30, { nextStepAt: atHour(24) })).toEqual({
      kind: "advance",
      step: 1,
      nextStepAt: atHour(24 * 31),
    });
  });

  test("is the last one: its end completes the rollout", () => {
    expect(decideAt(24, { step: 1 })).toEqual({ kind: "advance", step: 2, nextStepAt: atHour(48) });
    expect(decideAt(24, { step: 2 })).toEqual({ kind: "complete" });
  });

  test("is prolonged by the time in which no process ran, if that is more than ten minutes", () => {
    expect(decideAt(100, { observedAt: atHour(10) })).toEqual({ kind: "wait", nextStepAt: atHour(24 + 90) });
    const tenMinutes = 1 / 6;
    expect(decideAt(10 + tenMinutes, { observedAt: atHour(10) })).toEqual({ kind: "wait", nextStepAt: atHour(24) });
  });

  test("is prolonged while the catalog overrides the schedule, and nothing halts it", () => {
    const failing = { reports: 100, failures: 100 };
    const minute = 60_000;
    expect(decideAt(24, {}, failing, false)).toEqual({
      kind: "wait",
      nextStepAt: new Date(atHour(24).getTime() + minute),
    });
  });

  test("does not last longer after the clock was set back", () => {
    expect(decideAt(-1000, { observedAt: atHour(10) })).toEqual({ kind: "wait", nextStepAt: atHour(-1000 + 24) });
  });

  test("is not shorter after the clock was set back", () => {
    for (const isApplied of [true, false]) {
      expect(decideAt(10, { observedAt: atHour(11) }, {}, isApplied)).toEqual({ kind: "wait", nextStepAt: atHour(24) });
    }
  });
});

describe("reports of failures", () => {
  test.each([
    [49, 49, "wait"],
    [50, 2, "wait"],
    [50, 3, "halt"],
    [60, 3, "wait"],
    [60, 4, "halt"],
    [1_000, 51, "halt"],
  ])("of %i reports %i: %s", (reports, failures, kind) => {
    expect(decideAt(1, {}, { reports, failures }).kind).toBe(kind);
  });

  test("halt at once, with the share and the most frequent code as reason", () => {
    expect(decideAt(1, {}, { reports: 80, failures: 10, frequentCode: "E_SIGNATURE" })).toEqual({
      kind: "halt",
      reason:
        "12.5% of 80 reports say that 2.3.0 failed or was rolled back, most often E_SIGNATURE. The maximum is 5%.",
    });
  });

  test("without a code halt, too", () => {
    expect(decideAt(1, {}, { reports: 80, failures: 10 })).toEqual({
      kind: "halt",
      reason: "12.5% of 80 reports say that 2.3.0 failed or was rolled back. The maximum is 5%.",
    });
  });

  test("never halt if every share is allowed, or without a report", () => {
    expect(decideAt(1, { maxFailureShare: 1 }, { reports: 80, failures: 80 }).kind).toBe("wait");
    expect(decideAt(1, { maxFailureShare: 0, minReports: 0 }).kind).toBe("wait");
  });
});

describe("clients that were offered the version and do not come back", () => {
  test.each([
    [49, 0, "advance"],
    [50, 5, "advance"],
    [50, 4, "halt"],
    [10_000, 0, "halt"],
  ])("%i offered, %i back: %s", (offeredClients, clients, kind) => {
    expect(decideAt(24, {}, { offeredClients, clients }).kind).toBe(kind);
  });

  test("halt the rollout only after the whole step: updates take their time", () => {
    expect(decideAt(23, {}, { offeredClients: 1_000, clients: 0 }).kind).toBe("wait");
    expect(decideAt(24, {}, { offeredClients: 1_000, clients: 3 })).toEqual({
      kind: "halt",
      reason:
        "Only 3 clients have checked for updates with 2.3.0 since yesterday, after 1000 clients were offered it. The minimum is 10%.",
    });
  });

  test("halt the last step, too", () => {
    expect(decideAt(24, { step: 2 }, { offeredClients: 1_000, clients: 3 }).kind).toBe("halt");
  });

  test("never halt if no share is required, or nobody was offered it", () => {
    expect(decideAt(24, { minOfferedClients: 0 }).kind).toBe("advance");
    expect(decideAt(24, { minAdoptionShare: 0 }, { offeredClients: 1_000, clients: 0 }).kind).toBe("advance");
  });
});
