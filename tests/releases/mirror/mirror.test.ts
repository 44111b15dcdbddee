import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { Readable } from "node:stream";
import { expect, onTestFinished, test, vi } from "vitest";
import { LOOPBACK_NETWORKS } from "@/lib/platform/outbound";
import { createReleaseMirror, feedObject, type ReleaseMirror } from "@/lib/releases/mirror/mirror";
import { openMirrorStore } from "@/lib/releases/mirror/store";
import { ctx } from "@/tests/support/context";
import { listenForTest } from "@/tests/support/network/listen";
import { newFolder } from "@/tests/support/releases/catalogs";
import { type EntryFields, manifestEntry } from "@/tests/support/releases/entries";
import { MINISIGN } from "@/tests/support/releases/feeds";

import { manifestText, type TestCatalog, withCatalog } from "@/tests/support/releases/releases";

const BASE = "https://mirror.example.com";

type Mirror = ReleaseMirror & {
  folder: string;
  /** What is on the mirror, below the product core. */
  paths: () => Promise<string[]>;
  read: (path: string) => Promise<string>;
  /** Writes until nothing is left to do. */
  settle: () => Promise<void>;
};

async function openMirror(folder?: string): Promise<Mirror> {
  const root = folder ?? (await newFolder());
  const config = { ...ctx().config, RELEASE_MIRROR: root, RELEASE_MIRROR_URL: BASE };
  const mirror = createReleaseMirror({ ...ctx(), config, allowed: LOOPBACK_NETWORKS });
  if (!mirror) throw new Error("There is no mirror");
  onTestFinished(mirror.close);
  const core = path.join(root, "api/updates/core");
  return {
    ...mirror,
    folder: root,
    paths: async () => {
      const entries = await readdir(core, { recursive: true, withFileTypes: true }).catch(() => []);
      const files = entries.filter((entry) => entry.isFile());
      return files.map((file) => path.relative(core, path.join(file.parentPath, file.name))).sort();
    },
    read: (file) => readFile(path.join(core, file), "utf8"),
    settle: () =>
      vi.waitFor(
        async () => {
          await mirror.sync();
          const row = await stateOf(root);
          expect(row).toMatchObject({ pendingFiles: 0, error: null });
          expect(row?.currentAt).not.toBeNull();
        },
        { timeout: 20_000 },
      ),
  };
}

const stateOf = (location: string) => ctx().db.releaseMirror.findUnique({ where: { location } });

/** A release of a Windows app that electron-updater and Tauri update. */
async function release({ addFile }: TestCatalog, version: string, change: EntryFields = {}) {
  const name = `Acme Setup ${version}.exe`;
  const update = await addFile(name, randomBytes(1_000), { minisign: MINISIGN });
  return manifestEntry({ id: `core-${version}`, version, artifacts: { update }, ...change });
}

test("has what updaters request, with the mirror's URLs, and nothing of a rollout under way or a yanked release", () =>
  withCatalog(async (catalog) => {
    const mirror = await openMirror();
    const old = await release(catalog, "1.0.0");
    const others = [
      await release(catalog, "1.1.0", { rollout: 50 }),
      await release(catalog, "1.2.0", { yanked: true }),
    ];
    await catalog.publish(old, ...others);
    await mirror.settle();
    const installed = ["1.2.0", "1.1.0", "1.0.0"].flatMap((version) => [
      `windows/aarch64/${version}`,
      `windows/x86_64/${version}`,
    ]);
    const feeds = ["latest-x64.yml", "latest.json", "latest.yml", "stable-x64.yml", "stable.yml", ...installed];
    const files = ["1.0.0/windows-x64/Acme Setup 1.0.0.exe", "latest/windows-x64.exe"];
    expect(await mirror.paths()).toEqual([...feeds, ...files].map((name) => `stable/${name}`).sort());
    expect(await mirror.read("stable/latest.yml")).toContain('- url: "1.0.0/windows-x64/Acme%20Setup%201.0.0.exe"');
    const tauri = JSON.parse(await mirror.read("stable/windows/x86_64/1.0.0"));
    const url = `${BASE}/api/updates/core/stable/1.0.0/windows-x64/Acme%20Setup%201.0.0.exe`;
    const platforms = { "windows-x86_64": { url }, "windows-x86_64-nsis": { url } };
    expect(tauri).toMatchObject({ version: "1.0.0", url, signature: MINISIGN, platforms });
    expect(JSON.parse(await mirror.read("stable/windows/x86_64/1.2.0"))).toMatchObject({ version: "1.2.0", url });
  }));

