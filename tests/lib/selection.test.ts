import { parse, SemVer } from "semver";
import { describe, expect, test } from "vitest";
import { isAppError } from "@/lib/errors";
import type { Snapshot } from "@/lib/releases/catalog/snapshot";
import { versionText } from "@/lib/releases/schema";
import {
  findVersion,
  judgeUpdate,
  platformOf,
  readSelection,
  selectRelease,
  type Wanted,
} from "@/lib/releases/selection";
import { elsewhere, snapshotOf } from "../support/releases";

const WINDOWS: Wanted = { platform: "windows", product: "core", architecture: "x64", channel: "stable" };
const MACOS: Wanted = { platform: "macos", product: "core", architecture: "arm64", channel: "stable" };

const selected = (snapshot: Snapshot, wanted: Wanted) => {
  const release = selectRelease(snapshot, wanted);
  return release && `${release.architecture} ${versionText(release.version)}`;
};

const refusal = (query: Parameters<typeof readSelection>[0], snapshot: Snapshot | null = snapshotOf({})) => {
  try {
    readSelection(query, snapshot);
  } catch (error) {
    if (isAppError(error)) return { code: error.code, ...error.extras.members };
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
  ])("%s and %s are %s and %s", (platform, architecture, ...meant) => {
    const wanted = readSelection({ platform, architecture, product: "Core" }, snapshotOf({}));
    expect([wanted.platform, wanted.architecture]).toEqual(meant);
    expect(wanted).toMatchObject({ product: "core", channel: "stable" });
  });

  test("a partial selection names what is missing and what it may be", () => {
    expect(refusal({ platform: "windows" }, null)).toEqual({
      code: "invalid_query",
      missing: ["product", "architecture"],
      allowed: { product: ["core", "ops"], architecture: ["x64", "arm64", "universal"] },
    });
  });

  test("an unknown value names what it may be, the catalog's own values included", () => {
    const snapshot = snapshotOf({ product: "studio" });
    const allowed = { product: ["core", "ops", "studio"], channel: ["stable", "beta"] };
    const query = { platform: "windows", product: "nope", architecture: "x64", channel: "nope" };
    expect(refusal(query, snapshot)).toEqual({ code: "invalid_query", allowed });
    expect(refusal({ ...query, product: "studio", channel: "beta" }, snapshot)).toBeNull();
  });

  test.each(["__proto__", "constructor", "", "win", "windows "])("the platform %j is unknown", (platform) => {
    expect(platformOf(platform)).toBeUndefined();
    expect(refusal({ platform, product: "core", architecture: "x64" })).toMatchObject({ code: "invalid_query" });
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

  test("is never a yanked one, nor one that is still being rolled out", () => {
    const snapshot = snapshotOf(
      { version: "1.0.0" },
      { version: "1.1.0", rollout: 99 },
      { version: "1.2.0", yanked: true },
    );
    expect(selected(snapshot, WINDOWS)).toBe("x64 1.0.0");
  });

  test("of a channel is its own or a newer stable one; stable sees only stable", () => {
    const beta = { ...WINDOWS, channel: "beta" };
    const before = [{ version: "1.0.0" }, { version: "1.1.0-beta.1", channel: "beta" }];
    expect(selected(snapshotOf(...before), beta)).toBe("x64 1.1.0-beta.1");
    expect(selected(snapshotOf(...before), WINDOWS)).toBe("x64 1.0.0");
    expect(selected(snapshotOf(...before, { version: "1.1.0" }), beta)).toBe("x64 1.1.0");
    expect(selected(snapshotOf({ version: "1.0.0" }), beta)).toBe("x64 1.0.0");
  });

  test("of one channel is not seen by another", () => {
    const snapshot = snapshotOf({ version: "1.0.0" }, { version: "2.0.0-nightly.1", channel: "nightly" });
    expect(selected(snapshot, { ...WINDOWS, channel: "beta" })).toBe("x64 1.0.0");
  });

  test("of a kind passes over releases without that kind", () => {
    const snapshot = snapshotOf({ version: "1.0.0" }, { version: "1.1.0", artifacts: { update: elsewhere() } });
    expect(selectRelease(snapshot, WINDOWS, "installer")?.version.version).toBe("1.0.0");
    expect(selectRelease(snapshot, WINDOWS, "update")?.version.version).toBe("1.1.0");
  });

  test("does not exist for a combination that has none", () => {
    expect(selected(snapshotOf({}), { ...WINDOWS, product: "ops" })).toBeUndefined();
    expect(selected(snapshotOf({}), { ...WINDOWS, architecture: "universal" })).toBeUndefined();
  });
});

