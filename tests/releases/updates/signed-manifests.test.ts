import { createHash, randomBytes, randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { parseUpdateInfo } from "electron-updater/out/providers/Provider.js";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { openCatalog } from "@/lib/releases/catalog/catalog";
import { draftFolder, type FolderOptions } from "@/lib/releases/publishing/folder/draft-folder";
import { Release } from "@/lib/releases/schema";
import { rolloutBucket } from "@/lib/releases/selection/select-release";
import { updateManifestProblem } from "@/lib/releases/update-manifest";
import { withheldUpdaters } from "@/lib/releases/updates/signed-manifests";
import { get } from "@/tests/support/api";
import { BASE_URL, ctx, withContext } from "@/tests/support/context";
import { provideElectron } from "@/tests/support/electron/runtime";
import { stockApp } from "@/tests/support/releases/electron";
import { manifestEntry } from "@/tests/support/releases/entries";
import { expectNoRelease } from "@/tests/support/releases/feeds";
import {
  expectRejected,
  newFolder,
  promoteReleases,
  publishAll,
  releasesOf,
  type TestFolder,
  updateReleases,
} from "@/tests/support/releases/publishing";
import { toolOutput, writeElectronUpdate } from "@/tests/support/releases/tools/output";
import {
  ebum1,
  type Info,
  type ManifestKey,
  manifestError,
  newManifestKey,
  signManifest,
  signUpdateFile,
} from "@/tests/support/releases/update-manifest";
import { STABLE } from "@/tests/support/releases/updates";
import { serveRoutes } from "@/tests/support/server";

provideElectron();

const key = newManifestKey();
const [NOT_SIGNED, INVALID] = ["ERR_UPDATER_MANIFEST_NOT_SIGNED", "ERR_UPDATER_MANIFEST_SIGNATURE_INVALID"];

type Build = Partial<FolderOptions> & {
  /** None: electron-builder before version 27. */
  keys?: readonly ManifestKey[];
  updateFile?: string;
  names?: (version: string) => string[];
  more?: object;
  contents?: Record<string, Buffer>;
};

const WINDOWS = (version: string) => [`Acme-Setup-${version}-x64.exe`, `Acme-Setup-${version}-arm64.exe`];
const manifest = { manifest: [key.publicKey] };

/** Publishes what electron-builder has built, by default for Windows on x64 and arm64. Returns the text of the manifest. */
async function publish(catalog: TestFolder, version: string, build: Build = {}): Promise<string> {
  const { keys = [key], updateFile = "latest.yml", names = WINDOWS, more, contents, ...options } = build;
  const output = toolOutput(path.join(catalog.folder, randomBytes(6).toString("hex")));
  const notes = { releaseNotes: `Notes ${version}`, ...more };
  await writeElectronUpdate(output, updateFile, version, names(version), notes, contents);
  if (keys.length > 0) await signUpdateFile(output.folder, updateFile, keys);
  const folder = { product: "core", hints: {}, fields: {}, publicKeys: manifest, ...options };
  const { drafts } = await draftFolder(output.folder, folder);
  await publishAll(catalog, drafts);
  return readFile(path.join(output.folder, updateFile), "utf8");
}

/** Serves a catalog, as after a restart. Returns the messages of logged errors. */
async function serve<T>({ manifest }: TestFolder, run: () => Promise<T>): Promise<{ result: T; errors: string[] }> {
  const errors: string[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void errors.push(JSON.parse(line).problem) });
  const catalog = await openCatalog({ ...ctx().config, RELEASE_CATALOG: manifest }, log);
  try {
    return { result: await withContext({ catalog, log }, run), errors };
  } finally {
    catalog.close();
  }
}

/** The updaters from which each release is withheld. */
async function withheld() {
  const snapshot = ctx().catalog.current();
  return snapshot?.releases.map((release) => withheldUpdaters(snapshot, release));
}

