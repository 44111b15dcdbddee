import { SemVer } from "semver";
import { describe, expect, test } from "vitest";
import { isAppError } from "@/lib/errors";
import type { Snapshot } from "@/lib/releases/catalog/snapshot";
import { parsePlatform } from "@/lib/releases/platforms";
import { isReleaseQuery, parseReleaseSelector } from "@/lib/releases/selection/parse-query";
import {
  candidateLists,
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

  test("leads to the same lists every time, since caches are keyed by them", () => {
    const snapshot = snapshotOf(mac("universal", "1.0.0"), mac("arm64", "1.1.0"));
    expect(candidateLists(snapshot, MACOS)).toBe(candidateLists(snapshot, MACOS));
  });

  test("is that of each architecture", () => {
    const snapshot = snapshotOf(mac("universal", "1.0.0"), mac("arm64", "1.1.0"));
    expect(selected(snapshot, MACOS)).toBe("arm64 1.1.0");
    expect(selected(snapshot, { ...MACOS, architecture: "x64" })).toBe("universal 1.0.0");
  });

  test("applies to a named version too", () => {
    const snapshot = snapshotOf(mac("universal", "1.0.0"), mac("arm64", "1.1.0"));
    expect(findVersion(snapshot, MACOS, new SemVer("1.0.0"))?.architecture).toBe("universal");
    expect(findVersion(snapshot, MACOS, new SemVer("1.1.0"))?.architecture).toBe("arm64");
  });
});

describe("a release that requires a version first", () => {
  const chain = (change = {}) =>
    snapshotOf(
      { version: "1.9.0" },
      { version: "2.0.0", requiresFrom: "1.5.0" },
      { version: "3.0.0", requiresFrom: "2.0.0", ...change },
    );

  test("is offered from that version on; older clients get the newest release that they may install", () => {
    const releases = chain();
    const offered = (current: string) => selected(releases, WINDOWS, { current: new SemVer(current) });
    expect(["1.0.0", "1.4.9", "1.5.0", "1.9.0", "2.0.0", "2.5.0"].map(offered)).toEqual(
      ["1.9.0", "1.9.0", "2.0.0", "2.0.0", "3.0.0", "3.0.0"].map((version) => `x64 ${version}`),
    );
    // a prerelease of the required version is below it
    expect([offered("2.0.0-rc.1"), offered("2.0.0+7")]).toEqual(["x64 2.0.0", "x64 3.0.0"]);
    expect(selected(releases, WINDOWS)).toBe("x64 3.0.0");
  });

  test("is the next step for a client, however many there are", () => {
    const steps = [2, 3, 4].map((n) => ({ version: `${n}.0.0`, requiresFrom: `${n - 1}.0.0` }));
    const releases = snapshotOf({ version: "1.0.0" }, ...steps);
    const offered = (major: number) => selected(releases, WINDOWS, { current: new SemVer(`${major}.0.0`) });
    expect([0, 1, 2, 3].map(offered)).toEqual(["x64 1.0.0", "x64 2.0.0", "x64 3.0.0", "x64 4.0.0"]);
  });

  test("is rolled out to clients alone that may install it", () => {
    const releases = chain({ rollout: 99.9, id: "3" });
    const offered = (current: string) =>
      Array.from({ length: 20 }, (_, i) =>
        selected(releases, WINDOWS, { clientId: `${i}`, current: new SemVer(current) }),
      );
    expect(new Set(offered("1.0.0"))).toEqual(new Set(["x64 1.9.0"]));
    expect(offered("2.0.0")).toContain("x64 3.0.0");
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

  test("is one that has the file which is asked for", () => {
    const update = { artifacts: { update: remoteArtifact() } };
    const snapshot = snapshotOf({ version: "1.0.0", ...update }, { version: "1.0.0", channel: "beta" });
    const version = new SemVer("1.0.0");
    expect(findVersion(snapshot, WINDOWS, version, undefined, SELECTORS_BY_KIND.installer)?.channel).toBe("beta");
    expect(findVersion(snapshot, WINDOWS, version, "beta", SELECTORS_BY_KIND.update)?.channel).toBe("stable");
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

  test("are also those for a lower required version only, and older than the one that is offered", () => {
    const from = (version: string, requiresFrom: string | null) => ({ version, requiresFrom });
    expect(found(from("3.0.0", "2.5.0"), from("2.5.0", "2.0.0"), from("2.0.0", null))).toEqual(["2.5.0", "2.0.0"]);
    const snapshot = snapshotOf(needing("3.0.0", "10"), needing("2.0.0", "12"), needing("1.0.0", null));
    const [, offered] = snapshot.releases;
    const older = offered && findReleasesForOlderSystems(snapshot, WINDOWS, selectPrimaryArtifact, offered);
    expect(older?.map(({ version }) => version.version)).toEqual(["1.0.0"]);
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
    if (isAppError(error)) {
      const { errors, fields } = error.extras;
      return { code: error.code, ...fields, ...(errors ? { errors } : {}) };
    }
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

  const WANTED = { platform: "windows", product: "core", architecture: "x64" };

  test.each(["platform", "product", "architecture"] as const)("without a %s lists the known ones", (name) => {
    const { [name]: _, ...query } = WANTED;
    const known = {
      product: ["core", "ops"],
      platform: ["windows", "macos", "linux"],
      architecture: ["x64", "arm64", "universal"],
    };
    const allowed = { [name]: known[name] };
    const errors = [{ pointer: `?${name}`, code: "required", detail: "Is required" }];
    expect(refusal(query)).toEqual({ code: "invalid_query", missing: [name], allowed, errors });
    expect(refusal(query, null)).toEqual({ code: "invalid_query", missing: [name], allowed, errors });
  });

  test("needs a catalog", () => expect(refusal(WANTED, null)).toEqual({ code: "catalog_unavailable" }));

  test.each([
    [{ platform: "windows" }, true],
    [{ product: "core" }, true],
    [{ architecture: "x64" }, true],
    [{ format: "tauri" }, true],
    [{ channel: "beta" }, false],
    [{}, false],
  ])("%j asks for a release: %s", (query, isAsking) => expect(isReleaseQuery(query)).toBe(isAsking));

  test("an unknown value lists the known ones, including the catalog's", () => {
    const snapshot = snapshotOf({ product: "studio" });
    const allowed = { product: ["core", "ops", "studio"], channel: ["stable", "beta"] };
    const query = { platform: "windows", product: "nope", architecture: "x64", channel: "nope" };
    const errors = [
      { pointer: "?product", code: "invalid_value", detail: "Must be one of core, ops, studio" },
      { pointer: "?channel", code: "invalid_value", detail: "Must be one of stable, beta" },
    ];
    expect(refusal(query, snapshot)).toEqual({ code: "invalid_query", allowed, errors });
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
