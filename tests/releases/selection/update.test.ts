import { parse, SemVer } from "semver";
import { describe, expect, test } from "vitest";
import type { ReleaseSelector } from "@/lib/releases/selection/parse-query";
import { evaluateUpdate, supportPolicyOf } from "@/lib/releases/selection/support-policy";
import { snapshotOf } from "@/tests/support/releases/entries";
import { MACOS, select, WINDOWS } from "@/tests/support/releases/selection";

describe("an update", () => {
  const checkAmong = (changes: Record<string, unknown>[], current: string, wanted = WINDOWS) => {
    const snapshot = snapshotOf(...changes);
    const release = select(snapshot, wanted);
    const version = parse(current);
    return release && version && evaluateUpdate(release, version, supportPolicyOf(snapshot, wanted, release));
  };
  const check = (change: Record<string, unknown>, current: string) => {
    return checkAmong([{ version: "2.0.0", ...change }], current);
  };

  test("is available to older versions only", () => {
    expect(check({}, "1.9.9")).toEqual({ updateAvailable: true, mandatory: false });
    expect(check({}, "2.0.0-rc.1")).toMatchObject({ updateAvailable: true });
    expect(check({}, "2.0.0")).toEqual({ updateAvailable: false, mandatory: false });
    expect(check({}, "2.0.0+other")).toMatchObject({ updateAvailable: false });
    expect(check({ version: "2.0.0-beta.10" }, "2.0.0-beta.9")).toMatchObject({ updateAvailable: true });
    expect(check({ version: "2.0.0-beta.9" }, "2.0.0-beta.10")).toMatchObject({ updateAvailable: false });
    expect(check({}, "2.0.1")).toMatchObject({ updateAvailable: false });
  });

  test.each([
    ["yanked", { yanked: true }],
    ["paused", { rollout: 0 }],
  ])("goes back to a rollback only from a version that is %s", (_, withdrawn) => {
    const back = { version: "2.0.0", rollback: true };
    const gone = { version: "2.1.0", ...withdrawn };
    const isOffered = (releases: Record<string, unknown>[], current: string, wanted?: ReleaseSelector) =>
      checkAmong(releases, current, wanted)?.updateAvailable;
    expect(checkAmong([back, gone], "2.1.0")).toEqual({ updateAvailable: true, mandatory: false });
    expect(checkAmong([{ ...back, critical: true }, gone], "2.1.0")).toMatchObject({ mandatory: true });
    expect(isOffered([back, gone], "2.1.0+7")).toBe(true);
    expect(isOffered([{ ...back, rollback: false }, gone], "2.1.0")).toBe(false);
    for (const other of ["2.0.0", "2.0.1", "2.1.0-rc.1", "2.1.1", "99.0.0"]) {
      expect([other, isOffered([back, gone], other)]).toEqual([other, false]);
    }
    expect(isOffered([back, { ...gone, product: "ops" }], "2.1.0")).toBe(false);
    expect(isOffered([back, { ...gone, platform: "macos" }], "2.1.0")).toBe(false);
  });

  test("does not lead from four numbers to the same ones, whatever their version is called", () => {
    const [back] = snapshotOf({ version: "2.0.0", buildVersion: "1.2.0.7", rollback: true }).releases;
    const policy = { mandatoryBelow: null, replacedVersions: new Set(["1.2.0"]) };
    const isOffered = (numbers: string) =>
      back && evaluateUpdate(back, new SemVer("1.2.0"), policy, numbers).updateAvailable;
    expect(["1.2.0.6", "1.2.0.7", "1.2.0.8"].map(isOffered)).toEqual([true, false, true]);
  });

  test("does not go back from a version that another build still serves", () => {
    const gone = { version: "2.1.0", yanked: true };
    const beta = { ...WINDOWS, channel: "beta" };
    const [back, served] = [
      { version: "2.0.0", rollback: true },
      { version: "2.1.0", channel: "beta" },
    ];
    expect(checkAmong([back, gone, served], "2.1.0")).toMatchObject({ updateAvailable: true });
    expect(checkAmong([back, gone, served], "2.1.0", beta)).toMatchObject({ updateAvailable: false });
    expect(checkAmong([back, served], "2.1.0")).toMatchObject({ updateAvailable: false });
    const arm = { ...WINDOWS, architecture: "arm64" };
    const own = { ...back, architecture: "arm64" };
    expect(checkAmong([own, gone], "2.1.0", arm)).toMatchObject({ updateAvailable: true });
    expect(checkAmong([own, { ...gone, architecture: "arm64" }, { version: "2.1.0" }], "2.1.0", arm)).toMatchObject({
      updateAvailable: false,
    });
  });

  test("is mandatory if any release after the client's, up to the offered one, requires it", () => {
    const latest = { version: "2.0.0" };
    const mandatory = (change: Record<string, unknown>, current: string, wanted?: ReleaseSelector) =>
      checkAmong([latest, { version: "1.5.0", ...change }], current, wanted)?.mandatory;
    expect(mandatory({ critical: true }, "1.4.9")).toBe(true);
    expect(mandatory({ critical: true }, "1.5.0")).toBe(false);
    expect(mandatory({ minimumSupportedVersion: "1.3.0" }, "1.2.9")).toBe(true);
    expect(mandatory({ minimumSupportedVersion: "1.3.0" }, "1.3.0")).toBe(false);
    expect(mandatory({ critical: true, rollout: 5 }, "1.4.9")).toBe(true);
    expect(mandatory({ critical: true, yanked: true }, "1.4.9")).toBe(false);
    expect(mandatory({ critical: true, product: "ops" }, "1.4.9")).toBe(false);
    expect(mandatory({ critical: true, channel: "beta" }, "1.4.9")).toBe(false);
    expect(mandatory({ critical: true, channel: "beta" }, "1.4.9", { ...WINDOWS, channel: "beta" })).toBe(true);
    expect(mandatory({ version: "2.1.0", critical: true, rollout: 0 }, "1.4.9")).toBe(false);
  });

  test("is mandatory for what the offered release itself no longer supports", () => {
    expect(check({ minimumSupportedVersion: "1.5.0" }, "1.4.9")).toMatchObject({ mandatory: true });
    expect(check({ minimumSupportedVersion: "1.5.0" }, "1.5.0")).toMatchObject({ mandatory: false });
  });

  test("is mandatory below the highest of what any release requires, of the client's own channel", () => {
    const snapshot = snapshotOf(
      { version: "2.0.0", minimumSupportedVersion: "1.0.0", buildVersion: "200" },
      { version: "1.7.0", channel: "beta", critical: true },
      { version: "1.6.0", minimumSupportedVersion: "1.3.0", buildVersion: "160" },
      { version: "1.4.0", critical: true, buildVersion: "140" },
      { version: "1.2.0", critical: true, minimumSupportedVersion: "1.1.0", buildVersion: "120" },
    );
    const [release] = snapshot.releases;
    const policy = (channel: string) => {
      const { minimumSupportedVersion, mandatoryBelow, mandatoryBelowBuild } = release
        ? supportPolicyOf(snapshot, { ...WINDOWS, channel }, release)
        : ({} as never);
      return [minimumSupportedVersion?.version, mandatoryBelow?.version, mandatoryBelowBuild];
    };
    expect(policy("stable")).toEqual(["1.3.0", "1.4.0", "140"]);
    expect(policy("beta")).toEqual(["1.3.0", "1.7.0", null]);
  });

  test("is mandatory if a release of the other served architecture requires it", () => {
    const mac = (version: string, architecture: string, critical = false) => ({
      platform: "macos",
      version,
      architecture,
      critical,
    });
    const own = [mac("1.5.0", "arm64", true), mac("2.0.0", "universal")];
    expect(checkAmong(own, "1.4.0", MACOS)).toEqual({ updateAvailable: true, mandatory: true });
    const arm = { ...WINDOWS, architecture: "arm64" };
    const emulated = [
      { version: "1.5.0", critical: true },
      { version: "2.0.0", architecture: "arm64" },
    ];
    expect(checkAmong(emulated, "1.4.0", arm)).toEqual({ updateAvailable: true, mandatory: true });
  });
});