/** The text of a feed, and what electron-updater makes of it with the keys that it trusts. */
async function check(name = "latest.yml", trusted: readonly ManifestKey[] = [key], id?: string, base = STABLE) {
  const response = await get(`${base}/${name}`, { headers: id === undefined ? {} : { "x-user-staging-id": id } });
  const text = await response.text();
  if (response.status !== 200) return { text, version: null, error: response.status };
  const info = parseUpdateInfo(text, name, new URL(BASE_URL)) as unknown as Info;
  return { text, version: info.version, error: manifestError(info, trusted) };
}

/** Every file that a feed names, as electron-updater requests it. */
async function expectFiles(text: string, base = STABLE): Promise<void> {
  for (const { url, sha512 } of parseUpdateInfo(text, "latest.yml", new URL(BASE_URL)).files) {
    const response = await get(new URL(url, `${BASE_URL}${base}/`).pathname);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(createHash("sha512").update(bytes).digest("base64")).toBe(sha512);
  }
}

/** Ids of clients inside and outside of a rollout to 10 percent. */
const clientsOf = (releaseId: string) => {
  const ids = Array.from({ length: 200 }, (_, i) => `client-${i}`);
  const isIn = (id: string) => rolloutBucket(releaseId, id) < 10;
  return { inside: ids.find(isIn), outside: ids.find((id) => !isIn(id)) };
};

test("a signed manifest is kept byte for byte, and its files are found below the feed's URL", async () => {
  const catalog = await newFolder();
  const names = (version: string) => [`Acme Setup ${version}.exe`, `Acme-Setup-${version}-arm64.exe`];
  const text = await publish(catalog, "1.0.0", { names, more: { releaseNotes: "ünïcode: # \u2028 'x'\r\n- y" } });
  await serve(catalog, async () => {
    expect(await check()).toEqual({ text, version: "1.0.0", error: null });
    expect((await check("latest.yml", [])).text).toBe(text); // an app without the key
    expect((await check("latest.yml", [newManifestKey()])).error).toBe(INVALID);
    await expectFiles(text);
    const map = await get(`${STABLE}/Acme%20Setup%201.0.0.exe.blockmap`);
    expect(map.status).toBe(404); // below 512 KiB
  });
});

test("a file has the name that the manifest gives it", async () => {
  const catalog = await newFolder();
  const output = toolOutput(path.join(catalog.folder, "dist"));
  await writeElectronUpdate(output, "latest.yml", "1.0.0", ["Acme Setup 1.0.0.exe"]);
  const file = path.join(output.folder, "latest.yml");
  await writeFile(file, (await readFile(file, "utf8")).replaceAll("Acme Setup 1.0.0", "Acme-Setup-1.0.0")); // as for GitHub
  const text = await signUpdateFile(output.folder, "latest.yml", [key]);
  await publishAll(catalog, (await draftFolder(output.folder, { product: "core", hints: {}, fields: {} })).drafts);
  await serve(catalog, async () => {
    expect((await check()).text).toBe(text);
    await expectFiles(text);
  });
});

test("an update, a rollout, a pause, a yank and a rollback choose among the signed manifests", async () => {
  const catalog = await newFolder();
  const old = await publish(catalog, "1.0.0");
  const text = await publish(catalog, "1.1.0", { fields: { rollout: 10, rolloutSeries: "s" } });
  const newest = { product: "core", version: "1.1.0" };
  const { inside, outside } = clientsOf("s");
  const expectFeeds = (...expected: string[]) =>
    serve(catalog, async () => {
      const feeds = [
        await check("latest.yml", [key], inside),
        await check("latest.yml", [key], outside),
        await check(),
      ];
      expect(feeds.map((feed) => feed.text)).toEqual(expected);
      expect(feeds.map((feed) => feed.error)).toEqual([null, null, null]);
    });
  await expectFeeds(text, old, old);
  await updateReleases(catalog.manifest, newest, { rollout: 100 });
  await expectFeeds(text, text, text);
  await updateReleases(catalog.manifest, newest, { rollout: 0 });
  await expectFeeds(old, old, old);
  await updateReleases(catalog.manifest, newest, { yanked: true });
  await expectFeeds(old, old, old);
  const withdrawn = () => check("latest.yml?current=1.1.0");
  // Without a rollback, a client keeps what it has: the manifest of its version, though it is withdrawn.
  expect((await serve(catalog, withdrawn)).result).toEqual({ text, version: "1.1.0", error: null });
  await updateReleases(catalog.manifest, { product: "core", version: "1.0.0" }, { rollback: true });
  expect((await serve(catalog, withdrawn)).result).toEqual({ text: old, version: "1.0.0", error: null });
  // Nothing is signed for a version that the catalog does not have.
  const unknown = await serve(catalog, () => check("latest.yml?current=2.0.0"));
  expect(unknown.result).toMatchObject({ version: "2.0.0", error: NOT_SIGNED });
});

