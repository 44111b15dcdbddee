import { execFile } from "node:child_process";
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, randomUUID, sign, verify } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import type { AppUpdater } from "electron-updater";
import { XMLParser } from "fast-xml-parser";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rolloutBucket } from "@/lib/releases/selection/select-release";
import { newFolder, snippet } from "@/tests/support/guide";
import { listen } from "@/tests/support/network/listen";
import { anyDatabase, type Service, startService } from "@/tests/support/process/service";
import { installedApp } from "@/tests/support/releases/electron";
import { type EntryFields, manifestEntry } from "@/tests/support/releases/entries";
import { describeFile, manifestText } from "@/tests/support/releases/releases";
import { hasCommands } from "@/tests/support/requirements";

const run = promisify(execFile);
const MAC = { platform: "macos", architecture: "universal" };
const hasMinisign = hasCommands("minisign");

/** A team's releases, its keys, and the service that offers them. */
let fixture: { folder: string; service: Service; minisignKey: string; edKey: KeyObject };

/** An address whose files are not what was published. */
let tampered: { url: string; close: () => void };

async function startTampering(): Promise<typeof tampered> {
  const server = createServer((_, response) => void response.end(randomBytes(300_000)));
  return { url: `http://${await listen(server)}`, close: () => server.close() };
}

beforeAll(async () => {
  tampered = await startTampering();
  const folder = await mkdtemp(path.join(tmpdir(), "homeport-updaters-"));
  const minisignKey = hasMinisign ? await newMinisignKey(folder) : "";
  const { privateKey, publicKey: edKey } = generateKeyPairSync("ed25519");
  const make = (wish: Wish) => release(folder, privateKey, wish);
  const versions = (wish: Omit<Wish, "version">) =>
    Promise.all(["1.0.0", "1.1.0"].map((version) => make({ ...wish, version } as Wish)));
  const releases = [
    ...(await versions({ product: "core" })),
    ...(await versions({ product: "core", ...MAC, extension: "zip" })),
    ...(await versions({ product: "tauri-app", ...MAC, extension: "app.tar.gz" })),
    await make({ product: "tampered", version: "1.1.0", tamper: true }),
    await make({ product: "staged", version: "1.0.0" }),
    await make({ product: "staged", version: "1.1.0", id: "staged-1.1.0", rollout: 50 }),
    await make({ product: "regretted", version: "1.1.0", yanked: true }),
    await make({ product: "regretted", version: "1.0.0", rollback: true }),
  ];
  await writeFile(path.join(folder, "catalog.json"), manifestText(releases));
  const service = await startService({ RELEASE_CATALOG: path.join(folder, "catalog.json"), ...(await anyDatabase()) });
  fixture = { folder, service, minisignKey, edKey };
});

afterAll(async () => {
  await fixture.service.end("SIGKILL");
  tampered.close();
  await rm(fixture.folder, { recursive: true, force: true });
});

async function newMinisignKey(folder: string): Promise<string> {
  const [publicFile, secretFile] = [path.join(folder, "team.pub"), path.join(folder, "team.key")];
  await run("minisign", ["-G", "-W", "-p", publicFile, "-s", secretFile]);
  const [, publicKey = ""] = (await readFile(publicFile, "utf8")).split("\n");
  return publicKey;
}

/** What `minisign -S` writes beside a file, which the catalog takes as it is. */
async function minisignatureOf(folder: string, file: string, version: string): Promise<string> {
  await run("minisign", ["-S", "-s", path.join(folder, "team.key"), "-m", file, "-t", `version:${version}`]);
  return readFile(`${file}.minisig`, "utf8");
}

type Wish = EntryFields & { product: string; version: string; extension?: string; tamper?: boolean };

