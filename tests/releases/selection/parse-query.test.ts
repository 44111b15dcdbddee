import { describe, expect, test } from "vitest";
import { isAppError } from "@/lib/errors";
import type { Snapshot } from "@/lib/releases/catalog/snapshot";
import { parsePlatform } from "@/lib/releases/platforms";
import { isReleaseQuery, parseReleaseSelector } from "@/lib/releases/selection/parse-query";
import { snapshotOf } from "@/tests/support/releases/releases";
import { selected } from "@/tests/support/releases/selection";

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
    ["win", "x86-64", "windows", "x64"],
    ["Win64", "amd64", "windows", "x64"],
    ["MacOSX", "universal2", "macos", "universal"],
    ["linux64", "aarch64", "linux", "arm64"],
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