describe("a manifest that names several builds offers all of them or none", () => {
  test.each([
    ["is yanked", { yanked: true }, [false, false]],
    ["is paused", { rollout: 0 }, [false, false]],
    ["has a lower rollout", { rollout: 10, rolloutSeries: "s" }, [true, false]],
    ["needs a newer system than the manifest says", { minimumSystemVersion: "10.0.22000" }, [false, false]],
  ])("one of which %s", async (_, change, [isInside, isOutside]) => {
    const catalog = await newFolder();
    const old = await publish(catalog, "1.0.0");
    const text = await publish(catalog, "1.1.0", { fields: { rolloutSeries: "s" } });
    await updateReleases(catalog.manifest, { product: "core", version: "1.1.0", architecture: "arm64" }, change);
    const { inside, outside } = clientsOf("s");
    await serve(catalog, async () => {
      expect((await check("latest.yml", [key], inside)).text).toBe(isInside ? text : old);
      expect((await check("latest.yml", [key], outside)).text).toBe(isOutside ? text : old);
    });
  });

  test("and a client that names its system gets one whose minimum was raised", async () => {
    const catalog = await newFolder();
    const old = await publish(catalog, "1.0.0");
    const text = await publish(catalog, "1.1.0", { more: { minimumSystemVersion: "10.0.17763" } });
    await serve(catalog, async () => expect((await check()).text).toBe(text)); // the client compares
    await updateReleases(
      catalog.manifest,
      { product: "core", version: "1.1.0" },
      { minimumSystemVersion: "10.0.22000" },
    );
    await serve(catalog, async () => {
      expect((await check()).text).toBe(old);
      expect((await check("latest.yml?systemVersion=10.0.19045")).text).toBe(old);
      expect((await check("latest.yml?systemVersion=10.0.22631")).text).toBe(text);
    });
  });

  test("of manifests that were signed apart, the widest one with the first build's files counts", async () => {
    const catalog = await newFolder();
    const one = (arch: string) => (version: string) => [`Acme-${version}-${arch}-mac.zip`];
    const updateFile = "latest-mac.yml";
    const x64 = await publish(catalog, "1.0.0", { updateFile, names: one("x64") });
    const arm64 = await publish(catalog, "1.0.0", { updateFile, names: one("arm64") });
    await serve(catalog, async () => {
      expect((await check(updateFile)).text).toBe(x64);
      expect((await check("latest-arm64-mac.yml")).text).toBe(arm64);
    });
  });
});

test("a channel's manifest is found by its URL and by its name, and comes along when it is promoted", async () => {
  const catalog = await newFolder();
  const stable = await publish(catalog, "1.0.0");
  const text = await publish(catalog, "1.1.0-beta.1", { updateFile: "beta.yml" });
  const next = await publish(catalog, "1.1.0", { channel: "beta" });
  await updateReleases(catalog.manifest, { product: "core", version: "1.1.0" }, { rollout: 0 });
  await serve(catalog, async () => {
    expect((await check("beta.yml")).text).toBe(text);
    expect((await check("latest.yml", [key], undefined, "/api/updates/core/beta")).text).toBe(text);
    await expectFiles(text);
    await expectFiles(text, "/api/updates/core/beta");
    expect((await check()).text).toBe(stable);
  });
  const promote = (filter: object) =>
    promoteReleases(catalog.manifest, { product: "core", version: "1.1.0", ...filter }, { from: "beta", to: "stable" });
  await expect(promote({ architecture: "x64" })).rejects.toThrow("arm64");
  await promote({});
  await serve(catalog, async () => expect((await check()).text).toBe(next));
});