test("offers a version when all of its files are there, and removes one that is yanked at once", () =>
  withCatalog(async (catalog) => {
    const mirror = await openMirror();
    const [old, next] = [await release(catalog, "1.0.0"), await release(catalog, "1.1.0")];
    await catalog.publish(old);
    await mirror.settle();
    const missing = path.join(catalog.folder, "Acme Setup 1.1.0.exe");
    await rename(missing, `${missing}.gone`);
    await catalog.publish(old, next);
    await vi.waitFor(
      async () => {
        await mirror.sync();
        expect(await stateOf(mirror.folder)).toMatchObject({
          pendingFiles: 1,
          error: expect.stringContaining("ENOENT"),
        });
      },
      { timeout: 20_000 },
    );
    expect(await mirror.read("stable/latest.yml")).toContain("1.0.0");
    await rename(`${missing}.gone`, missing);
    await mirror.settle();
    expect(await mirror.read("stable/latest.yml")).toContain("1.1.0");
    expect(await mirror.read("stable/latest/windows-x64.exe")).toBe(await readFile(missing, "utf8"));
    await catalog.publish(old, { ...next, yanked: true });
    await mirror.sync();
    expect(await mirror.read("stable/latest.yml")).toContain("1.0.0");
    expect((await mirror.paths()).filter((file) => /1\.1\.0\.exe/.test(file))).toEqual([]);
    // The link is missing until it is of the older version.
    const linked = await mirror.read("stable/latest/windows-x64.exe").catch(() => "");
    expect(linked).not.toBe(await readFile(missing, "utf8"));
    await mirror.settle();
    expect(await mirror.read("stable/latest/windows-x64.exe")).toBe(
      await readFile(path.join(catalog.folder, "Acme Setup 1.0.0.exe"), "utf8"),
    );
  }));

test("never copies a file that differs from the published one", () =>
  withCatalog(async (catalog) => {
    const mirror = await openMirror();
    await catalog.publish(await release(catalog, "1.0.0"));
    await writeFile(path.join(catalog.folder, "Acme Setup 1.0.0.exe"), randomBytes(1_000));
    await vi.waitFor(async () => {
      await mirror.sync();
      expect((await stateOf(mirror.folder))?.error).toMatch(/Setup 1\.0\.0\.exe: The file differs/);
    });
    expect(await mirror.paths()).toEqual([]);
  }));

test("catches up after an outage, in which it never wrote a half, and mends what others have changed", () =>
  withCatalog(async (catalog) => {
    const mirror = await openMirror();
    const [old, next] = [await release(catalog, "1.0.0"), await release(catalog, "1.1.0")];
    await catalog.publish(old);
    await mirror.settle();
    const api = path.join(mirror.folder, "api");
    await rename(api, `${api}.away`);
    await writeFile(api, "");
    await catalog.publish(old, next);
    await vi.waitFor(async () => {
      await mirror.sync();
      expect((await stateOf(mirror.folder))?.error).toMatch(/ENOTDIR|EEXIST/);
    });
    await rm(api);
    await rename(`${api}.away`, api);
    await mirror.settle();
    expect(await mirror.read("stable/latest.yml")).toContain("1.1.0");
  }));

test("a process that starts copies nothing that is there, and another one takes over only when the first has ended", () =>
  withCatalog(async (catalog) => {
    const first = await openMirror();
    await catalog.publish(await release(catalog, "1.0.0"));
    await first.settle();
    const second = await openMirror(first.folder);
    const setup = path.join(first.folder, "api/updates/core/stable/1.0.0/windows-x64/Acme Setup 1.0.0.exe");
    const link = path.join(first.folder, "api/updates/core/stable/latest/windows-x64.exe");
    const copies = () => Promise.all([setup, link].map(async (file) => (await stat(file)).ino));
    const before = await copies();
    await rm(path.join(first.folder, "api/updates/core/stable/latest.yml"));
    await mkdir(path.join(first.folder, "api/updates/gone/stable"), { recursive: true });
    await writeFile(path.join(first.folder, "api/updates/gone/stable/latest.yml"), "version: 9.0.0");
    await writeFile(path.join(first.folder, "index.html"), "not of the mirror");
    await second.sync();
    expect(await first.paths()).not.toContain("stable/latest.yml");
    await first.close();
    await second.settle();
    expect(await first.paths()).toContain("stable/latest.yml");
    expect(await copies()).toEqual(before);
    expect((await readdir(path.join(first.folder, "api/updates"))).sort()).toEqual(["core"]);
    expect(await readFile(path.join(first.folder, "index.html"), "utf8")).toBe("not of the mirror");
  }));

test("a process that starts copies nothing if the file system has stored a release's time a little too low", () =>
  withCatalog(async (catalog) => {
    const first = await openMirror();
    const releasedAt = new Date("2026-03-05T10:00:00.247Z");
    await catalog.publish(await release(catalog, "1.0.0", { releasedAt: releasedAt.toISOString() }));
    await first.settle();
    const files = (await first.paths()).filter((file) => file.endsWith(".exe"));
    const copies = files.map((file) => path.join(first.folder, "api/updates/core", file));
    for (const file of copies) await utimes(file, Date.now() / 1_000, (releasedAt.getTime() - 0.0005) / 1_000);
    const changes = () => Promise.all(copies.map(async (file) => (await stat(file, { bigint: true })).ctimeNs));
    const before = await changes();
    await first.close();
    const second = await openMirror(first.folder);
    await second.settle();
    expect(files).toHaveLength(2);
    expect(await changes()).toEqual(before);
  }));

