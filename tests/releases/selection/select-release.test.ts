import { SemVer } from "semver";
import { describe, expect, test } from "vitest";
import { isAppError } from "@/lib/errors";
import type { Snapshot } from "@/lib/releases/catalog/snapshot";
import { parsePlatform } from "@/lib/releases/platforms";
import { parseReleaseSelector } from "@/lib/releases/selection/parse-query";
import {
  findReleasesForOlderSystems,
  findVersion,
  SELECTORS_BY_KIND,
  selectPrimaryArtifact,
} from "@/lib/releases/selection/select-release";
import { remoteArtifact, snapshotOf } from "@/tests/support/releases/entries";
import { MACOS, select, selected, WINDOWS } from "@/tests/support/releases/selection";

describe("the newest release", () => {
  test("is the highest by SemVer precedence, not by text or by place in the catalog", () => {
    const versions = ["1.9.0", "1.10.0", "1.10.0-rc.1", "1.2.0"];
    expect(selected(snapshotOf(...versions.map((version) => ({ version }))), WINDOWS)).toBe("x64 1.10.0");
  });

  test("of a channel is the channel's or a newer stable one; stable has only stable ones", () => {
    const beta = { ...WINDOWS, channel: "beta" };
    const before = [{ version: "1.0.0" }, { version: "1.1.0-beta.1", channel: "beta" }];
    expect(selected(snapshotOf(...before), beta)).toBe("x64 1.1.0-beta.1");
    expect(selected(snapshotOf(...before), WINDOWS)).toBe("x64 1.0.0");
    expect(selected(snapshotOf(...before, { version: "1.1.0" }), beta)).toBe("x64 1.1.0");
    expect(selected(snapshotOf({ version: "1.0.0" }), beta)).toBe("x64 1.0.0");
  });

  test("of one channel is not offered to another", () => {
    const snapshot = snapshotOf({ version: "1.0.0" }, { version: "2.0.0-nightly.1", channel: "nightly" });
    expect(selected(snapshot, { ...WINDOWS, channel: "beta" })).toBe("x64 1.0.0");
  });

  test("of a kind skips releases without that kind", () => {
    const snapshot = snapshotOf({ version: "1.0.0" }, { version: "1.1.0", artifacts: { update: remoteArtifact() } });
    expect(select(snapshot, WINDOWS, SELECTORS_BY_KIND.installer)?.version.version).toBe("1.0.0");
    expect(select(snapshot, WINDOWS, SELECTORS_BY_KIND.update)?.version.version).toBe("1.1.0");
  });
});

describe("falling back to another architecture", () => {
  const mac = (architecture: string, version: string) => ({ platform: "macos", architecture, version });

  test("macOS gets the universal build if its architecture has no build or an older one", () => {
    expect(selected(snapshotOf(mac("universal", "1.0.0")), MACOS)).toBe("universal 1.0.0");
    expect(selected(snapshotOf(mac("universal", "1.1.0"), mac("arm64", "1.0.0")), MACOS)).toBe("universal 1.1.0");
    expect(selected(snapshotOf(mac("universal", "1.0.0"), mac("arm64", "1.0.0")), MACOS)).toBe("arm64 1.0.0");
    expect(selected(snapshotOf(mac("x64", "1.0.0")), MACOS)).toBeUndefined();
  });

  test("Windows on arm64 gets the x64 build only if there is no arm64 build", () => {
    const arm = { ...WINDOWS, architecture: "arm64" };
    expect(selected(snapshotOf({ version: "1.1.0" }), arm)).toBe("x64 1.1.0");
    expect(selected(snapshotOf({ version: "1.1.0" }, { version: "1.0.0", architecture: "arm64" }), arm)).toBe(
      "arm64 1.0.0",
    );
    expect(selected(snapshotOf({ architecture: "arm64" }), WINDOWS)).toBeUndefined();
  });

  test("applies to a named version too", () => {
    const snapshot = snapshotOf(mac("universal", "1.0.0"), mac("arm64", "1.1.0"));
    expect(findVersion(snapshot, MACOS, new SemVer("1.0.0"))?.architecture).toBe("universal");
    expect(findVersion(snapshot, MACOS, new SemVer("1.1.0"))?.architecture).toBe("arm64");
  });
});

describe("a named version", () => {
  test("is the named channel's before the stable one", () => {
    const snapshot = snapshotOf({ version: "1.0.0" }, { version: "1.0.0", channel: "beta" });
    const found = (channel?: string) => findVersion(snapshot, WINDOWS, new SemVer("1.0.0"), channel)?.channel;
    expect([found("stable"), found("beta"), found("nightly"), found()]).toEqual(["stable", "beta", "stable", "stable"]);
  });

  test("is found in any channel if none is named, else only in the named one", () => {
    const snapshot = snapshotOf({ version: "1.0.0-beta.1", channel: "beta" });
    const found = (channel?: string) => findVersion(snapshot, WINDOWS, new SemVer("1.0.0-beta.1"), channel)?.channel;
    expect([found(), found("beta"), found("stable"), found("nightly")]).toEqual(["beta", "beta", undefined, undefined]);
  });

  test("is distinguished by its build metadata", () => {
    const snapshot = snapshotOf({ version: "1.0.0+1" }, { version: "1.0.0+2" });
    const found = (version: string) => findVersion(snapshot, WINDOWS, new SemVer(version))?.version.raw;
    expect([found("1.0.0+1"), found("1.0.0+2"), found("1.0.0")]).toEqual(["1.0.0+1", "1.0.0+2", undefined]);
  });
});