test("two keys sign during a rotation, and apps accept either", async () => {
  const catalog = await newFolder();
  const next = newManifestKey();
  await publish(catalog, "1.0.0");
  const keys = { manifest: [next.publicKey, key.publicKey] };
  const bridge = { keys: [key, next], publicKeys: keys };
  await expectRejected(catalog, () => publish(catalog, "1.1.0", bridge), { code: "confirmation_required" });
  await publish(catalog, "1.1.0", { ...bridge, confirmations: { isNew: true } });
  await serve(catalog, async () => {
    for (const trusted of [[key], [next], [key, next]]) {
      expect(await check("latest.yml", trusted)).toMatchObject({ version: "1.1.0", error: null });
    }
  });
  // The order of the keys does not matter, and who signs with one of them is told.
  const output = toolOutput(path.join(catalog.folder, "last"));
  await writeElectronUpdate(output, "latest.yml", "1.2.0", WINDOWS("1.2.0"));
  await signUpdateFile(output.folder, "latest.yml", [next]);
  const publicKeys = { manifest: [`${key.publicKey}\n${next.publicKey}`] };
  const { drafts } = await draftFolder(output.folder, { product: "core", hints: {}, fields: {}, publicKeys });
  expect((await publishAll(catalog, drafts)).notes).toEqual([expect.stringContaining("refuse it")]);
  await serve(catalog, async () => {
    expect(await check("latest.yml", [next])).toMatchObject({ version: "1.2.0", error: null });
    expect(await check("latest.yml", [key])).toMatchObject({ version: "1.2.0", error: INVALID });
  });
});