describe("falling back to another architecture", () => {
  const mac = (architecture: string, version: string) => ({ platform: "macos", architecture, version });

  test("macOS takes the universal build where there is no own one or it is newer", () => {
    expect(selected(snapshotOf(mac("universal", "1.0.0")), MACOS)).toBe("universal 1.0.0");
    expect(selected(snapshotOf(mac("universal", "1.1.0"), mac("arm64", "1.0.0")), MACOS)).toBe("universal 1.1.0");
    expect(selected(snapshotOf(mac("universal", "1.0.0"), mac("arm64", "1.0.0")), MACOS)).toBe("arm64 1.0.0");
    expect(selected(snapshotOf(mac("x64", "1.0.0")), MACOS)).toBeUndefined();
  });

  test("Windows on arm64 takes the x64 build only where there is no own one", () => {
    const arm = { ...WINDOWS, architecture: "arm64" };
    expect(selected(snapshotOf({ version: "1.1.0" }), arm)).toBe("x64 1.1.0");
    expect(selected(snapshotOf({ version: "1.1.0" }, { version: "1.0.0", architecture: "arm64" }), arm)).toBe(
      "arm64 1.0.0",
    );
    expect(selected(snapshotOf({ architecture: "arm64" }), WINDOWS)).toBeUndefined();
  });

  test("holds for a named version too", () => {
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

  test("is the named channel's own before the stable one", () => {
    const snapshot = snapshotOf({ version: "1.0.0" }, { version: "1.0.0", channel: "beta" });
    const found = (channel: string) => findVersion(snapshot, { ...WINDOWS, channel }, new SemVer("1.0.0"))?.channel;
    expect([found("stable"), found("beta")]).toEqual(["stable", "beta"]);
  });

  test("is told from another build of it", () => {
    const snapshot = snapshotOf({ version: "1.0.0+1" }, { version: "1.0.0+2" });
    const found = (version: string) => findVersion(snapshot, WINDOWS, new SemVer(version))?.version.raw;
    expect([found("1.0.0+1"), found("1.0.0+2"), found("1.0.0")]).toEqual(["1.0.0+1", "1.0.0+2", undefined]);
  });
});

describe("an update", () => {
  const judged = (change: Record<string, unknown>, current: string) => {
    const release = selectRelease(snapshotOf({ version: "2.0.0", ...change }), WINDOWS);
    const version = parse(current);
    return release && version && judgeUpdate(release, version);
  };

  test("is there for older versions only", () => {
    expect(judged({}, "1.9.9")).toEqual({ updateAvailable: true, mandatory: false });
    expect(judged({}, "2.0.0-rc.1")).toMatchObject({ updateAvailable: true });
    expect(judged({}, "2.0.0")).toEqual({ updateAvailable: false, mandatory: false });
    expect(judged({}, "2.0.0+other")).toMatchObject({ updateAvailable: false });
    expect(judged({}, "2.0.1")).toMatchObject({ updateAvailable: false });
  });

  test("goes back to an older version only where the catalog marks a rollback", () => {
    expect(judged({ rollback: true }, "2.1.0")).toEqual({ updateAvailable: true, mandatory: false });
    expect(judged({ rollback: true }, "2.0.0")).toMatchObject({ updateAvailable: false });
    expect(judged({ rollback: true, critical: true }, "2.1.0")).toMatchObject({ mandatory: true });
  });

  test("is mandatory where it is critical or the caller's version is no longer supported", () => {
    expect(judged({ critical: true }, "1.0.0")).toMatchObject({ mandatory: true });
    expect(judged({ critical: true }, "2.0.0")).toMatchObject({ mandatory: false });
    expect(judged({ minimumSupportedVersion: "1.5.0" }, "1.4.9")).toMatchObject({ mandatory: true });
    expect(judged({ minimumSupportedVersion: "1.5.0" }, "1.5.0")).toMatchObject({ mandatory: false });
  });
});