/** Makes a file, signs it with both keys, and describes it. `tamper`: an address that has other bytes, as many. */
async function release(folder: string, key: KeyObject, { extension = "exe", tamper, ...wish }: Wish) {
  const fileName = `${wish.product}-${wish.version}.${extension}`;
  const file = path.join(folder, fileName);
  const bytes = randomBytes(300_000);
  await writeFile(file, bytes);
  const minisign = hasMinisign ? await minisignatureOf(folder, file, wish.version) : undefined;
  const update = {
    ...describeFile(fileName, bytes),
    ...(tamper && { file: undefined, url: `${tampered.url}/${fileName}` }),
    minisign,
    edSignature: sign(null, bytes, key).toString("base64"),
  };
  return manifestEntry({ id: randomUUID(), artifacts: { update }, ...wish });
}

const sha512 = (bytes: Uint8Array) => createHash("sha512").update(bytes).digest("base64");
const published = (name: string) => readFile(path.join(fixture.folder, name));

describe("electron-updater, configured as in the guide", () => {
  async function app(version: string, product = "core"): Promise<AppUpdater> {
    const config = await snippet("electron-updater", "yaml", fixture.service.url);
    const [, url = ""] = /^publish:\n {2}provider: generic\n {2}url: (\S+)\n$/.exec(config) ?? [];
    return installedApp(version, (updater) =>
      updater.setFeedURL({ provider: "generic", url: url.replace("/core/", `/${product}/`) }),
    );
  }

  test("finds, downloads and verifies the newest version, and keeps it as a program", async () => {
    const updater = await app("1.0.0");
    const found = await updater.checkForUpdates();
    expect(found).toMatchObject({ isUpdateAvailable: true, updateInfo: { version: "1.1.0" } });
    const [file = ""] = await updater.downloadUpdate();
    expect(path.basename(file)).toBe("core-1.1.0.exe");
    expect(sha512(await readFile(file))).toBe(sha512(await published("core-1.1.0.exe")));
  });

  test("never goes back, since it cannot know that a rollback is meant for it", async () => {
    expect(await (await app("1.1.0", "regretted")).checkForUpdates()).toMatchObject({ isUpdateAvailable: false });
  });

  test("rejects a file that differs from the published one", async () => {
    const updater = await app("1.0.0", "tampered");
    expect(await updater.checkForUpdates()).toMatchObject({ isUpdateAvailable: true });
    const errors: unknown[] = [];
    updater.on("error", (error) => errors.push(error));
    await expect(updater.downloadUpdate()).rejects.toMatchObject({ code: "ERR_CHECKSUM_MISMATCH" });
    expect(errors).toHaveLength(1);
  });

  test("is in a staged rollout or not by the id that it generates", async () => {
    const offered = new Set<boolean>();
    while (offered.size < 2) {
      const updater = await app("1.0.0", "staged");
      const found = await updater.checkForUpdates();
      const id = await (updater as unknown as { stagingUserIdPromise: { value: Promise<string> } }).stagingUserIdPromise
        .value;
      expect(found?.isUpdateAvailable).toBe(rolloutBucket("staged-1.1.0", id) < 50);
      offered.add(found?.isUpdateAvailable ?? false);
    }
  });
});