describe("electron-updater", () => {
  type Inside = { app: { userDataPath: string }; getUpdateInfoAndProvider: () => Promise<{ info: Info }> };

  /** An installed app that verifies manifests with these keys, as version 7 does and version 6 does not. */
  async function installed(version: string, trusted: readonly ManifestKey[], id: string = randomUUID()) {
    const { updater } = await stockApp("nsis", version, `${await serveRoutes()}${STABLE}`);
    const inside = updater as unknown as Inside;
    await writeFile(path.join(inside.app.userDataPath, ".updaterId"), id);
    const getUpdateInfo = inside.getUpdateInfoAndProvider.bind(updater);
    inside.getUpdateInfoAndProvider = async () => {
      const found = await getUpdateInfo();
      const code = manifestError(found.info, trusted);
      if (code !== null) throw Object.assign(new Error(code), { code });
      return found;
    };
    return updater;
  }

  /** The version that an app finds, null for none, or the code of its error. */
  async function findUpdate(...app: Parameters<typeof installed>): Promise<string | null> {
    const updater = await installed(...app);
    updater.on("error", () => {});
    const code = (error: { code: string }) => error.code;
    const found = await updater.checkForUpdates().catch(code);
    if (typeof found === "string") return found;
    return found?.isUpdateAvailable ? found.updateInfo.version : null;
  }

  test("updates, with or without the key, and installs what was signed", async () => {
    const catalog = await newFolder();
    await publish(catalog, "1.0.0");
    await publish(catalog, "1.1.0");
    await serve(catalog, async () => {
      for (const trusted of [[key], []]) {
        const updater = await installed("1.0.0", trusted);
        expect((await updater.checkForUpdates())?.updateInfo.version).toBe("1.1.0");
        const [file = ""] = await updater.downloadUpdate();
        expect(path.basename(file)).toBe("Acme-Setup-1.1.0-x64.exe");
        const release = (await releasesOf(catalog)).find(({ id }) => id === "core-windows-x64-1.1.0");
        const sha256 = createHash("sha256")
          .update(await readFile(file))
          .digest("hex");
        expect(sha256).toBe(release?.artifacts.update?.sha256);
      }
      expect(await findUpdate("1.0.0", [newManifestKey()])).toBe(INVALID);
    });
  });

  test("follows a rollout, a pause, a yank and a step back, and never gets what its keys have not signed", async () => {
    const catalog = await newFolder();
    await publish(catalog, "1.0.0");
    await publish(catalog, "1.1.0", { fields: { rollout: 10, rolloutSeries: "s" } });
    const ids = Array.from({ length: 300 }, () => randomUUID());
    const inside = ids.find((id) => rolloutBucket("s", id) < 10);
    const outside = ids.find((id) => rolloutBucket("s", id) >= 10);
    const newest = { product: "core", version: "1.1.0" };
    const expectUpdates = (...expected: unknown[]) =>
      serve(catalog, async () => {
        const found = [await findUpdate("1.0.0", [key], inside), await findUpdate("1.0.0", [key], outside)];
        expect([...found, await findUpdate("1.1.0", [key])]).toEqual(expected);
      });
    await expectUpdates("1.1.0", null, null);
    await updateReleases(catalog.manifest, newest, { rollout: 0 });
    await expectUpdates(null, null, null);
    await updateReleases(catalog.manifest, newest, { rollout: 100 });
    await expectUpdates("1.1.0", "1.1.0", null);
    await updateReleases(catalog.manifest, newest, { yanked: true });
    await expectUpdates(null, null, null);
    await serve(catalog, async () => {
      const updater = await installed("1.1.0", [key]);
      updater.allowDowngrade = true;
      expect(await updater.checkForUpdates()).toMatchObject({
        isUpdateAvailable: true,
        updateInfo: { version: "1.0.0" },
      });
    });
    await publish(catalog, "1.2.0", { keys: [], confirmations: { isUnsigned: true } });
    await serve(catalog, async () => {
      expect([await findUpdate("1.1.0", [key]), await findUpdate("1.1.0", [])]).toEqual([NOT_SIGNED, "1.2.0"]);
    });
  });

  test("downloads only what has changed, by the block maps of both versions below the feed's URL", async () => {
    const catalog = await newFolder();
    const content = randomBytes(600 * 1024);
    const names = (version: string) => [`Acme-Setup-${version}.exe`];
    for (const version of ["1.0.0", "1.1.0"]) {
      content.write(version);
      await publish(catalog, version, { names, contents: { [`Acme-Setup-${version}.exe`]: content } });
    }
    await serve(catalog, async () => {
      const updater = await installed("1.0.0", [key]);
      const messages: string[] = [];
      const note = (message?: string) => void messages.push(String(message));
      updater.logger = { info: note, warn: note, error: note };
      await updater.checkForUpdates();
      await updater.downloadUpdate();
      for (const version of ["1.0.0", "1.1.0"]) {
        expect(messages.join()).toContain(`/Acme-Setup-${version}.exe.blockmap`);
        expect((await get(`${STABLE}/Acme-Setup-${version}.exe.blockmap`)).status).toBe(200);
      }
    });
  });
});

