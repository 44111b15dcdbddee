import { mkdir, mkdtemp, rename, rm, symlink, truncate, unlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { call, get } from "@/tests/support/api";
import { withContext } from "@/tests/support/context";
import { BYTES, MODIFIED, statusAndCode, WINDOWS, withFile } from "@/tests/support/releases/downloads";
import { manifestEntry } from "@/tests/support/releases/entries";
import { withCatalog } from "@/tests/support/releases/releases";

describe("rejections", () => {
  const unusable: [string, (file: string) => Promise<unknown>][] = [
    ["missing", unlink],
    ["shorter than the catalog says", (file) => truncate(file, 9)],
    [
      "overwritten by one of the same size and time",
      (file) => writeFile(file, "9876543210").then(() => utimes(file, MODIFIED, MODIFIED)),
    ],
    [
      "replaced by one of the same size and time",
      async (file) => {
        await writeFile(`${file}.new`, "9876543210");
        await utimes(`${file}.new`, MODIFIED, MODIFIED);
        await rename(`${file}.new`, file);
      },
    ],
    ["out of the file system's reach", (file) => unlink(file).then(() => symlink("setup.exe", file))],
    [
      "a folder",
      async (file) => {
        await unlink(file);
        await mkdir(file);
      },
    ],
  ];
  test.each(unusable)("a file that is %s: 503 with a logged error for each request until it is restored", (_, spoil) =>
    withFile(BYTES, async ({ file, errors }) => {
      for (const times of [1, 2]) {
        expect(await (await get(WINDOWS)).text()).toBe("0123456789");
        await spoil(file);
        const response = await get(WINDOWS);
        expect(response.headers.get("retry-after")).toBe("60");
        expect(await statusAndCode(response)).toEqual([503, "artifact_unavailable"]);
        expect((await get(WINDOWS, { headers: { range: "bytes=0-1" } })).status).toBe(503);
        expect((await call("HEAD", WINDOWS)).status).toBe(503);
        expect(errors).toHaveLength(3 * times);
        await rm(file, { recursive: true, force: true });
        await writeFile(file, BYTES);
        await utimes(file, MODIFIED, MODIFIED);
      }
    }),
  );

  test("a file that was overwritten before this process first read it", () =>
    withCatalog(async (testCatalog) => {
      const installer = await testCatalog.addFile("setup.exe", BYTES);
      await writeFile(path.join(testCatalog.folder, "setup.exe"), "9876543210");
      await testCatalog.publish(manifestEntry({ artifacts: { installer } }));
      expect(await statusAndCode(await get(WINDOWS))).toEqual([503, "artifact_unavailable"]);
      expect(testCatalog.errors).toMatchObject([
        { err: { message: expect.stringContaining("SHA-256 differs from the catalog's") } },
      ]);
    }));

  // ASVS 5.3.2
  test("a file replaced by a link out of the folder after the catalog was read", () =>
    withFile(BYTES, async ({ file, errors }) => {
      const outside = await mkdtemp(path.join(tmpdir(), "homeport-outside-"));
      await writeFile(path.join(outside, "secret"), BYTES);
      await unlink(file);
      await symlink(path.join(outside, "secret"), file);
      expect(await statusAndCode(await get(WINDOWS))).toEqual([503, "artifact_unavailable"]);
      expect(errors).toHaveLength(1);
      await rm(outside, { recursive: true });
    }));

  test.each(["beos", "constructor", "windows%2f..%2f..%2fcatalog.json"])(
    "the platform %s with 404",
    async (platform) => {
      expect(await statusAndCode(await get(`/api/download/${platform}`))).toEqual([404, "not_found"]);
    },
  );

  test.each([
    "product=nope",
    "architecture=ppc",
    "channel=nope",
    "version=latest",
    "product=../../etc",
    "product=core&product=ops",
  ])("the query %s", async (query) => {
    expect(await statusAndCode(await get(`${WINDOWS}?${query}`))).toEqual([400, "invalid_query"]);
  });

  test.each([
    "version=9.9.9",
    "version=1.2.0-beta.1&channel=stable",
    "product=ops&version=1.2.0-beta.1",
    // ASVS 2.2.3
  ])("the query %s, which matches no release", async (query) => {
    expect(await statusAndCode(await get(`${WINDOWS}?${query}`))).toEqual([404, "release_not_found"]);
  });

  test("a yanked release, even by its version, and a kind that the selected release does not have", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(manifestEntry({ version: "1.1.0", yanked: true }), manifestEntry({ version: "1.0.0" }));
      expect(await statusAndCode(await get(`${WINDOWS}?version=1.1.0`))).toEqual([404, "release_not_found"]);
      expect(await statusAndCode(await get(`${WINDOWS}?version=1.0.0&kind=update`))).toEqual([
        404,
        "release_not_found",
      ]);
    }));

  test("everything while there is no catalog", () =>
    withCatalog(async ({ catalog }) =>
      withContext({ catalog: { ...catalog, current: () => null } }, async () => {
        expect(await statusAndCode(await get(WINDOWS))).toEqual([503, "catalog_unavailable"]);
      }),
    ));
});
