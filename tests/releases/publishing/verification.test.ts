import { randomBytes } from "node:crypto";
import { mkdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { startOrigin } from "@/tests/support/releases/origin";
import {
  build,
  newFolder,
  publish,
  releasesOf,
  type TestFolder,
  updateReleases,
  verify,
} from "@/tests/support/releases/publishing";
import { manifestText } from "@/tests/support/releases/releases";

describe("verification", () => {
  test("finds files that are missing, truncated, changed or linked outside the folder", async () => {
    const testFolder = await newFolder();
    const all = ["whole", "missing", "cut", "longer", "changed", "linked"];
    for (const [i, name] of all.entries())
      await publish(testFolder, await build(testFolder, `${name}.exe`), `1.0.${i}`);
    const files = Object.fromEntries(
      (await releasesOf(testFolder)).map(({ artifacts: { installer } }) => [
        path.parse(installer?.fileName ?? "").name,
        path.join(path.dirname(testFolder.manifest), installer?.file ?? ""),
      ]),
    );
    const at = (name: string) => String(files[name]);
    await rm(at("missing"));
    await truncate(at("cut"), 999);
    await writeFile(at("longer"), randomBytes(1001));
    await writeFile(at("changed"), randomBytes(1000));
    await rm(at("linked"));
    await symlink(path.join(testFolder.folder, "linked.exe"), at("linked"));
    expect((await verify(testFolder)).map(({ problem }) => problem)).toEqual([
      null,
      expect.stringContaining("ENOENT"),
      "the file differs from the catalog in sizeBytes, sha256, sha512",
      "the file is longer than the catalog says",
      "the file differs from the catalog in sha256, sha512",
      expect.stringContaining("symbolic link"),
    ]);
  });

  test("reads a file of two kinds once, and skips yanked releases", async () => {
    const testFolder = await newFolder();
    await publish(testFolder, await build(testFolder, "a.exe"), "1.0.0", { kinds: ["installer", "update"] });
    await publish(testFolder, await build(testFolder, "b.exe"), "1.1.0");
    await updateReleases(testFolder.manifest, { product: "core", version: "1.1.0" }, { yanked: true });
    expect(await verify(testFolder)).toMatchObject([{ kinds: ["installer", "update"], problem: null }]);
  });

  test("downloads from URLs only with --remote, and aborts stalled transfers", async () => {
    const testFolder = await newFolder();
    const bytes = randomBytes(100_000);
    const origin = await startOrigin((request, response) => {
      if (request.url === "/good") response.end(bytes);
      if (request.url === "/gone") response.writeHead(404).end();
      if (request.url === "/endless") for (let i = 0; i < 10; i++) response.write(bytes);
      if (request.url === "/stalls") response.write(bytes.subarray(0, 10));
    });
    const file = await build(testFolder, "setup.exe", bytes);
    const publishAt = async (testFolder: TestFolder, names: string[]) => {
      for (const [i, name] of names.entries()) {
        await publish(testFolder, file, `1.0.${i}`, { destination: { kind: "url", url: `${origin.url}/${name}` } });
      }
    };
    await publishAt(testFolder, ["good", "gone", "endless"]);
    expect(await verify(testFolder)).toEqual([]);
    expect((await verify(testFolder, true)).map(({ problem }) => problem)).toEqual([
      null,
      "the response status is 404",
      "the file is longer than the catalog says",
    ]);
    const silent = await newFolder();
    await publishAt(silent, ["stalls", "hangs"]);
    expect((await verify(silent, true, 200)).map(({ problem }) => problem)).toEqual([
      expect.stringContaining("no bytes arrived"),
      expect.stringContaining("no bytes arrived"),
    ]);
  });

  test("reports objects that cannot be verified without object storage", async () => {
    const testFolder = await newFolder();
    await mkdir(path.dirname(testFolder.manifest));
    const installer = remoteArtifact({ url: undefined, s3Key: "core/setup.exe" });
    await writeFile(testFolder.manifest, manifestText([manifestEntry({ artifacts: { installer } })]));
    expect(await verify(testFolder, true)).toMatchObject([{ problem: expect.stringContaining("RELEASE_S3_") }]);
  });
});