test("a file that cannot be copied is tried again after a while, not in each round", () =>
  withCatalog(async (catalog) => {
    const requests: string[] = [];
    const server = createServer(({ url = "" }, response) => {
      requests.push(url);
      response.end(randomBytes(1_000));
    });
    const url = `http://${await listenForTest(server)}/Acme.exe`;
    const mirror = await openMirror();
    const { file: _, ...update } = await catalog.addFile("Acme.exe", randomBytes(1_000));
    await catalog.publish(manifestEntry({ version: "1.0.0", artifacts: { update: { ...update, url } } }));
    const recorded = async () => {
      await mirror.sync();
      return (await stateOf(mirror.folder))?.error;
    };
    await vi.waitFor(async () => expect(await recorded()).toMatch(/Acme\.exe: The file differs/));
    for (let round = 0; round < 100; round++) {
      await recorded();
      await (await fetch(url.replace("Acme.exe", ""))).arrayBuffer();
    }
    expect(requests.filter((one) => one === "/Acme.exe").length).toBeLessThan(5);
  }));

test("a redirect of a file's URL is followed to an address that is allowed, and no request goes to another one", () =>
  withCatalog(async (catalog) => {
    const bytes = randomBytes(1_000);
    const requests: string[] = [];
    const server = createServer(({ url = "" }, response) => {
      requests.push(url);
      if (url === "/moved/Acme.exe") response.writeHead(302, { location: "/there/Acme.exe" });
      if (url === "/refused/Acme.exe") response.writeHead(302, { location: `http://0.0.0.0:${port}/internal` });
      response.end(bytes);
    });
    const host = await listenForTest(server);
    const [, port] = host.split(":");
    const mirror = await openMirror();
    const { file: _, ...update } = await catalog.addFile("Acme.exe", bytes);
    const at = (folder: string) =>
      manifestEntry({
        version: "1.0.0",
        artifacts: { update: { ...update, url: `http://${host}/${folder}/Acme.exe` } },
      });
    await catalog.publish(at("refused"));
    await vi.waitFor(async () => {
      await mirror.sync();
      expect((await stateOf(mirror.folder))?.error).toContain("Acme.exe: Must be an https URL");
    });
    expect(requests).toEqual(["/refused/Acme.exe"]);
    await catalog.publish({ ...at("moved"), version: "1.0.1", id: "core-1.0.1" });
    await mirror.settle();
    expect(requests).toContain("/there/Acme.exe");
    expect(await readFile(path.join(mirror.folder, "api/updates/core/stable/latest/windows-x64.exe"))).toEqual(bytes);
  }));

test("a release that is removed with its files while these are copied is no error", () =>
  withCatalog(async (catalog) => {
    const mirror = await openMirror();
    const [old, next] = [await release(catalog, "1.0.0"), await release(catalog, "1.1.0")];
    await catalog.publish(old, next);
    await rm(path.join(catalog.folder, "Acme Setup 1.1.0.exe"));
    await writeFile(catalog.manifest, manifestText([old])); // as another process does: this one has not read it yet
    await mirror.settle();
    expect(catalog.errors).toEqual([]);
    expect(await mirror.read("stable/latest.yml")).toContain("1.0.0");
  }));

test("a file is written while the last other one of its folder is removed", async () => {
  const folder = await newFolder();
  const store = openMirrorStore({ ...ctx().config, RELEASE_MIRROR: folder }, ctx().now);
  if (!store) throw new Error("There is no store");
  const feed = feedObject({ text: "a", contentType: "text/plain", links: [] }, ctx().now());
  const pathOf = (round: number) => `core/stable/1/${round}`;
  await store.write(pathOf(0), feed, Readable.from([Buffer.from("a")]));
  for (let round = 1; round <= 60; round++) {
    let removed: Promise<void> | undefined;
    /** Removes the other file at another moment in each round. */
    const remove = async () => {
      for (let waits = round % 12; waits > 0; waits--) await stat(folder);
      await store.remove(pathOf(round - 1));
    };
    async function* bytes() {
      yield Buffer.from("a");
      removed = remove();
    }
    await store.write(pathOf(round), feed, bytes());
    await removed;
    expect([...(await store.list()).keys()]).toEqual([pathOf(round)]);
  }
});

test("whoever reads the list leaves a file alone that is being written", async () => {
  const store = openMirrorStore({ ...ctx().config, RELEASE_MIRROR: await newFolder() }, ctx().now);
  if (!store) throw new Error("There is no store");
  async function* bytes() {
    yield Buffer.from("a");
    expect(await store?.list()).toEqual(new Map());
    yield Buffer.from("b");
  }
  const feed = feedObject({ text: "ab", contentType: "text/plain", links: [] }, ctx().now());
  await store.write("core/stable/a", feed, bytes());
  expect([...(await store.list()).keys()]).toEqual(["core/stable/a"]);
});