describe.runIf(hasMinisign)("Tauri's updater, configured as in the guide", () => {
  /** What the plugin does with its endpoint: the variables as text, and `+` and controls percent-encoded. */
  async function check(target: string, arch: string, version: string, product = "core"): Promise<Response> {
    const { plugins } = JSON.parse(await snippet("Tauri 2", "json", fixture.service.url));
    const [endpoint] = plugins.updater.endpoints as string[];
    const url = (endpoint ?? "")
      .replace("/core/", `/${product}/`)
      .replace("{{bundle_type}}", target === "windows" ? "nsis" : "app")
      .replace("{{target}}", target)
      .replace("{{arch}}", arch)
      .replace("{{current_version}}", version.replaceAll("+", "%2B"));
    return fetch(url, { headers: { accept: "application/json" } });
  }

  /** Downloads what the answer names and has minisign verify it against the team's public key. */
  async function download(answer: { url: string; signature: string }): Promise<string> {
    const file = path.join(await newFolder(), "update");
    await writeFile(file, Buffer.from(await (await fetch(answer.url)).arrayBuffer()));
    await writeFile(`${file}.minisig`, Buffer.from(answer.signature, "base64"));
    const { stdout } = await run("minisign", ["-V", "-P", fixture.minisignKey, "-m", file]);
    return stdout;
  }

  test.each([
    ["windows", "x86_64", "core"],
    ["darwin", "x86_64", "tauri-app"],
  ])("downloads for %s on %s a file that minisign verifies, signed for its version", async (target, arch, product) => {
    const response = await check(target, arch, "1.0.0", product);
    expect(response.status).toBe(200);
    const answer = await response.json();
    expect(answer).toMatchObject({ version: "1.1.0", notes: "", pub_date: expect.stringMatching(/Z$/) });
    expect(await download(answer)).toContain("version:1.1.0");
  });

  test("finds its target in the static file of the same release", async () => {
    const { plugins } = JSON.parse(await snippet("Tauri 2", "json", fixture.service.url, 1));
    const { version, platforms } = await (await fetch(plugins.updater.endpoints[0])).json();
    expect(version).toBe("1.1.0");
    expect(await download(platforms["windows-x86_64-nsis"])).toContain("version:1.1.0");
  });

  test("does not accept another file under the signature", async () => {
    const answer = await (await check("windows", "x86_64", "1.0.0", "tampered")).json();
    await expect(download(answer)).rejects.toThrow("Signature verification failed");
  });
});

describe("Sparkle and WinSparkle, configured as in the guide", () => {
  type Item = { "sparkle:version": string; enclosure: { url: string; length: string; "sparkle:edSignature": string } };

  async function items(url: string, userAgent: string): Promise<Item[]> {
    const headers = { accept: "application/rss+xml,*/*;q=0.1", "user-agent": userAgent };
    const response = await fetch(url, { headers });
    const options = { ignoreAttributes: false, attributeNamePrefix: "", parseTagValue: false, isArray: isItem };
    return new XMLParser(options).parse(await response.text()).rss.channel.item;
  }
  const isItem = (name: string) => name === "item";

  /** Downloads an item's file, and verifies its length and signature. */
  async function fits({ enclosure }: Item): Promise<boolean> {
    const bytes = Buffer.from(await (await fetch(enclosure.url)).arrayBuffer());
    const signature = Buffer.from(enclosure["sparkle:edSignature"], "base64");
    return bytes.length === Number(enclosure.length) && verify(null, bytes, fixture.edKey, signature);
  }

  async function feedUrl(): Promise<URL> {
    const plist = new XMLParser().parse(await snippet("Sparkle 2", "xml", fixture.service.url));
    expect(plist.key).toEqual(["SUFeedURL", "SUPublicEDKey"]);
    return new URL(plist.string[0]);
  }

  test("an app on macOS downloads a file that its public key verifies", async () => {
    const url = await feedUrl();
    const swift = await snippet("Sparkle 2", "swift", fixture.service.url);
    expect([...swift.matchAll(/"key": "(\w+)"/g)].map(([, key]) => key)).toEqual(["clientId"]);
    url.searchParams.set("clientId", randomUUID());
    const [item] = await items(url.href, "Example/1.0.0 Sparkle/2.9.4");
    expect(item?.["sparkle:version"]).toBe("1.1.0");
    expect(item && (await fits(item))).toBe(true);
  });

  test("an app on Windows downloads a file that its public key verifies, and no other", async () => {
    const [, url = ""] =
      /set_appcast_url\("([^"]+)"\)/.exec(await snippet("WinSparkle", "c", fixture.service.url)) ?? [];
    const agent = "Example/1.0.0 WinSparkle/0.9.3 (Win64)";
    const [item] = await items(url, agent);
    expect(item).toMatchObject({ "sparkle:version": "1.1.0", enclosure: { "sparkle:os": "windows" } });
    expect(item && (await fits(item))).toBe(true);
    const [tampered] = await items(url.replace("/core/", "/tampered/"), agent);
    expect(tampered && (await fits(tampered))).toBe(false);
  });
});

