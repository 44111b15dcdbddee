import { createHash, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setVelopackLogger, UpdateManager } from "velopack";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addReleases } from "@/lib/releases/publishing/add";
import { newFolder } from "@/tests/support/guide";
import { anyDatabase, type Service, startService } from "@/tests/support/process/service";

const PACKAGE = "com.acme.app-1.1.0-linux-full.nupkg";

let fixture: { folder: string; service: Service };

beforeAll(async () => {
  setVelopackLogger(() => {});
  const folder = await mkdtemp(path.join(tmpdir(), "homeport-velopack-"));
  const manifestFile = path.join(folder, "releases", "catalog.json");
  await writeFile(path.join(folder, PACKAGE), randomBytes(300_000));
  const release = { product: "core", platform: "linux", architecture: "x64", version: "1.1.0", notes: "# Faster" };
  const files = [{ file: path.join(folder, PACKAGE), kinds: ["update"] as const }];
  await addReleases({ manifestFile, storage: null, now: () => new Date() }, [{ release, files }]);
  fixture = { folder, service: await startService({ RELEASE_CATALOG: manifestFile, ...(await anyDatabase()) }) };
});

afterAll(async () => {
  await fixture.service.end("SIGKILL");
  await rm(fixture.folder, { recursive: true, force: true });
});

/** Velopack's updater in an installed app of this version, as `vpk pack` describes it. */
async function installedApp(version: string) {
  const folder = await newFolder();
  const packages = path.join(folder, "packages");
  await mkdir(packages);
  const manifest = path.join(folder, "sq.version");
  const update = path.join(folder, "UpdateNix");
  await writeFile(update, "");
  await writeFile(
    manifest,
    `<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://schemas.microsoft.com/packaging/2010/07/nuspec.xsd"><metadata>
<id>com.acme.app</id><title>Acme</title><description>Acme</description><authors>Acme</authors>
<version>${version}</version><channel>linux</channel><mainExe>acme</mainExe><os>linux</os><rid>linux-x64</rid>
</metadata></package>`,
  );
  const updater = new UpdateManager(`${fixture.service.url}/api/updates/core/stable`, undefined, {
    RootAppDir: folder,
    UpdateExePath: update,
    PackagesDir: packages,
    ManifestPath: manifest,
    CurrentBinaryDir: folder,
    IsPortable: true,
  });
  return { updater, packages };
}

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

describe("Velopack's UpdateManager, with the base URL and no code", () => {
  test("finds the newest package, downloads it and verifies it", async () => {
    const { updater, packages } = await installedApp("1.0.0");
    const found = await updater.checkForUpdatesAsync();
    expect(found).toMatchObject({
      TargetFullRelease: { PackageId: "com.acme.app", Version: "1.1.0", FileName: PACKAGE, NotesMarkdown: "# Faster" },
      IsDowngrade: false,
    });
    if (found) await updater.downloadUpdateAsync(found);
    const downloaded = await readFile(path.join(packages, PACKAGE));
    expect(sha256(downloaded)).toBe(sha256(await readFile(path.join(fixture.folder, PACKAGE))));
  });
});