describe("publishing refuses", () => {
  const stranger = newManifestKey();
  test.each<[string, Build, string]>([
    ["an unsigned manifest after a signed one", { keys: [] }, "--unsigned"],
    ["a manifest of another key", { keys: [stranger] }, "does not match"],
    ["a staging percentage", { more: { stagingPercentage: 10 } }, "stagingPercentage of 10"],
    [
      "a private key",
      { publicKeys: { manifest: ["-----BEGIN PRIVATE KEY-----\nMC4CAQ==\n-----END PRIVATE KEY-----"] } },
      "public key",
    ],
    ["a name that another version has", { names: () => WINDOWS("1.0.0") }, "not the name of one file"],
    ["files elsewhere", { names: (version) => [`https://cdn.example.com/Acme-${version}.exe`] }, "missing"],
  ])("%s", async (_, build, reason) => {
    const catalog = await newFolder();
    await publish(catalog, "1.0.0");
    await expectRejected(catalog, () => publish(catalog, "1.1.0", build), reason);
  });

  test("an unsigned manifest, unless the step back is confirmed; a build without electron-updater's files is none", async () => {
    const catalog = await newFolder();
    await publish(catalog, "1.0.0");
    const mac = { keys: [], updateFile: "latest-mac.yml", names: (version: string) => [`Acme-${version}-mac.zip`] };
    await publish(catalog, "1.1.0", mac); // whose apps have never seen a signed one
    await publish(catalog, "1.1.0", { keys: [], confirmations: { isUnsigned: true } });
    await publish(catalog, "1.2.0", { keys: [] }); // the newest is unsigned now
    await serve(catalog, async () => expect(await check()).toMatchObject({ version: "1.2.0", error: NOT_SIGNED }));
  });

  test("nothing without a key, but says that nothing was verified", async () => {
    const catalog = await newFolder();
    await publish(catalog, "1.0.0", { publicKeys: {} });
    await serve(catalog, async () => expect((await check()).error).toBeNull());
    const output = toolOutput(path.join(catalog.folder, "next"));
    await writeElectronUpdate(output, "latest.yml", "1.1.0", WINDOWS("1.1.0"));
    await signUpdateFile(output.folder, "latest.yml", [key]);
    const { drafts } = await draftFolder(output.folder, { product: "core", hints: {}, fields: {} });
    expect((await publishAll(catalog, drafts)).notes).toEqual([expect.stringContaining("--manifest-key")]);
  });
});

