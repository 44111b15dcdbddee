import { readFileSync } from "node:fs";
import semver from "semver";
import { describe, expect, test } from "vitest";

type Package = { engines?: { node?: string }; hasInstallScript?: boolean; optional?: boolean; version?: string };
type Manifest = { engines: { node: string }; allowScripts: Record<string, boolean> };

const { engines, allowScripts } = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;
const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as { packages: Record<string, Package> };
/** What npm installs on every platform. It warns of each that it does not know what to do with. */
const installed = Object.entries(packages).filter(([, { optional }]) => !optional);
const nameOf = (folder: string) => folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);

describe("npm ci prints no warning", () => {
  test("each install script is allowed or denied, and none runs", () => {
    const withScript = installed
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([folder]) => nameOf(folder));
    expect(Object.keys(allowScripts).sort()).toEqual(withScript.sort());
    expect(Object.values(allowScripts)).not.toContain(true);
  });

  test("each package supports the oldest Node.js that the README names", () => {
    const oldest = semver.minVersion(engines.node)?.version ?? "";
    const unsupported = installed.filter(([, { engines: own }]) => own?.node && !semver.satisfies(oldest, own.node));
    expect(unsupported.map(([folder, { engines: own }]) => [folder, own?.node])).toEqual([]);
  });
});
