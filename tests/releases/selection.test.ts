import { parse, SemVer } from "semver";
import { describe, expect, test } from "vitest";
import { isAppError } from "@/lib/errors";
import type { Snapshot } from "@/lib/releases/catalog/snapshot";
import { formatVersion } from "@/lib/releases/schema";
import {
  isReleaseQuery,
  parsePlatform,
  parseReleaseSelector,
  type ReleaseSelector,
} from "@/lib/releases/selection/release-selector";
import { rolloutBucket } from "@/lib/releases/selection/rollout";
import {
  findReleasesForOlderSystems,
  findVersion,
  SELECTORS_BY_KIND,
  selectPrimaryArtifact,
  selectRelease,
} from "@/lib/releases/selection/selection";
import { evaluateUpdate, supportPolicyOf } from "@/lib/releases/selection/support-policy";
import { remoteArtifact, snapshotOf } from "@/tests/support/releases/releases";

const WINDOWS: ReleaseSelector = { platform: "windows", product: "core", architecture: "x64", channel: "stable" };
const MACOS: ReleaseSelector = { platform: "macos", product: "core", architecture: "arm64", channel: "stable" };

const select = (
  ...[snapshot, wanted, take = selectPrimaryArtifact, caller]: Partial<Parameters<typeof selectRelease>>
) => selectRelease(snapshot ?? snapshotOf({}), wanted ?? WINDOWS, take, caller).release;