describe("the format EBUM1", () => {
  const sha512 = randomBytes(64).toString("base64");
  const INFO: Info = {
    version: "1.0.0",
    files: [
      { url: "Acme b.exe", sha512, size: 8_123_456 },
      { url: "Acme a.exe", sha512, size: 1 },
    ],
    path: "Acme b.exe",
    sha512,
    releaseDate: "2026-11-20T12:00:00.000Z",
    minimumSystemVersion: "10.0.19041",
    packages: {
      x64: { path: "a.7z", sha512, size: 5000, blockMapSize: 120, isAdminRightsRequired: true },
      ia32: { path: "b.7z", sha512, size: 4000 },
    },
  };
  const problemOf = (text: string, sha256 = createHash("sha256").update(text).digest("hex")) =>
    updateManifestProblem({ text, sha256 }, Release.parse(manifestEntry()), { manifest: [spki(key)] });
  const spki = ({ publicKey }: ManifestKey) => publicKey.replaceAll(/-----.*-----|\s/g, "");

  test("signs these bytes", () => {
    const lines = [
      "EBUM1",
      'version:"1.0.0"',
      "staging:",
      'minimumSystemVersion:"10.0.19041"',
      `file:"Acme a.exe"\t"${sha512}"\t1`,
      `file:"Acme b.exe"\t"${sha512}"\t8123456`,
      `package:"ia32"\t"b.7z"\t"${sha512}"\t4000\t\t`,
      `package:"x64"\t"a.7z"\t"${sha512}"\t5000\t120\t1`,
    ];
    expect(ebum1(INFO).toString()).toBe(lines.join("\n"));
    const signature = key.sign(Buffer.from(lines.join("\n")));
    expect(problemOf(JSON.stringify({ ...INFO, signature }))).toBeUndefined();
    const unquoted = key.sign(Buffer.from(lines.join("\n").replaceAll('"', "")));
    expect(problemOf(JSON.stringify({ ...INFO, signature: unquoted }))).toContain("does not match");
  });

  test("refuses every flipped byte, or reads what was signed", () => {
    const text = signManifest(INFO, [key]);
    const bytes = Buffer.from(text);
    const sha256 = createHash("sha256").update(text).digest("hex");
    expect(problemOf(text)).toBeUndefined();
    let accepted = 0;
    for (let i = 0; i < bytes.length; i++) {
      const flipped = Buffer.from(bytes);
      flipped[i] = (flipped[i] ?? 0) ^ 1;
      const damaged = flipped.toString();
      expect(problemOf(damaged, sha256)).toBeDefined();
      if (problemOf(damaged) !== undefined) continue;
      accepted += 1;
      const info = parseUpdateInfo(damaged, "latest.yml", new URL(BASE_URL)) as unknown as Info;
      expect([ebum1(info).toString(), manifestError(info, [key])]).toEqual([ebum1(INFO).toString(), null]);
    }
    expect(accepted).toBeGreaterThan(0); // of releaseDate
    expect(accepted).toBeLessThan(bytes.length / 2);
  });

  test.each<[string, object, string]>([
    ["no files", { files: [] }, "files"],
    ["a size that is text", { files: [{ url: "a", sha512, size: "1" }] }, "files.0.size"],
    ["a line break in a name", { files: [{ url: "a\nfile:b", sha512 }] }, "files.0.url"],
    ["a version that is a number", { version: 1 }, "version"],
    ["packages in a list", { packages: [] }, "packages"],
    ["a control character in a package's name", { packages: { "x\u007f": { path: "a", sha512 } } }, "packages"],
    ["another version", { version: "1.0.1" }, "1.0.1"],
  ])("refuses %s, signed or not", (_, change, reason) => {
    expect(problemOf(signManifest({ ...INFO, ...change } as Info, [key]))).toContain(reason);
  });

  test.each([
    ["nested lists", "[".repeat(100_000)],
    [
      "aliases that grow",
      `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefgh".replaceAll(/./g, (c) => `${c}: &${c} [${`*${String.fromCharCode(c.charCodeAt(0) - 1)},`.repeat(9)}]\n`)}`,
    ],
    ["two documents", `${signManifest({ ...INFO }, [key])}---\na: 1\n`],
    ["a key that is there twice", `${signManifest({ ...INFO }, [key])}version: 1.0.0\n`],
    ["nothing", " "],
    ["no signature", signManifest({ ...INFO }, [])],
  ])("refuses %s", (_, text) => {
    expect(problemOf(text)).toBeDefined();
  });
});

test("after a restart with a damaged file, the release is not offered, and never with another document", async () => {
  const catalog = await newFolder();
  const old = await publish(catalog, "1.0.0");
  const text = await publish(catalog, "1.1.0");
  const file = await readFile(catalog.manifest, "utf8");
  const serialized = JSON.stringify(text).slice(1, -1);
  const at = file.indexOf(serialized);
  for (let i = 0; i < serialized.length; i += 17) {
    const flipped = String.fromCharCode(serialized.charCodeAt(i) ^ 1);
    await writeFile(catalog.manifest, file.slice(0, at + i) + flipped + file.slice(at + i + 1));
    const { result, errors } = await serve(catalog, () => check());
    if (result.error === 503) continue; // the catalog is not JSON
    expect(result).toEqual({ text: old, version: "1.0.0", error: null });
    expect(errors).toEqual([expect.stringContaining("changed")]);
    if (i > 0) continue;
    const api = await serve(catalog, () =>
      get("/api/version?platform=windows&product=core&architecture=x64&format=electron"),
    );
    expect(await api.result.text()).toContain("1.0.0");
  }
});

test("the only release of a product is not offered rather than with a manifest that nobody signed", async () => {
  const catalog = await newFolder();
  await publish(catalog, "1.0.0");
  const entry = JSON.parse(await readFile(catalog.manifest, "utf8"));
  for (const release of entry.releases) release.signedDocuments.electron.text += "# added\n";
  await writeFile(catalog.manifest, JSON.stringify(entry));
  await serve(catalog, async () => expectNoRelease(await get(`${STABLE}/latest.yml`)));
  expect((await serve(catalog, withheld)).result).toEqual([["electron"], ["electron"]]);
});