describe("update-electron-app, configured as in the guide", () => {
  /** What Squirrel.Mac downloads: update-electron-app sets `host/repo/platform-arch/version` as the URL of its feed. */
  async function update(version: string): Promise<{ name: string; bytes: Uint8Array }> {
    const source = await snippet("update-electron-app", "js", fixture.service.url);
    const [, host, repo] = /host: "([^"]+)",\s+repo: "([^"]+\/[^"]+)"/.exec(source) ?? [];
    const headers = { accept: "application/json", "user-agent": "update-electron-app/3.3.0 (darwin: arm64)" };
    const response = await fetch(`${host}/${repo}/darwin-arm64/${version}`, { headers });
    if (!response.ok) throw new Error(await response.text());
    const { name, url } = await response.json();
    return { name, bytes: new Uint8Array(await (await fetch(url)).arrayBuffer()) };
  }

  test("downloads the newest version whole", async () => {
    const { name, bytes } = await update("1.0.0");
    expect(name).toBe("1.1.0");
    expect(sha512(bytes)).toBe(sha512(await published("core-1.1.0.zip")));
  });
});

describe.runIf(hasCommands("curl"))("winget, as in the guide", () => {
  test("gets the three files of a manifest, without placeholders", async () => {
    const folder = await newFolder();
    await run("sh", ["-eu", "-c", await snippet("winget", "sh", fixture.service.url)], { cwd: folder });
    const names = ["winget.installer.yaml", "winget.locale.en-US.yaml", "winget.version.yaml"];
    expect((await readdir(folder)).sort()).toEqual(names);
    const texts = await Promise.all(names.map((name) => readFile(path.join(folder, name), "utf8")));
    for (const text of texts) expect(text).not.toContain("placeholder");
    const [, url = ""] = /InstallerUrl: "([^"]+)"/.exec(texts[0] ?? "") ?? [];
    const bytes = Buffer.from(await (await fetch(url)).arrayBuffer());
    expect(texts[0]).toContain(createHash("sha256").update(bytes).digest("hex").toUpperCase());
  });
});

describe.runIf(hasCommands("curl", "sha256sum"))("a client with curl, as in the guide", () => {
  async function update(change: (script: string) => string = (script) => script, folder?: string) {
    folder ??= await newFolder();
    const script = change(await snippet("Your own client", "sh", fixture.service.url));
    return { folder, ...(await run("sh", ["-eu", "-c", script], { cwd: folder })) };
  }

  test("downloads and verifies the newest version", async () => {
    const { folder, stdout } = await update();
    const [name = ""] = await readdir(folder);
    expect(stdout).toBe(`${name}: OK\n`);
    expect(sha512(await readFile(path.join(folder, name)))).toBe(sha512(await published("core-1.1.0.exe")));
  });

  test("downloads nothing that it has, and resumes an aborted download beside the previous update", async () => {
    const { folder } = await update((script) =>
      script.replace("product=core", "product=staged").replace("current=1.0.0", "current=0.9.0"),
    );
    const [before = ""] = await readdir(folder);
    await update(undefined, folder);
    const name = (await readdir(folder)).find((one) => one !== before) ?? "";
    await truncate(path.join(folder, name), 1_000);
    for (const _ of ["resumed", "there already"]) {
      expect((await update(undefined, folder)).stdout).toMatch(new RegExp(`^${name}: OK$`, "m"));
      expect(sha512(await readFile(path.join(folder, name)))).toBe(sha512(await published("core-1.1.0.exe")));
    }
  });

  test("does nothing if it is current, and fails on a file that differs from the published one", async () => {
    expect((await update((script) => script.replace("current=1.0.0", "current=1.1.0"))).stdout).toBe("");
    await expect(update((script) => script.replace("product=core", "product=tampered"))).rejects.toThrow(
      "did NOT match",
    );
  });
});
