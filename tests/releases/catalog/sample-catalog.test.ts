import { createHash } from "node:crypto";
import { cp, mkdir, readFile, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { Release } from "@/lib/releases/schema";
import { newFolder, openForTest } from "@/tests/support/releases/catalogs";

describe("the sample catalog", () => {
  const manifestOf = async (dataDir: string) => {
    const text = await readFile(path.join(dataDir, "releases", "catalog.json"), "utf8");
    return (JSON.parse(text) as { releases: unknown[] }).releases.map((release) => Release.parse(release));
  };

  test("is written at the first start, with correct sizes and hashes", async () => {
    const DATA_DIR = await newFolder();
    const catalog = await openForTest({ DATA_DIR });
    expect(catalog.state()).toBe("ok");
    const releases = await manifestOf(DATA_DIR);
    expect(releases).toHaveLength(10);
    for (const { artifacts } of releases) {
      const { file, sizeBytes, sha256, sha512 } = Release.shape.artifacts.parse(artifacts).installer ?? {};
      const bytes = await readFile(path.join(DATA_DIR, "releases", file ?? ""));
      expect([sizeBytes, sha256, sha512]).toEqual([
        bytes.byteLength,
        createHash("sha256").update(bytes).digest("hex"),
        createHash("sha512").update(bytes).digest("base64"),
      ]);
      if (file?.endsWith(".exe")) expect(bytes.subarray(0, 2).toString()).toBe("MZ");
      else expect(gunzipSync(bytes).subarray(257, 262).toString()).toBe("ustar");
    }
  });

  test("is completed at the next start if writing it was interrupted", async () => {
    const [whole, killed] = [await newFolder(), await newFolder()];
    await openForTest({ DATA_DIR: whole });
    const [first] = await manifestOf(whole);
    const file = first?.artifacts.installer?.file ?? "";
    await mkdir(path.join(killed, "releases"));
    await cp(path.join(whole, "releases", file), path.join(killed, "releases", file));
    await truncate(path.join(killed, "releases", file), 1000);
    await cp(path.join(killed, "releases", file), path.join(killed, "releases", `${file}.tmp`));
    await writeFile(path.join(killed, "releases", "catalog.json.tmp"), "{");
    const catalog = await openForTest({ DATA_DIR: killed });
    expect(catalog.state()).toBe("ok");
    expect(await manifestOf(killed)).toEqual(await manifestOf(whole));
    expect(await readFile(path.join(killed, "releases", file))).toEqual(
      await readFile(path.join(whole, "releases", file)),
    );
  });

  test("never replaces an existing catalog, not even an invalid one", async () => {
    const DATA_DIR = await newFolder();
    await mkdir(path.join(DATA_DIR, "releases"));
    await writeFile(path.join(DATA_DIR, "releases", "catalog.json"), "mine");
    expect((await openForTest({ DATA_DIR })).state()).toBe("error");
    expect(await readFile(path.join(DATA_DIR, "releases", "catalog.json"), "utf8")).toBe("mine");
  });

  // ASVS 15.2.3
  test("is not written in server mode or if RELEASE_CATALOG names another catalog", async () => {
    const DATA_DIR = await newFolder();
    expect((await openForTest({ DATA_DIR, mode: "server" })).state()).toBe("warn");
    expect((await openForTest({ DATA_DIR, RELEASE_CATALOG: path.join(DATA_DIR, "mine.json") })).state()).toBe("error");
    expect((await openForTest({ DATA_DIR })).state()).toBe("ok");
  });
});
