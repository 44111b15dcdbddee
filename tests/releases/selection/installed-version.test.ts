import { describe, expect, test } from "vitest";
import { formatVersion } from "@/lib/releases/schema";
import {
  compareWithInstalled,
  installedByBuild,
  parseInstalledVersion,
} from "@/lib/releases/selection/installed-version";
import { snapshotOf } from "@/tests/support/releases/entries";
import { MACOS } from "@/tests/support/releases/selection";

describe("a version that a client names", () => {
  test.each([
    ["1.2.3", "1.2.3"],
    [" 1.2.3\n", "1.2.3"],
    ["v1.2.3", "1.2.3"],
    ["V1.2.3-beta.1", "1.2.3-beta.1"],
    ["1.2.3-rc.1+7", "1.2.3-rc.1+7"],
    ["1.2.3-V.1", "1.2.3-V.1"],
    ["1.2.3 7", "1.2.3+7"], // an unescaped plus sign
    ["1.2.3 7 8", null],
    ["140", "140.0.0"],
    ["v140", "140.0.0"],
    ["1.4", "1.4.0"],
    ["01.04.002", "1.4.2"],
    ["0.0.0", "0.0.0"],
    ["00.10.100", "0.10.100"],
    ["1.4.2.7", "1.4.2+7"],
    ["1.4.2.007", "1.4.2+7"],
    ["1.4.2.7.9", null],
    ["1.4.", null],
    ["x1.4", null],
    ["1.4x", null],
    ["latest", null],
    ["", null],
  ])("%j is %s", (text, version) => {
    const parsed = parseInstalledVersion(text);
    expect(parsed && formatVersion(parsed.version)).toBe(version);
  });

  test("has Windows' four numbers only if it has four", () => {
    expect(parseInstalledVersion("v10.04.2.7")?.numbers).toBe("10.04.2.7");
    for (const text of ["1.4.2", "1.4.2+7", "1.4.2 7"]) expect(parseInstalledVersion(text)?.numbers).toBeNull();
  });
});

describe("a release is newer than the installed version", () => {
  test.each([
    ["1.2.0", null, "1.1.9", 1],
    ["1.2.0", null, "1.2.0", 0],
    ["1.2.0-beta.2", null, "1.2.0", -1],
    // by the build number, if both have one
    ["1.2.0+7", null, "1.2.0+10", -3],
    ["1.2.0+7", null, "1.2.0.6", 1],
    ["1.2.0+7", null, "1.2.0", 0],
    ["1.2.0", null, "1.2.0+7", 0],
    ["1.2.0+7.1", null, "1.2.0+6", 0],
    ["1.2.0+7a", null, "1.2.0+6", 0],
    ["1.2.0+a7", null, "1.2.0+6", 0],
    // by Windows' four numbers, if the release has a build version
    ["1.2.0", "1.2.0.8", "1.2.0.7", 1],
    ["9.0.0", "1.2.0.7", "1.2.0.7", 0],
    ["1.2.0", "1.2.0.8", "1.2.0", 0],
  ])("%s with the build version %s and %s: %i", (version, buildVersion, installed, order) => {
    const [release] = snapshotOf({ version, buildVersion }).releases;
    const client = parseInstalledVersion(installed);
    expect(release && client && compareWithInstalled(release, client)).toBe(order);
  });
});

test("an app with Sparkle says its build version, which means the release with the highest one up to it", () => {
  const mac = (version: string, buildVersion: string | null) => ({
    platform: "macos",
    architecture: "universal",
    version,
    buildVersion,
  });
  const snapshot = snapshotOf(
    mac("1.0.0", "100"),
    mac("1.1.0", "120"),
    mac("2.0.0", "1.1"),
    mac("0.5.0", null),
    mac("1.2.0", "3"),
    mac("3.0.0", "1000"),
  );
  const installed = (text?: string) => {
    const found = installedByBuild(snapshot, MACOS, text);
    return found && [formatVersion(found.version), found.numbers];
  };
  expect(installed("100")).toEqual(["1.0.0", null]);
  expect(installed("119")).toEqual(["1.0.0", null]);
  expect(installed("120")).toEqual(["1.1.0", null]);
  expect(installed("999")).toEqual(["1.1.0", null]);
  expect(installed("9000")).toEqual(["3.0.0", null]);
  expect(installed("3")).toEqual(["1.2.0", null]); // not version 3.0.0
  expect(installed("1.1")).toEqual(["1.1.0", null]); // the version of a release, with dots
  expect(installed("1.0.0.0")).toEqual(["1.0.0+0", "1.0.0.0"]);
  expect(installed("1.10")).toEqual(["2.0.0", null]);
  expect(installed("2.1.0-beta.1")).toEqual(["2.1.0-beta.1", null]);
  expect(installed("1")).toEqual(["1.0.0", null]); // below all of them
  expect(installed("0.9.1")).toEqual(["0.9.1", null]);
  expect(installed("v120")).toEqual(["120.0.0", null]);
  expect(installed("120-beta")).toBeNull();
  expect(installed("1.1.0-beta.1")).toEqual(["1.1.0-beta.1", null]);
  expect(installed()).toBeNull();
});

test("a version with dots that is in no catalog is not compared with build versions without", () => {
  const mac = (version: string, buildVersion: string) => ({
    platform: "macos",
    architecture: "universal",
    version,
    buildVersion,
  });
  const snapshot = snapshotOf(mac("3.4.0", "1"), mac("3.6.0", "2"), mac("4.0.0", "3"));
  const installed = installedByBuild(snapshot, MACOS, "3.5.0");
  expect(installed && formatVersion(installed.version)).toBe("3.5.0");
});
