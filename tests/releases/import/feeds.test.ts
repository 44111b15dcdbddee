import { createHash, randomBytes } from "node:crypto";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { lockFile } from "@/lib/platform/files/lock";
import { catalogFileOf } from "@/lib/releases/catalog/catalog";
import type { ReleaseDraft } from "@/lib/releases/publishing/draft";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";
import { parseFeed } from "@/scripts/homeport/release/import/feeds";
import { get } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { BASE_URL, ctx } from "@/tests/support/context";
import { isolateDataFolder } from "@/tests/support/releases/catalogs";
import { msix } from "@/tests/support/releases/formats/msix";
import { zipOf } from "@/tests/support/releases/formats/zip";
import { startOrigin } from "@/tests/support/releases/origin";
import { build, newFolder, publishAll, type TestFolder } from "@/tests/support/releases/publishing";
import { newSigningKey } from "@/tests/support/releases/signing";
import { newImport, serveCatalog } from "@/tests/support/releases/sources";
import { storeOf } from "@/tests/support/releases/stores";
import { nupkg } from "@/tests/support/releases/tools/nupkg";
import { fat, pe, tarOf } from "@/tests/support/releases/tools/programs";

isolateDataFolder();

const STABLE = "/api/updates/core/stable";
const PROGRAM = "Example.app/Contents/MacOS/Example";
const signer = newSigningKey();
const publicKeys = { minisign: signer.minisignKey, ed: signer.edKey };

type FileSpec = [name: string, kinds: ReleaseDraft["files"][number]["kinds"], bytes?: Buffer, from?: string];

/** Publishes signed files in a catalog of another service. */
async function publishTo(folder: TestFolder, release: { version: string; buildVersion?: string }, specs: FileSpec[]) {
  const files = [];
  for (const [name, kinds, bytes = randomBytes(700), from] of specs) {
    const file = await build(folder, name, bytes);
    const minisign = signer.minisign(bytes, `file:${name}\tversion:${release.version}`);
    const artifact = { minisign, edSignature: signer.ed(bytes) };
    files.push({ file, kinds, from, artifact: name.endsWith(".nupkg") ? {} : artifact });
  }
  const fields = { product: "core", notes: "# New & <b>", releasedAt: "2025-03-01T09:00:00Z", ...release };
  await publishAll(folder, [{ release: fields, files, publicKeys, confirmations: { isPrerelease: true } }]);
}

const both = ["installer", "update"] as const;
const windows = (version: string) => ({ platform: "windows", architecture: "x64", version });
const packageOf = (version: string) => nupkg({ id: "Example", version }, pe("x64"));

/** A service with two versions for every updater. */
async function oldService(feed: string) {
  const folder = await newFolder();
  await publishTo(folder, windows("1.3.0"), [
    ["Example Setup 1.3.0.exe", both],
    ["Example-1.3.0-full.nupkg", ["other"], packageOf("1.3.0")],
  ]);
  await publishTo(folder, windows("1.4.0"), [
    ["Example Setup 1.4.0.exe", both, randomBytes(600_000)],
    ["Example-1.4.0-full.nupkg", ["other"], packageOf("1.4.0")],
    ["Example-1.4.0-delta.nupkg", ["delta"], packageOf("1.4.0").subarray(0, 400), "1.3.0"],
    ["Example_1.4.0.msix", ["other"], msix()],
  ]);
  const mac = { platform: "macos", architecture: "universal", version: "1.4.0" };
  await publishTo(
    folder,
    { ...mac, buildVersion: "140", ...(/yml|xml/.test(feed) && { minimumSystemVersion: "12.0" }) },
    [
      ["Example-1.4.0.zip", ["update"], zipOf({ [PROGRAM]: fat() })],
      ["Example.app.tar.gz", ["other"], gzipSync(tarOf({ [PROGRAM]: fat() }))],
    ],
  );
  const linux = { platform: "linux", architecture: "arm64", version: "1.4.0" };
  const kernel = /yml/.test(feed) && { minimumSystemVersion: "5.15.0" };
  await publishTo(folder, { ...linux, ...kernel }, [["Example-1.4.0-arm64.AppImage", both]]);
  return serveCatalog(folder);
}

