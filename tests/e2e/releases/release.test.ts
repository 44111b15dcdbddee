import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";
import { hasObjectStorage, startObjectStorage } from "@/tests/support/network/object-storage";
import { runCommand, startCommand } from "@/tests/support/process/command";
import { anyDatabase, newDataDir, startForTest } from "@/tests/support/process/service";
import { build, newFolder, publish, verify } from "@/tests/support/releases/publishing";

const POLL = { timeout: 20_000, interval: 20 };
const CORE = ["--product", "core", "--platform", "windows", "--arch", "x64"];
const QUERY = "/api/version?platform=windows&product=core&architecture=x64";

const runRelease = (args: string[], env: Record<string, string>) => runCommand("homeport", ["release", ...args], env);

/** A data folder with a build in it, which the commands publish without the service. */
async function newBuild(bytes = randomBytes(200_000)) {
  const DATA_DIR = await newDataDir();
  const file = path.join(DATA_DIR, "setup.exe");
  await writeFile(file, bytes);
  return { DATA_DIR, file, manifest: path.join(DATA_DIR, "releases", "catalog.json") };
}

describe("homeport release", () => {
  test("leaves a valid catalog when killed, and succeeds when repeated", async () => {
    const testFolder = await newFolder();
    const { folder: DATA_DIR, manifest } = testFolder;
    await publish(testFolder, await build(testFolder, "setup.exe"), "1.0.0");
    const before = await readFile(manifest, "utf8");
    const large = await build(testFolder, "large.msi");
    await truncate(large, 256 * 1024 ** 2);
    // The upload: the folder of the catalog has the file for moments only, by a hard link.
    const isCopying = async () =>
      (await readdir(path.dirname(manifest), { recursive: true })).some((name) => name.endsWith(".part"));
    const args = ["add", large, ...CORE, "--version", "1.1.0"];
    const { child, ended } = startCommand("homeport", ["release", ...args], { DATA_DIR });
    await expect.poll(isCopying, { ...POLL, timeout: 60_000 }).toBe(true);
    child.kill("SIGKILL");
    expect((await ended).code).toBeNull();
    expect(await readFile(manifest, "utf8")).toBe(before);
    expect(await verify(testFolder)).toMatchObject([{ problem: null }]);
    await truncate(large, 1_000);
    expect(await runRelease(args, { DATA_DIR })).toMatchObject({
      code: 0,
      stdout: "Published core-windows-x64-1.1.0\n",
    });
  });

  test("loses nothing when run concurrently", async () => {
    const { DATA_DIR, file } = await newBuild();
    const versions = ["1.0.0", "1.1.0", "1.2.0"];
    const all = versions.map((version) => runRelease(["add", file, ...CORE, "--version", version], { DATA_DIR }));
    expect((await Promise.all(all)).map(({ code }) => code)).toEqual([0, 0, 0]);
    const { stdout } = await runRelease(["list", "--json"], { DATA_DIR });
    expect((JSON.parse(stdout) as { version: string }[]).map(({ version }) => version)).toEqual(versions.toReversed());
  });
});

// Debian's python3-swift; .ci/run installs it.
describe.runIf(hasObjectStorage)("homeport release with an object storage", () => {
  test("uploads the file that the service then redirects to, and verifies it there", async () => {
    const bytes = randomBytes(1_000_000);
    const { DATA_DIR, file } = await newBuild(bytes);
    const storage = await startObjectStorage();
    onTestFinished(storage.close);
    const env = { DATA_DIR, ...storage.env };
    const added = await runRelease(["add", file, ...CORE, "--version", "3.0.0", "--s3"], env);
    expect(added).toMatchObject({ code: 0, stderr: "" });
    expect(await runRelease(["verify", "--remote"], env)).toMatchObject({ code: 0, stdout: "2 valid, 0 invalid\n" }); // the file and its block map

    const service = await startForTest({ ...env, ...(await anyDatabase()) });
    const download = await service.fetch("/api/download/windows?version=3.0.0");
    expect(Buffer.from(await download.arrayBuffer()).equals(bytes)).toBe(true);
    expect(download.headers.get("content-disposition")).toBe("attachment; filename=setup.exe");
    expect(service.output()).not.toContain(storage.env.RELEASE_S3_SECRET_ACCESS_KEY);
  });
});
