import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCommand, startCommand } from "@/tests/support/process/command";
import { preparedDataDir, startForTest } from "@/tests/support/process/service";
import { hasObjectStorage, startObjectStorage } from "@/tests/support/releases/object-storage";

const POLL = { timeout: 20_000, interval: 50 };
/** Several starts of the service and of the command, on a machine that may be busy. */
const SLOW = { timeout: 180_000 };
const CORE = ["--product", "core", "--platform", "windows", "--arch", "x64"];
const QUERY = "/api/version?platform=windows&product=core&architecture=x64";

/** Runs `npm run release`. */
const runRelease = (args: string[], env: Record<string, string>) => runCommand("release", args, env);

/** A folder with a build in it. */
async function newFolder(bytes = randomBytes(200_000)) {
  const DATA_DIR = await preparedDataDir();
  const file = path.join(DATA_DIR, "setup.exe");
  await writeFile(file, bytes);
  return { DATA_DIR, file, manifest: path.join(DATA_DIR, "releases", "catalog.json") };
}

describe("npm run release", () => {
  test("prints its help, and exits with 0, 1 or 2", async () => {
    const { DATA_DIR, file } = await newFolder();
    const help = await runRelease(["--help"], {});
    expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining("add <file>"), stderr: "" });
    const run = (...args: string[]) => runRelease(args, { DATA_DIR });
    expect(await run("publish")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("unknown command 'publish'"),
    });
    expect(await run("add", file, ...CORE)).toMatchObject({ code: 2, stderr: expect.stringContaining("--version") });
    expect(await run("list", "--jason")).toMatchObject({ code: 2, stderr: expect.stringContaining("--jason") });
    expect(await run("rollout", "id", "many")).toMatchObject({ code: 2, stderr: expect.stringContaining("0 to 100") });
    expect(await run("yank", "nope")).toMatchObject({ code: 1, stderr: expect.stringContaining("id nope") });
    expect(await run("list")).toMatchObject({ code: 0, stdout: "", stderr: "No releases found.\n" });
  });

  test("reads notes from a file or an argument, and rejects the name of a missing file", SLOW, async () => {
    const { DATA_DIR, file } = await newFolder();
    const add = (notes: string) =>
      runRelease(["add", file, ...CORE, "--version", "1.0.0", "--notes", notes], { DATA_DIR });
    const typed = await add("notse/1.0.0.md");
    expect(typed).toMatchObject({ code: 2, stderr: expect.stringContaining("file notse/1.0.0.md does not exist") });
    expect(await add("")).toMatchObject({ code: 0, stderr: "" });
    expect(await add(`See CHANGES.md ${"and more ".repeat(100)}`)).toMatchObject({ code: 0, stderr: "" });
  });

  test(
    "changes the releases that a running service offers: published, staged, yanked and rolled back",
    SLOW,
    async () => {
      const { DATA_DIR, file } = await newFolder();
      const service = await startForTest({ DATA_DIR });
      const run = async (...args: string[]) => {
        const { code, stderr, stdout } = await runRelease(args, { DATA_DIR });
        expect([code, stderr]).toEqual([0, ""]);
        return stdout;
      };
      const offered = async (current: string, clientId = "") => {
        const response = await service.fetch(`${QUERY}&current=${current}${clientId && `&clientId=${clientId}`}`);
        const { version, updateAvailable } = (await response.json()) as { version: string; updateAvailable: boolean };
        return updateAvailable ? version : "none";
      };
      const args = ["add", file, ...CORE, "--version", "2.0.0", "--kind", "installer", "--kind", "update"];
      expect(await run(...args)).toContain("Removed the 10 sample releases");
      await expect.poll(() => offered("1.0.0"), POLL).toBe("2.0.0");
      const download = await service.fetch("/api/download/windows?version=2.0.0");
      expect(Buffer.from(await download.arrayBuffer()).equals(await readFile(file))).toBe(true);

      await run("add", file, ...CORE, "--version", "2.1.0", "--rollout", "0");
      await run("rollout", "core-windows-x64-2.1.0", "100");
      await expect.poll(() => offered("2.0.0"), POLL).toBe("2.1.0");
      await run("rollout", "core-windows-x64-2.1.0", "0");
      await expect.poll(() => offered("2.0.0", "ann"), POLL).toBe("none");
      await run("yank", "--product", "core", "--version", "2.1.0");
      await run("rollback", "core-windows-x64-2.0.0");
      await expect.poll(() => offered("2.1.0"), POLL).toBe("2.0.0");
      expect((await service.fetch("/api/download/windows?version=2.1.0")).status).toBe(404);
    },
  );

  test("names the newer releases that block a rollback, and undoes flags", SLOW, async () => {
    const { DATA_DIR, file } = await newFolder();
    const run = async (...args: string[]) => (await runRelease(args, { DATA_DIR })).stdout;
    await run("add", file, ...CORE, "--version", "1.0.0");
    await run("add", file, ...CORE, "--version", "1.1.0", "--critical");
    await run("add", file, ...CORE, "--version", "1.2.0", "--rollout", "0");
    const output = await run("rollback", "core-windows-x64-1.0.0");
    expect(output).toMatch(/core-windows-x64-1\.1\.0 is newer and still served/);
    expect(output).not.toContain("1.2.0");
    expect(await run("critical", "core-windows-x64-1.1.0", "--undo")).toBe(
      "core-windows-x64-1.1.0: no longer critical\n",
    );
    expect(await run("list")).not.toContain("critical");
    await run("yank", "core-windows-x64-1.1.0");
    expect(await run("rollback", "core-windows-x64-1.0.0")).not.toContain("newer and still");
  });

  test("leaves a valid catalog when killed, and succeeds when repeated", SLOW, async () => {
    const { DATA_DIR, file, manifest } = await newFolder();
    await runRelease(["add", file, ...CORE, "--version", "1.0.0"], { DATA_DIR });
    const before = await readFile(manifest, "utf8");
    const large = path.join(DATA_DIR, "large.msi");
    await writeFile(large, "");
    await truncate(large, 1024 ** 3);
    const isCopying = async () => (await readdir(path.dirname(manifest))).some((name) => name.endsWith(".part"));
    const args = ["add", large, ...CORE, "--version", "1.1.0"];
    const { child, ended } = startCommand("release", args, { DATA_DIR });
    await expect.poll(isCopying, { ...POLL, timeout: 60_000 }).toBe(true);
    child.kill("SIGKILL");
    expect((await ended).code).toBeNull();
    expect(await readFile(manifest, "utf8")).toBe(before);
    expect(await runRelease(["verify"], { DATA_DIR })).toMatchObject({ code: 0, stdout: "1 valid, 0 invalid\n" });
    await truncate(large, 1_000);
    expect(await runRelease(args, { DATA_DIR })).toMatchObject({
      code: 0,
      stdout: "Published core-windows-x64-1.1.0\n",
    });
  });

  test("loses nothing when run concurrently", async () => {
    const { DATA_DIR, file } = await newFolder();
    const versions = ["1.0.0", "1.1.0", "1.2.0", "1.3.0"];
    const all = versions.map((version) => runRelease(["add", file, ...CORE, "--version", version], { DATA_DIR }));
    expect((await Promise.all(all)).map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    const { stdout } = await runRelease(["list", "--json"], { DATA_DIR });
    expect((JSON.parse(stdout) as { version: string }[]).map(({ version }) => version)).toEqual(versions.toReversed());
  });

  test("rejects a catalog at a URL, and changes the file selected by --catalog", async () => {
    const { DATA_DIR, file } = await newFolder();
    const env = { DATA_DIR, RELEASE_CATALOG: "https://cdn.example.com/catalog.json" };
    const args = ["add", file, ...CORE, "--version", "1.0.0", "--url", "https://cdn.example.com/setup.exe"];
    expect(await runRelease(args, env)).toMatchObject({ code: 2, stderr: expect.stringContaining("--catalog") });
    await mkdir(path.join(DATA_DIR, "site"));
    const catalog = path.join(DATA_DIR, "site", "catalog.json");
    expect(await runRelease([...args, "--catalog", catalog], env)).toMatchObject({ code: 0 });
    expect((await stat(catalog)).size).toBeGreaterThan(0);
  });
});

