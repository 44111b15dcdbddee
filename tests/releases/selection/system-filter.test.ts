import { SemVer } from "semver";
import { describe, expect, test } from "vitest";
import { ANY_SYSTEM, systemFilter, systemOfUserAgent } from "@/lib/releases/selection/system-filter";
import { snapshotOf } from "@/tests/support/releases/entries";
import { MACOS, WINDOWS } from "@/tests/support/releases/selection";

const mac = (version: string, minimumSystemVersion: string | null) => ({
  platform: "macos",
  architecture: "universal",
  version,
  minimumSystemVersion,
});
const SNAPSHOT = snapshotOf(
  mac("1.0.0", null),
  mac("2.0.0", "12.3"),
  mac("3.0.0", "14.0"),
  { version: "4.0.0", minimumSystemVersion: "10.0.22000" }, // of Windows
);

type Input = Omit<Parameters<typeof systemFilter>[2], "comparesSystemVersion"> & { compares?: boolean };
const filter = ({ compares = false, ...input }: Input) =>
  systemFilter(SNAPSHOT, MACOS, { ...input, comparesSystemVersion: () => compares });
/** The releases for macOS that a client can get. */
const supported = (input: Input) =>
  SNAPSHOT.releases
    .filter((release) => release.platform === "macos" && filter(input).supports(release))
    .map(({ version }) => version.major);

describe("a client gets releases that run on its system:", () => {
  test.each<[string, Input, number[]]>([
    ["those whose minimum it meets", { systemVersion: "12.3" }, [1, 2]],
    ["also a newer one", { systemVersion: "12.10" }, [1, 2]],
    ["those without a minimum on an older one", { systemVersion: "12.2.9" }, [1]],
    ["all of them on the newest", { systemVersion: "26.1" }, [1, 2, 3]],
    ["its own system's even if the updater compares", { systemVersion: "11.0", compares: true }, [1]],
    ["all of them, if the updater compares and nothing is known", { compares: true }, [1, 2, 3]],
    ["those without a minimum, if nothing is known", {}, [1]],
    ["what the installed release needs", { current: new SemVer("2.0.0") }, [1, 2]],
    ["nothing newer than an installed release without a minimum", { current: new SemVer("1.0.0") }, [1]],
    ["nothing for an unknown installed version", { current: new SemVer("9.0.0") }, [1]],
    ["what the User-Agent names", { atLeast: "13.1" }, [1, 2]],
    ["the newer of both", { atLeast: "14.2", current: new SemVer("2.0.0") }, [1, 2, 3]],
    ["the newer of both, the other way round", { atLeast: "11", current: new SemVer("2.0.0") }, [1, 2]],
    [
      "what the User-Agent names beside a release without a minimum",
      { atLeast: "13", current: new SemVer("1.0.0") },
      [1, 2],
    ],
  ])("%s", (_, input, majors) => expect(supported(input)).toEqual(majors));

  test("on another platform by that platform's minimums", () => {
    const input = { systemVersion: "10.0.22631", comparesSystemVersion: () => false };
    expect(
      SNAPSHOT.releases.filter(systemFilter(SNAPSHOT, WINDOWS, input).supports).map(({ version }) => version.major),
    )
      // a version of Windows is below macOS's minimums
      .toEqual([1, 4]);
  });

  test("or all of them, where the system does not matter", () => {
    expect(SNAPSHOT.releases.filter(ANY_SYSTEM.supports)).toHaveLength(4);
  });
});

test("clients between the same two minimums share what is cached, others do not", () => {
  const keys = (...inputs: Input[]) => new Set(inputs.map((input) => filter(input).key)).size;
  expect(keys({ systemVersion: "12.3" }, { systemVersion: "13.9" })).toBe(1);
  expect(keys({ atLeast: "12.3" }, { current: new SemVer("2.0.0") })).toBe(1);
  expect(keys({ systemVersion: "12.3" }, { systemVersion: "12.2" }, { systemVersion: "14.0" })).toBe(3);
  expect(keys({ systemVersion: "12.3" }, { atLeast: "12.3" }, {})).toBe(3);
  expect(filter({}).key).not.toBe(ANY_SYSTEM.key);
});

test.each([
  ["App/1 CFNetwork/1494.0.7 Darwin/23.4.0", "14"],
  ["App/1 Darwin/20.0.0", "11"],
  ["App/1 Darwin/24.6.0", "15"],
  ["App/1 Darwin/25.0.0", "26"],
  ["App/1 Darwin/26.1.0", "27"],
  ["App/1 Darwin/19.6.0", "10.15"],
  ["App/1 Darwin/9.8.0", "10.5"],
  ["App/1 Darwin/5.5", "10.1"],
  ["App/1 Darwin/4.1", undefined],
  ["App/1 Darwin/2000", undefined],
  ["App/1 myDarwin/23", undefined],
  ["App/1 Darwin/x", undefined],
  ["Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)", undefined],
  [null, undefined],
])("the User-Agent %s names macOS %s", (userAgent, version) => expect(systemOfUserAgent(userAgent)).toBe(version));
