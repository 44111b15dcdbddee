import { SemVer } from "semver";
import { describe, expect, test } from "vitest";
import { rolloutBucket, selectPrimaryArtifact, selectRelease } from "@/lib/releases/selection/select-release";
import { snapshotOf } from "@/tests/support/releases/entries";
import { MACOS, select, selected, WINDOWS } from "@/tests/support/releases/selection";

describe("a release that is being rolled out", () => {
  const ID = "the release";
  const client = (isIn: boolean) => {
    for (let i = 0; ; i += 1) if (rolloutBucket(ID, `client ${i}`) < 50 === isIn) return `client ${i}`;
  };

  test("stays with clients that have it, in the rollout or not, paused or not", () => {
    const current = new SemVer("1.1.0");
    for (const rollout of [50, 0]) {
      const there = snapshotOf({ version: "1.0.0" }, { id: ID, version: "1.1.0", rollout });
      expect(selected(there, WINDOWS, { clientId: client(false), current })).toBe("x64 1.1.0");
      expect(selected(there, WINDOWS, { current })).toBe("x64 1.1.0");
      expect(selected(there, WINDOWS, { current: new SemVer("1.0.5") })).toBe("x64 1.0.0");
    }
  });

  test("is superseded by a rollback once it is paused, on every channel and architecture", () => {
    const current = new SemVer("1.1.0");
    for (const [where, wanted] of [
      [{}, WINDOWS],
      [{ channel: "beta" }, { ...WINDOWS, channel: "beta" }],
      [{ platform: "macos", architecture: "arm64" }, MACOS],
    ] as const) {
      const place = { platform: wanted.platform, architecture: wanted.platform === "macos" ? "universal" : "x64" };
      const before = { ...place, version: "1.0.0", rollback: true };
      const paused = snapshotOf(before, { ...place, ...where, id: ID, version: "1.1.0", rollout: 0 });
      expect(select(paused, wanted, selectPrimaryArtifact, { current })?.version.version).toBe("1.0.0");
      const partial = snapshotOf(before, { ...place, ...where, id: ID, version: "1.1.0", rollout: 50 });
      expect(select(partial, wanted, selectPrimaryArtifact, { current })?.version.version).toBe("1.1.0");
    }
  });

  test("is superseded, once it is paused, by a partial rollback for the rollback's clients", () => {
    const back = { id: ID, version: "1.1.0", rollback: true, rollout: 50 };
    const paused = snapshotOf({ version: "1.0.0" }, back, { version: "1.2.0", rollout: 0 });
    const current = new SemVer("1.2.0");
    expect(selected(paused, WINDOWS, { clientId: client(true), current })).toBe("x64 1.1.0");
    expect(selected(paused, WINDOWS, { clientId: client(false), current })).toBe("x64 1.2.0");
  });

  test("is superseded, once it is paused, by a rollback below another rollout or in the fallback architecture", () => {
    const current = new SemVer("1.2.0");
    const paused = { version: "1.2.0", rollout: 0 };
    const between = snapshotOf({ version: "1.0.0", rollback: true }, { id: ID, version: "1.1.0", rollout: 50 }, paused);
    expect(selected(between, WINDOWS, { clientId: client(true), current })).toBe("x64 1.0.0");
    const arm = { ...WINDOWS, architecture: "arm64" };
    const own = { ...paused, architecture: "arm64" };
    expect(selected(snapshotOf({ version: "1.0.0", rollback: true }, own), arm, { current })).toBe("x64 1.0.0");
    expect(selected(snapshotOf({ version: "1.0.0" }, own), arm, { current })).toBe("arm64 1.2.0");
    const partial = snapshotOf({ version: "1.0.0", rollback: true }, { ...own, id: ID, rollout: 50 });
    expect(selected(partial, arm, { clientId: client(true), current })).toBe("arm64 1.2.0");
  });

  test("reaches the same clients as another release of its series", () => {
    const series = { rolloutSeries: "core for Windows", rollout: 50 };
    const both = [snapshotOf({ ...series, version: "1.1.0" }), snapshotOf({ ...series, version: "1.2.0" })];
    const reached = both.map((one) =>
      Array.from({ length: 200 }, (_, i) => selected(one, WINDOWS, { clientId: `client ${i}` }) !== undefined),
    );
    expect(reached[0]).toEqual(reached[1]);
    expect(new Set(reached[0]).size).toBe(2);
  });

  test("is superseded by a newer one for clients that have it", () => {
    const newer = snapshotOf({ version: "1.1.0", rollout: 10 }, { id: ID, version: "1.2.0", rollout: 50 });
    const current = new SemVer("1.1.0");
    expect(selected(newer, WINDOWS, { clientId: client(true), current })).toBe("x64 1.2.0");
    expect(selected(newer, WINDOWS, { clientId: client(false), current })).toBe("x64 1.1.0");
  });

  test("makes the response depend on the client, only while it is in progress and the newest", () => {
    const isPersonal = (...releases: Record<string, unknown>[]) =>
      selectRelease(snapshotOf(...releases), WINDOWS, selectPrimaryArtifact).isClientSpecific;
    expect(isPersonal({ version: "1.0.0" }, { version: "1.1.0", rollout: 1 })).toBe(true);
    expect(isPersonal({ version: "1.1.0", rollout: 1 })).toBe(true);
    expect(isPersonal({ version: "1.0.0" }, { version: "1.1.0", rollout: 0 })).toBe(false);
    expect(isPersonal({ version: "1.2.0" }, { version: "1.1.0", rollout: 1 })).toBe(false);
  });

  test("applies to the fallback architecture", () => {
    const mac = (version: string, rollout: number) => ({
      platform: "macos",
      architecture: "universal",
      version,
      rollout,
    });
    const choice = selectRelease(snapshotOf(mac("1.0.0", 100), mac("1.1.0", 50)), MACOS, selectPrimaryArtifact);
    expect([choice.release?.version.version, choice.isClientSpecific]).toEqual(["1.0.0", true]);
  });

  test("is searched among the four newest only, however many there are", () => {
    const many = Array.from({ length: 5000 }, (_, i) => ({ id: `release ${i}`, version: `2.0.${i}`, rollout: 1 }));
    const crowded = snapshotOf({ version: "1.0.0" }, ...many);
    const versions = new Set(
      Array.from({ length: 1000 }, (_, i) => selected(crowded, WINDOWS, { clientId: `client ${i}` })),
    );
    expect(versions.size).toBeGreaterThan(1);
    for (const version of versions) expect(version).toMatch(/^x64 (1\.0\.0|2\.0\.499[6-9])$/);
  });
});