describe.each([
  ["latest.yml", ["latest.yml", "latest-mac.yml", "latest-linux-arm64.yml"], 3],
  ["latest-mac.yml", ["latest-mac.yml"], 1],
  ["RELEASES", ["RELEASES"], 1],
  ["releases.win.json", ["releases.win.json"], 1],
  ["appcast.xml", ["appcast.xml"], 2],
  ["latest.json", ["latest.json"], 1],
  ["windows/x86_64/1.3.0", ["windows/x86_64/1.3.0"], 1],
  ["darwin-arm64/1.3.0", ["darwin-arm64/1.3.0"], 1],
  ["core.appinstaller", ["core.appinstaller"], 1],
  ["winget.yaml", [], 1],
])("%s of another service", (feed, same, count) => {
  test("is imported, offered to nobody, and after --publish offered as there", async () => {
    const { url, paths } = await oldService(feed);
    const key = await newKey();
    const run = newImport(key);
    const first = await run(`${url}${STABLE}/${feed}`, { publicKeys });
    expect(first.imported.map(({ outcome, error }) => [outcome, error])).toEqual(
      Array(count).fill(["added", undefined]),
    );
    expect([first.published, first.notes]).toEqual([[], []]);
    for (const name of same) expect((await get(`${STABLE}/${name}`)).status, name).toBe(404);

    const downloads = paths.length;
    const second = await run(`${url}${STABLE}/${feed}`, { shouldPublish: true });
    expect(second.published.toSorted()).toEqual(first.imported.flatMap(({ releases }) => releases).toSorted());
    for (const name of same) {
      const theirs = await (await fetch(`${url}${STABLE}/${name}`)).text();
      expect(await (await get(`${STABLE}/${name}`)).text(), name).toBe(theirs.replaceAll(url, BASE_URL));
    }
    const later = paths.slice(downloads).filter((path) => /\.(exe|zip|nupkg|gz|msix|AppImage)$/.test(path));
    const isSigned = !["darwin-arm64/1.3.0", "core.appinstaller"].includes(feed);
    if (isSigned) expect(later).toEqual([]);

    const catalog = await storeOf(key).list({});
    const third = await run(`${url}${STABLE}/${feed}`, { shouldPublish: true });
    expect([third.published, new Set(third.imported.map(({ outcome }) => outcome))]).toEqual([
      [],
      new Set(["unchanged"]),
    ]);
    expect(await storeOf(key).list({})).toEqual(catalog);
  });
});

const SHA512 = `${"A".repeat(86)}==`;
const yml = (url: string, more = "") => `version: 1.0.0\nfiles:\n  - url: ${url}\n    sha512: ${SHA512}\n${more}`;
const appcast = (enclosure: string) =>
  `<rss version="2.0"><channel><item><sparkle:version>1.0.0</sparkle:version>${enclosure}</item></channel></rss>`;

test.each([
  ["latest.yml", "<!doctype html>\n<p>Not found", "latest.yml: line"],
  ["latest.yml", `files: ${"[".repeat(100_000)}`, "latest.yml: line 1: Must be YAML"],
  ["latest.yml", "version: 1.0.0\nfiles: [", "latest.yml: line 2: Must be YAML"],
  ["latest.yml", "version: 1.0.0\nfiles:\n  - url: a.exe\n", "latest.yml: files.0.sha512: Required"],
  [
    "latest.yml",
    yml("file:///etc/passwd"),
    "latest.yml: files.0.url: Must be an http or https URL, not file:///etc/passwd",
  ],
  [
    "latest.yml",
    yml("a.exe").replace("1.0.0", "soon"),
    "latest.yml: version: Must be a version such as 1.2.3, not soon",
  ],
  ["RELEASES", `${"a".repeat(40)} Example-1.0.0-full.nupkg 10\nnonsense`, "RELEASES: line 2: Must be a SHA-1"],
  ["releases.win.json", '{\n"Assets": [}', "releases.win.json: line 2: Must be JSON"],
  ["releases.win.json", '{ "Assets": [{}] }', "releases.win.json: Assets.0.PackageId: Required"],
  ["latest.json", '{ "a": 1 }', "latest.json: the document: Must have Assets (Velopack), platforms (Tauri)"],
  ["appcast.xml", "<rss><channel>\n<item></channel></rss>", "appcast.xml: line 2: Must be XML"],
  ["appcast.xml", appcast('<enclosure length="1"/>'), "appcast.xml: rss.channel.item.0.enclosure.0.@url: Required"],
  ["appcast.xml", appcast('<enclosure url="ftp://a/b.zip"/>'), "appcast.xml: item 1: enclosure url: Must be an http"],
])("a %s that is none names the line or the field", async (name, text, message) => {
  const { url } = await startOrigin((_, response) => void response.end(text));
  const run = newImport(await newKey());
  await expect(run(`${url}/${name}`)).rejects.toMatchObject({
    code: "feed_invalid",
    message: expect.stringContaining(message),
  });
});

