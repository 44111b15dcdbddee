import { describe, expect, test } from "vitest";
import { isAppError } from "@/lib/errors";
import {
  fileTypeOf,
  parseBundleType,
  parseFileType,
  selectByBundleType,
  selectByFileType,
} from "@/lib/releases/selection/file-types";
import { selectPrimaryArtifact } from "@/lib/releases/selection/select-release";
import { remoteArtifact, snapshotOf } from "@/tests/support/releases/entries";

test.each([
  ["App-1.0.AppImage", "appimage"],
  ["app_1.0_amd64.deb", "deb"],
  ["app.RPM", "rpm"],
  ["app.pacman", "pacman"],
  ["app-1.0-x86_64.pkg.tar.zst", "pacman"],
  ["app.tar.gz", "tar"],
  ["app.tgz", "tar"],
  ["Setup.exe", "exe"],
  ["app.msi", "msi"],
  ["app.msix", "msix"],
  ["app.msixbundle", "msix"],
  ["app.appx", "msix"],
  ["app.appxbundle", "msix"],
  ["App.dmg", "dmg"],
  ["App.pkg", "pkg"],
  ["App.mpkg", "pkg"],
  ["App.zip", "zip"],
  ["App.AppImage.tar.gz", null], // an update of Tauri
  ["app.pkg.tgz", null],
  ["app.exe.blockmap", null],
  ["app.tar.gz.sig", null],
  ["debian", null],
  ["app-exe", null],
])("%s is a file of the type %s", (fileName, type) => expect(fileTypeOf({ fileName })).toBe(type));

/** The names of the files of a release of these types, which are its installer, its update and another one. */
function filesOf(platform: string, [installer, update, other]: [string?, string?, string?]) {
  const file = (fileName?: string) =>
    fileName && remoteArtifact({ fileName, url: `https://cdn.example.com/${fileName}` });
  const artifacts = { installer: file(installer), update: file(update), others: other ? [file(other)] : [] };
  return snapshotOf({ platform, architecture: "x64", artifacts }).releases[0];
}

describe("of a release's files", () => {
  test("a client gets one of the type, whatever else it is", () => {
    const release = filesOf("linux", ["app.deb", "App.AppImage", "app.rpm"]);
    const nameOf = (type: string) =>
      release && selectByFileType(selectPrimaryArtifact, parseFileType(type))(release)?.fileName;
    expect(["deb", "appimage", "RPM", "tar"].map(nameOf)).toEqual(["app.deb", "App.AppImage", "app.rpm", undefined]);
  });

  test.each([
    ["linux", "appimage", "App.AppImage", "app.deb"],
    ["linux", "appimage", "App.AppImage.tar.gz", "app.tar.gz"],
    ["linux", "deb", "app.deb", "App.AppImage"],
    ["linux", "rpm", "app.rpm", "app.deb"],
    ["linux", "pacman", "app.pacman", "app.tar.zst"],
    ["windows", "nsis", "setup.exe", "app.msi"],
    ["windows", "nsis", "setup.exe.zip", "app.zip"],
    ["windows", "nsis", "setup.nsis.zip", "app.msi.zip"],
    ["windows", "msi", "app.msi", "setup.exe"],
    ["windows", "msi", "app.msi.zip", "app.nsis.zip"],
  ])("an app for %s of the bundle type %s is updated by %s, not by %s", (platform, type, own, other) => {
    const select = selectByBundleType(selectPrimaryArtifact, parseBundleType(type));
    const [release, without] = [filesOf(platform, [other, undefined, own]), filesOf(platform, [other])];
    expect(release && select(release)?.fileName).toBe(own);
    expect(without && select(without)).toBeUndefined();
  });

  test("any updates an app of macOS, and one of an unknown type except on Linux", () => {
    const nameOf = (type: string, platform: string) => {
      const release = filesOf(platform, ["App.any"]);
      return release && selectByBundleType(selectPrimaryArtifact, parseBundleType(type))(release)?.fileName;
    };
    expect(nameOf("app", "macos")).toBe("App.any");
    expect(["macos", "windows", "linux"].map((one) => nameOf("unknown", one))).toEqual([
      "App.any",
      "App.any",
      undefined,
    ]);
  });
});

test("a selector of a type is the same every time, since caches are keyed by it", () => {
  const deb = () => selectByFileType(selectPrimaryArtifact, "deb");
  expect(deb()).toBe(deb());
  expect(deb()).not.toBe(selectByFileType(selectPrimaryArtifact, "rpm"));
  expect(deb()).not.toBe(selectByBundleType(selectPrimaryArtifact, "deb"));
  expect(deb()).not.toBe(selectByFileType((release) => selectPrimaryArtifact(release), "deb"));
  const unknown = () => selectByBundleType(selectPrimaryArtifact, "unknown");
  expect(unknown()).toBe(unknown());
});

test("an unknown type is refused with those that there are", () => {
  const refusal = (parse: () => unknown) => {
    try {
      return parse();
    } catch (error) {
      return isAppError(error) && { code: error.code, ...error.extras.fields };
    }
  };
  const format = ["appimage", "deb", "rpm", "pacman", "tar", "exe", "msi", "msix", "dmg", "pkg", "zip"];
  expect(refusal(() => parseFileType("sh"))).toEqual({ code: "invalid_query", allowed: { format } });
  const bundleType = ["appimage", "deb", "rpm", "pacman", "nsis", "msi", "app", "unknown"];
  expect(refusal(() => parseBundleType("dmg"))).toEqual({ code: "invalid_query", allowed: { bundleType } });
  expect(parseBundleType("Unknown")).toBe("unknown");
});