// Debian's python3-swift; .ci/run installs it.
describe.runIf(hasObjectStorage)("npm run release with an object storage", () => {
  test("uploads the file that the service then redirects to, and verifies it there", SLOW, async () => {
    const bytes = randomBytes(5_000_000);
    const { DATA_DIR, file } = await newFolder(bytes);
    const storage = await startObjectStorage();
    onTestFinished(storage.close);
    const env = { DATA_DIR, ...storage.env };
    const args = ["add", file, ...CORE, "--version", "3.0.0", "--s3"];
    const wrong = await runRelease(args, { ...env, RELEASE_S3_SECRET_ACCESS_KEY: "another" });
    expect(wrong).toMatchObject({ code: 1, stderr: "The storage returned status 403: SignatureDoesNotMatch\n" });
    expect(await runRelease(args, env)).toMatchObject({ code: 0, stderr: "" });
    const verified = await runRelease(["verify", "--remote"], env);
    expect(verified).toMatchObject({ code: 0, stdout: "2 valid, 0 invalid\n" }); // the file and its block map

    const service = await startForTest(env);
    const download = await service.fetch("/api/download/windows?version=3.0.0");
    expect(Buffer.from(await download.arrayBuffer()).equals(bytes)).toBe(true);
    expect(download.headers.get("content-disposition")).toBe("attachment; filename=setup.exe");
    expect(service.output()).not.toContain(storage.env.RELEASE_S3_SECRET_ACCESS_KEY);
    const plain = await startForTest({
      DATA_DIR: path.join(DATA_DIR, "other"),
      RELEASE_CATALOG: path.join(DATA_DIR, "releases", "catalog.json"),
    });
    expect((await plain.fetch("/api/download/windows?version=3.0.0")).status).toBe(404);
    // The log is buffered.
    await expect.poll(() => plain.output().match(/artifacts left out of the catalog/g)).toHaveLength(1);
  });
});