const selected = (snapshot: Snapshot, wanted: ReleaseSelector, caller?: Parameters<typeof selectRelease>[3]) => {
  const release = select(snapshot, wanted, selectPrimaryArtifact, caller);
  return release && `${release.architecture} ${formatVersion(release.version)}`;
};

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
    ["mac", "Universal", "macos", "universal"],
    ["osx", "arm64", "macos", "arm64"],
    ["windows", "X86_64", "windows", "x64"],
  ])("%s and %s are %s and %s", (platform, architecture, ...meant) => {
    const wanted = parseReleaseSelector({ platform, architecture, product: "Core" }, snapshotOf({}));
    expect([wanted.platform, wanted.architecture]).toEqual(meant);
    expect(wanted).toMatchObject({ product: "core", channel: "stable" });
  });

  test("a partial selection lists the missing parameters and their values", () => {
    expect(refusal({ platform: "windows" }, null)).toEqual({
      code: "invalid_query",
      missing: ["product", "architecture"],
      allowed: { product: ["core", "ops"], architecture: ["x64", "arm64", "universal"] },
    });
  });

  test("an unknown value lists the known ones, including the catalog's", () => {
    const snapshot = snapshotOf({ product: "studio" });
    const allowed = { product: ["core", "ops", "studio"], channel: ["stable", "beta"] };
    const query = { platform: "windows", product: "nope", architecture: "x64", channel: "nope" };
    expect(refusal(query, snapshot)).toEqual({ code: "invalid_query", allowed });
    expect(refusal({ ...query, product: "studio", channel: "beta" }, snapshot)).toBeNull();
  });

  test.each(["__proto__", "constructor", "", "win", "windows "])("the platform %j is unknown", (platform) => {
    expect(parsePlatform(platform)).toBeUndefined();
    expect(refusal({ platform, product: "core", architecture: "x64" })).toMatchObject({ code: "invalid_query" });
  });

  test("an architecture that only the catalog names is found by all its aliases", () => {
    const snapshot = snapshotOf({ architecture: "x86" });
    for (const architecture of ["x86", "ia32", "i686", "I386"]) {
      const wanted = parseReleaseSelector({ platform: "windows", product: "core", architecture }, snapshot);
      expect(selected(snapshot, wanted)).toBe("ia32 1.0.0");
    }
    const unknown = { platform: "windows", product: "core", architecture: "i686" };
    expect(refusal(unknown)).toMatchObject({ allowed: { architecture: ["x64", "arm64", "universal"] } });
  });

  test("a feed alone is a selection too, though a partial one", () => {
    expect([isReleaseQuery({ format: "electron" }), isReleaseQuery({ channel: "beta" }), isReleaseQuery({})]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("a whole selection without a catalog is catalog_unavailable", () => {
    const query = { platform: "windows", product: "core", architecture: "x64" };
    expect(refusal(query, null)).toEqual({ code: "catalog_unavailable" });
  });
});

describe("the newest release", () => {
  test("is the highest by SemVer precedence, not by text or by place in the catalog", () => {
    const versions = ["1.9.0", "1.10.0", "1.10.0-rc.1", "1.2.0"];
    expect(selected(snapshotOf(...versions.map((version) => ({ version }))), WINDOWS)).toBe("x64 1.10.0");
  });

  test("orders prereleases as SemVer 2.0.0, item 11, does", () => {
    const order = ["alpha", "alpha.1", "alpha.beta", "beta", "beta.2", "beta.11", "rc.1"];
    for (let newest = order.length; newest > 0; newest -= 1) {
      const versions = order.slice(0, newest).map((pre) => ({ version: `1.0.0-${pre}` }));
      expect(selected(snapshotOf(...versions), WINDOWS)).toBe(`x64 1.0.0-${order[newest - 1]}`);
    }
  });

  test("is never yanked or still being rolled out", () => {
    const snapshot = snapshotOf(
      { version: "1.0.0" },
      { version: "1.1.0", rollout: 99 },
      { version: "1.2.0", yanked: true },
    );
    expect(selected(snapshot, WINDOWS)).toBe("x64 1.0.0");
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

  test("does not exist for a combination without releases", () => {
    expect(selected(snapshotOf({}), { ...WINDOWS, product: "ops" })).toBeUndefined();
    expect(selected(snapshotOf({}), { ...WINDOWS, architecture: "universal" })).toBeUndefined();
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
  test("is found while it is rolled out, and not once it is yanked", () => {
    const snapshot = snapshotOf({ version: "1.0.0", rollout: 5 }, { version: "1.1.0", yanked: true });
    expect(findVersion(snapshot, WINDOWS, new SemVer("1.0.0"))).toBeDefined();
    expect(findVersion(snapshot, WINDOWS, new SemVer("1.1.0"))).toBeUndefined();
  });

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

describe("a release that is being rolled out", () => {
  const ID = "the release";
  const client = (isIn: boolean) => {
    for (let i = 0; ; i += 1) if (rolloutBucket(ID, `client ${i}`) < 50 === isIn) return `client ${i}`;
  };
  const snapshot = snapshotOf({ version: "1.0.0" }, { id: ID, version: "1.1.0", rollout: 50 });

  test("is for the clients in its rollout, and not for clients without an id", () => {
    expect(selected(snapshot, WINDOWS, { clientId: client(true) })).toBe("x64 1.1.0");
    expect(selected(snapshot, WINDOWS, { clientId: client(false) })).toBe("x64 1.0.0");
    expect(selected(snapshot, WINDOWS)).toBe("x64 1.0.0");
  });

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

  test("is superseded by a newer one for clients that have it", () => {
    const newer = snapshotOf({ version: "1.1.0", rollout: 10 }, { id: ID, version: "1.2.0", rollout: 50 });
    const current = new SemVer("1.1.0");
    expect(selected(newer, WINDOWS, { clientId: client(true), current })).toBe("x64 1.2.0");
    expect(selected(newer, WINDOWS, { clientId: client(false), current })).toBe("x64 1.1.0");
  });

  test("reaches no client at 0", () => {
    const paused = snapshotOf({ version: "1.0.0" }, { id: ID, version: "1.1.0", rollout: 0 });
    for (let i = 0; i < 1000; i += 1) expect(selected(paused, WINDOWS, { clientId: `client ${i}` })).toBe("x64 1.0.0");
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

  test("are none if the newest has no minimum, and never ones that are being rolled out", () => {
    expect(found(needing("3.0.0", null), needing("2.0.0", null))).toEqual([]);
    expect(found(needing("3.0.0", "14"), needing("2.0.0", "12", { rollout: 50 }), needing("1.0.0", "12"))).toEqual([
      "1.0.0",
    ]);
  });
});

describe("an update", () => {
  const judgedAmong = (changes: Record<string, unknown>[], current: string, wanted = WINDOWS) => {
    const snapshot = snapshotOf(...changes);
    const release = select(snapshot, wanted);
    const version = parse(current);
    return release && version && evaluateUpdate(release, version, supportPolicyOf(snapshot, wanted, release));
  };
  const judged = (change: Record<string, unknown>, current: string) => {
    return judgedAmong([{ version: "2.0.0", ...change }], current);
  };

  test("is available to older versions only", () => {
    expect(judged({}, "1.9.9")).toEqual({ updateAvailable: true, mandatory: false });
    expect(judged({}, "2.0.0-rc.1")).toMatchObject({ updateAvailable: true });
    expect(judged({}, "2.0.0")).toEqual({ updateAvailable: false, mandatory: false });
    expect(judged({}, "2.0.0+other")).toMatchObject({ updateAvailable: false });
    expect(judged({ version: "2.0.0-beta.10" }, "2.0.0-beta.9")).toMatchObject({ updateAvailable: true });
    expect(judged({ version: "2.0.0-beta.9" }, "2.0.0-beta.10")).toMatchObject({ updateAvailable: false });
    expect(judged({}, "2.0.1")).toMatchObject({ updateAvailable: false });
  });

  test("goes back to an older version only if the catalog marks a rollback", () => {
    expect(judged({ rollback: true }, "2.1.0")).toEqual({ updateAvailable: true, mandatory: false });
    expect(judged({ rollback: true }, "2.0.0")).toMatchObject({ updateAvailable: false });
    expect(judged({ rollback: true, critical: true }, "2.1.0")).toMatchObject({ mandatory: true });
  });

  test("is mandatory if it is critical or the client's version is no longer supported", () => {
    expect(judged({ critical: true }, "1.0.0")).toMatchObject({ mandatory: true });
    expect(judged({ critical: true }, "2.0.0")).toMatchObject({ mandatory: false });
    expect(judged({ minimumSupportedVersion: "1.5.0" }, "1.4.9")).toMatchObject({ mandatory: true });
    expect(judged({ minimumSupportedVersion: "1.5.0" }, "1.5.0")).toMatchObject({ mandatory: false });
  });

  test("is mandatory if any release after the client's, up to the offered one, requires it", () => {
    const latest = { version: "2.0.0" };
    const mandatory = (change: Record<string, unknown>, current: string, wanted?: ReleaseSelector) =>
      judgedAmong([latest, { version: "1.5.0", ...change }], current, wanted)?.mandatory;
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

  test("is mandatory if a release of the other served architecture requires it", () => {
    const mac = (version: string, architecture: string, critical = false) => ({
      ...{ platform: "macos", version, architecture, critical },
    });
    const own = [mac("1.5.0", "arm64", true), mac("2.0.0", "universal")];
    expect(judgedAmong(own, "1.4.0", MACOS)).toEqual({ updateAvailable: true, mandatory: true });
    const arm = { ...WINDOWS, architecture: "arm64" };
    const emulated = [
      { version: "1.5.0", critical: true },
      { version: "2.0.0", architecture: "arm64" },
    ];
    expect(judgedAmong(emulated, "1.4.0", arm)).toEqual({ updateAvailable: true, mandatory: true });
  });
});