test.each([
  ["a longer file", yml("a.exe", "    size: 10\n"), "a.exe is larger than 10 bytes"],
  ["a shorter file", yml("a.exe", "    size: 30\n"), "its size is 20, expected 30"],
  ["a redirect to a file of this machine", yml("local.exe"), "it redirects to file:///etc/hostname"],
  ["a name that leads elsewhere", yml("a/%2e%2e%5c%2e%2e%5cb.exe"), "cannot be the name of a file"],
  ["a file that does not exist", yml("none.exe"), "the response status is 404"],
])("%s refuses the release", async (_, text, message) => {
  const { url } = await startOrigin((request, response) => {
    if (request.url === "/latest.yml") response.end(text);
    else if (request.url === "/local.exe") response.writeHead(302, { location: "file:///etc/hostname" }).end();
    else if (/^\/a(\.exe$|\/)/.test(request.url ?? "")) response.end(Buffer.alloc(20));
    else response.writeHead(404).end();
  });
  const { imported } = await newImport(await newKey())(`${url}/latest.yml`);
  expect(imported).toMatchObject([{ outcome: "refused", error: { message: expect.stringContaining(message) } }]);
});

test.each([
  ["a large block map", "a-x64.exe", "a-x64.exe.blockmap cannot be read: it has more than 16 MiB."],
  ["a response whose name for the file leads elsewhere", "download", "It has no file that people install"],
])("%s refuses the release", async (_, name, message) => {
  const sha512 = createHash("sha512").update("MZ").digest("base64");
  const { url } = await startOrigin(({ url: asked }, response) => {
    if (asked === "/latest.yml") response.end(yml(name).replace(SHA512, sha512));
    else if (asked === `/${name}`) response.setHeader("content-disposition", 'attachment; filename=".."').end("MZ");
    else if (asked?.endsWith(".blockmap")) response.end(Buffer.alloc(17 * 1024 * 1024));
    else response.writeHead(404).end();
  });
  const { imported } = await newImport(await newKey())(`${url}/latest.yml`);
  expect(imported).toMatchObject([{ error: { message: expect.stringContaining(message) } }]);
});

test("a release whose version a sample has is not offered either", async () => {
  await writeSampleCatalog(catalogFileOf(ctx().config) as string);
  const { url } = await startOrigin((request, response) => {
    if (request.url === "/appcast.xml") response.end(appcast('<enclosure url="a-x64.exe"/>'));
    else response.end("MZ");
  });
  const key = await newKey();
  expect((await newImport(key)(`${url}/appcast.xml`)).imported).toMatchObject([{ outcome: "added" }]);
  expect(await storeOf(key).list({})).toMatchObject([{ id: "core-windows-x64-1.0.0", rollout: 0 }]);
});