describe("releases for older systems", () => {
  const needing = (version: string, minimumSystemVersion: string | null, change = {}) => ({
    version,
    minimumSystemVersion,
    ...change,
  });
  const found = (...changes: Record<string, unknown>[]) => {
    const snapshot = snapshotOf(...changes);
    const release = select(snapshot);
    return (
      release &&
      findReleasesForOlderSystems(snapshot, WINDOWS, selectPrimaryArtifact, release).map(
        ({ version }) => version.version,
      )
    );
  };

  test("are the newest for each lower minimum, down to one without a minimum", () => {
    const old = [needing("2.1.0", "12.0"), needing("2.0.0", "10.15"), needing("1.0.0", null), needing("0.9.0", null)];
    expect(found(needing("3.0.0", "14.0"), needing("2.9.0", "14"), needing("2.8.0", "12"), ...old)).toEqual([
      "2.8.0",
      "2.0.0",
      "1.0.0",
    ]);
  });

  test("are also the newest for each lower required version, and combine both", () => {
    const from = (requiresFrom: string | null) => ({ requiresFrom });
    expect(
      found(needing("3.0.0", null, from("2.0.0")), needing("2.5.0", null, from("2.0.0")), needing("2.0.0", null)),
    ).toEqual(["2.0.0"]);
    const combined = [needing("3.0.0", "14.0", from("2.0.0")), needing("2.9.0", "12.0", from("2.0.0"))];
    expect(found(...combined, needing("2.0.0", "14.0"), needing("1.9.0", "12.0"), needing("1.8.0", "12.0"))).toEqual([
      "2.9.0",
      "2.0.0",
      "1.9.0",
    ]);
  });

  test("are none if the newest has no minimum, and never ones that are being rolled out", () => {
    expect(found(needing("3.0.0", null), needing("2.0.0", null))).toEqual([]);
    expect(found(needing("3.0.0", "14"), needing("2.0.0", "12", { rollout: 50 }), needing("1.0.0", "12"))).toEqual([
      "1.0.0",
    ]);
  });
});

const refusal = (query: Parameters<typeof parseReleaseSelector>[0], snapshot: Snapshot | null = snapshotOf({})) => {
  try {
    parseReleaseSelector(query, snapshot);
  } catch (error) {
    if (isAppError(error)) return { code: error.code, ...error.extras.fields };
  }
  return null;
};

describe("reading a selection", () => {
  test.each([
    ["win32", "x86_64", "windows", "x64"],
    ["WINDOWS", "AMD64", "windows", "x64"],
    ["Darwin", "aarch64", "macos", "arm64"],
    ["osx", "arm64", "macos", "arm64"],
    ["win", "x86-64", "windows", "x64"],
    ["Win64", "amd64", "windows", "x64"],
    ["MacOSX", "universal2", "macos", "universal"],
  ])("%s and %s are %s and %s", (platform, architecture, ...meant) => {
    const wanted = parseReleaseSelector({ platform, architecture, product: "Core" }, snapshotOf({}));
    expect([wanted.platform, wanted.architecture]).toEqual(meant);
    expect(wanted).toMatchObject({ product: "core", channel: "stable" });
  });

  test("an unknown value lists the known ones, including the catalog's", () => {
    const snapshot = snapshotOf({ product: "studio" });
    const allowed = { product: ["core", "ops", "studio"], channel: ["stable", "beta"] };
    const query = { platform: "windows", product: "nope", architecture: "x64", channel: "nope" };
    expect(refusal(query, snapshot)).toEqual({ code: "invalid_query", allowed });
    expect(refusal({ ...query, product: "studio", channel: "beta" }, snapshot)).toBeNull();
  });

  test.each(["__proto__", "constructor", "", "beos", "windows "])("the platform %j is unknown", (platform) => {
    expect(parsePlatform(platform)).toBeUndefined();
    expect(refusal({ platform, product: "core", architecture: "x64" })).toMatchObject({ code: "invalid_query" });
  });

  test("an architecture that only the catalog names is found by all its aliases", () => {
    const snapshot = snapshotOf({ architecture: "x86" });
    for (const architecture of ["x86", "ia32", "i686", "I386", "386"]) {
      const wanted = parseReleaseSelector({ platform: "windows", product: "core", architecture }, snapshot);
      expect(selected(snapshot, wanted)).toBe("ia32 1.0.0");
    }
    const unknown = { platform: "windows", product: "core", architecture: "i686" };
    expect(refusal(unknown)).toMatchObject({ allowed: { architecture: ["x64", "arm64", "universal"] } });
  });
});