test("feeds of very many packages and notes of tags alone are read in linear time", () => {
  const lines = Array.from({ length: 100_000 }, (_, at) => `${"a".repeat(40)} Example-1.${at}.0-full.nupkg 10`);
  const read = (name: string, text: string) => parseFeed({ name, text, url: `https://example.com/${name}` }).releases;
  expect(read("RELEASES", lines.join("\n")).length).toBe(lines.length);
  const items = ["<h1 ", "<style>", "<"].map((tag) => {
    const description = `<description><![CDATA[${tag.repeat(100_000)}]]></description>`;
    return `<item>${description}<sparkle:version>1.0.0</sparkle:version><enclosure url="a.zip"/></item>`;
  });
  const rss = `<rss><channel>${items.join("").repeat(10)}</channel></rss>`;
  expect(read("appcast.xml", rss).length).toBe(30);
}, 20_000);

test("a source that another run imports is refused", async () => {
  const folder = path.join((await newFolder()).folder, "downloads");
  const unlock = await lockFile(`${folder}.lock`);
  const run = newImport(await newKey());
  await expect(run({ releases: [], notes: [] }, { folder })).rejects.toMatchObject({ code: "import_running" });
  await unlock();
  expect((await run({ releases: [], notes: [] }, { folder })).imported).toEqual([]);
});

test("an appcast as Sparkle's tools write it is imported with versions, notes and deltas", async () => {
  const key = newSigningKey();
  const [zip, old, delta] = [
    zipOf({ [PROGRAM]: fat() }),
    zipOf({ [PROGRAM]: fat() }, { comment: "1" }),
    randomBytes(90),
  ];
  const enclosure = (name: string, bytes: Buffer, more = "") =>
    `<enclosure url="files/${name}?a=1&amp;b=2" length="${bytes.length}" type="application/octet-stream" sparkle:edSignature="${key.ed(bytes)}" ${more}/>`;
  const text = `<?xml version="1.0"?><rss version="2.0" xmlns:sparkle="http://www.andymatuschak.org/xml-namespaces/sparkle"><channel><title>App</title>
<item><title>Version 2.1</title><pubDate>Sat, 01 Mar 2025 10:00:00 +0100</pubDate><sparkle:version>210</sparkle:version>
<sparkle:shortVersionString>2.1</sparkle:shortVersionString><sparkle:minimumSystemVersion>10.15</sparkle:minimumSystemVersion>
<description><![CDATA[<h2>New</h2><ul><li>Faster &amp; smaller</li><li>Dark</li></ul>]]></description><sparkle:criticalUpdate/>
${enclosure("App-2.1.zip", zip)}<sparkle:deltas>${enclosure("App210-200.delta", delta, 'sparkle:deltaFrom="200"')}</sparkle:deltas></item>
<item><title>2.0</title><sparkle:channel>beta</sparkle:channel>${enclosure("App-2.0.zip", old, 'sparkle:version="200" sparkle:shortVersionString="2.0"')}</item>
<item><title>Read this</title><link>https://example.com</link></item></channel></rss>`;
  const { url } = await startOrigin((request, response) => {
    const files: Record<string, Buffer | string> = {
      "App-2.1.zip": zip,
      "App-2.0.zip": old,
      "App210-200.delta": delta,
      "appcast.xml": text,
    };
    response.end(files[new URL(request.url ?? "", "http://a").pathname.split("/").at(-1) ?? ""]);
  });
  const operator = await newKey();
  const { imported, sourceNotes, notes } = await newImport(operator)(`${url}/appcast.xml`, {
    publicKeys: { ed: key.edKey },
  });
  expect([sourceNotes, notes]).toEqual([["Read this is skipped: it has no file."], []]);
  expect(imported.map(({ outcome, error }) => [outcome, error])).toEqual(Array(2).fill(["added", undefined]));
  expect(await storeOf(operator).list({})).toMatchObject([
    {
      version: "2.1.0",
      channel: "stable",
      buildVersion: "210",
      architecture: "universal",
      minimumSystemVersion: "10.15",
      critical: true,
      releasedAt: "2025-03-01T09:00:00.000Z",
      notes: "## New\n\n- Faster & smaller\n- Dark",
      artifacts: { update: { fileName: "App-2.1.zip" }, deltas: [{ from: "2.0.0", fileName: "App210-200.delta" }] },
    },
    { version: "2.0.0", channel: "beta", buildVersion: "200" },
  ]);
});
