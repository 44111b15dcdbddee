import { createHash, randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { readGitHub } from "@/scripts/homeport/release/import/github";
import { get } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { isolateDataFolder } from "@/tests/support/releases/catalogs";
import { zipOf } from "@/tests/support/releases/formats/zip";
import { type FakeRelease, startGitHub, TOKEN } from "@/tests/support/releases/github";
import { startOrigin } from "@/tests/support/releases/origin";
import { newSigningKey } from "@/tests/support/releases/signing";
import { newImport } from "@/tests/support/releases/sources";
import { storeOf } from "@/tests/support/releases/stores";
import { blockMapOf } from "@/tests/support/releases/tools/block-map";
import { fat, tarOf } from "@/tests/support/releases/tools/programs";
import { newManifestKey, signManifest } from "@/tests/support/releases/update-manifest";

isolateDataFolder();

const PROGRAM = "Example.app/Contents/MacOS/Example";
const sha512 = (bytes: Buffer) => createHash("sha512").update(bytes).digest("base64");
const updateFile = (version: string, name: string, bytes: Buffer, more = {}) =>
  Buffer.from(stringify({ version, files: [{ url: name, sha512: sha512(bytes), size: bytes.length }], ...more }));

const readFrom = ({ apiUrl }: { apiUrl: string }, token: string | undefined = TOKEN) =>
  readGitHub("example/app", { apiUrl, token });

/** A release as electron-builder publishes it: GitHub replaces the spaces in the names. */
function electronRelease(version: string): FakeRelease {
  const setup = randomBytes(600_000);
  const zip = zipOf({ [PROGRAM]: fat() });
  const minimum = { minimumSystemVersion: "10.0.19045", stagingPercentage: 20 };
  return {
    tag: `v${version}`,
    body: "# Faster",
    assets: {
      [`Example.Setup.${version}.exe`]: setup,
      [`Example.Setup.${version}.exe.blockmap`]: gzipSync(JSON.stringify(blockMapOf(setup))),
      [`Example-${version}.zip`]: zip,
      [`Example-${version}.dmg`]: randomBytes(300),
      "latest.yml": updateFile(version, `Example-Setup-${version}.exe`, setup, minimum),
      "latest-mac.yml": updateFile(version, `Example-${version}.zip`, zip),
      "docker-compose.yml": Buffer.from("services: {}"),
      "checksums.txt": Buffer.from("x"),
      "examples.zip": zipOf({ "README.md": "x" }),
    },
  };
}

test("the releases of a private repository are imported page by page, and the token goes to GitHub alone", async () => {
  const github = await startGitHub(
    [
      electronRelease("1.5.0"),
      { tag: "nightly", assets: { "Example-x64.exe": randomBytes(300) } },
      { tag: "v1.6.0", draft: true, assets: { "Example-1.6.0-x64.exe": randomBytes(300) } },
      { tag: "app-v1.4.0", prerelease: true, assets: { "Example-1.4.0-x64.exe": randomBytes(300) } },
      {
        tag: "v1.3.0-beta.1",
        prerelease: true,
        hasDigests: false,
        assets: { "Example-1.3.0-beta.1-x64.exe": randomBytes(300) },
      },
    ],
    2,
  );
  const key = await newKey();
  const run = newImport(key);
  const { imported, sourceNotes, notes } = await run(await readFrom(github));
  expect(sourceNotes).toEqual(["nightly is skipped: its tag has no version such as v1.2.3."]);
  expect(notes).toEqual([]);
  expect(imported).toMatchObject([
    { version: "1.3.0-beta.1", channel: "beta", outcome: "added" },
    { version: "1.4.0", channel: "beta", outcome: "added" },
    {
      version: "1.5.0",
      channel: "stable",
      outcome: "added",
      skipped: ["checksums.txt", "docker-compose.yml", "examples.zip"],
    },
  ]);
  expect(await storeOf(key).list({ version: "1.5.0" })).toMatchObject([
    {
      id: "core-macos-universal-1.5.0",
      rollout: 0,
      notes: "# Faster",
      releasedAt: "2025-03-01T09:00:00.000Z",
      minimumSystemVersion: null,
      artifacts: { installer: { fileName: "Example-1.5.0.dmg" }, update: { fileName: "Example-1.5.0.zip" } },
    },
    {
      id: "core-windows-x64-1.5.0",
      rollout: 0,
      minimumSystemVersion: "10.0.19045",
      artifacts: { update: { fileName: "Example.Setup.1.5.0.exe", blockMap: {} } },
    },
  ]);
  expect(github.leaked).toEqual([]);

  const downloads = github.asked.length;
  const again = await run(await readFrom(github));
  expect(again.imported.map(({ outcome }) => outcome)).toEqual(["unchanged", "unchanged", "unchanged"]);
  expect(github.asked.length).toBe(downloads);
  expect((await get("/api/updates/core/beta/latest.yml")).status).toBe(404);

  const offered = await run(await readFrom(github), { shouldPublish: true });
  expect(offered.published.length).toBe(4);
  expect(await storeOf(key).list({})).toMatchObject([
    { rollout: 100 },
    { rollout: 20 },
    { rollout: 100 },
    { rollout: 100 },
  ]);
  const paused = { ids: ["core-windows-x64-1.5.0"] };
  await storeOf(key).update(paused, { rollout: 0 });
  expect((await run(await readFrom(github), { shouldPublish: true })).published).toEqual([]);
  expect(await storeOf(key).list({ platform: "windows", version: "1.5.0" })).toMatchObject([
    { rollout: 0, rolloutSeries: null },
  ]);
});

test("a signed manifest comes along, and its files have the names that it gives them", async () => {
  const signer = newManifestKey();
  const release = electronRelease("1.0.0");
  const setup = release.assets["Example.Setup.1.0.0.exe"] ?? Buffer.alloc(0);
  const signed = (more: object) =>
    signManifest(parse(updateFile("1.0.0", "Example-Setup-1.0.0.exe", setup, more).toString()), [signer]);
  const run = newImport(await newKey());
  const importSigned = async (text: string) => {
    release.assets["latest.yml"] = Buffer.from(text);
    const publicKeys = { manifest: [signer.publicKey] };
    return (await run(await readFrom(await startGitHub([release])), { shouldPublish: true, publicKeys })).imported;
  };
  const staged = await importSigned(signed({ stagingPercentage: 10 }));
  expect(staged).toMatchObject([{ outcome: "refused", error: { code: "signature_invalid" } }]);
  const text = signed({});
  expect(await importSigned(text)).toMatchObject([{ outcome: "added" }]);
  expect(await (await get("/api/updates/core/stable/latest.yml")).text()).toBe(text);
  const file = await get("/api/updates/core/stable/Example-Setup-1.0.0.exe");
  expect(sha512(Buffer.from(await file.arrayBuffer()))).toBe(sha512(setup));
  expect(await importSigned(text)).toMatchObject([{ outcome: "unchanged" }]);
});

test("a file that differs from what GitHub or a feed states refuses its release and no other", async () => {
  const bad = electronRelease("1.1.0");
  const setup = bad.assets["Example.Setup.1.1.0.exe"] ?? Buffer.alloc(0);
  bad.assets["latest.yml"] = updateFile("1.1.0", "Example-Setup-1.1.0.exe", Buffer.alloc(setup.length));
  const github = await startGitHub([electronRelease("1.2.0"), bad, electronRelease("1.0.0")]);
  const { imported } = await newImport(await newKey())(await readFrom(github), { shouldPublish: true });
  expect(imported.map(({ version, outcome }) => [version, outcome])).toEqual([
    ["1.0.0", "added"],
    ["1.1.0", "refused"],
    ["1.2.0", "added"],
  ]);
  expect(imported[1]?.error).toEqual({
    code: "file_changed",
    message: `Example.Setup.1.1.0.exe is not the file that latest.yml describes: its sha512 is ${sha512(setup)}, expected ${sha512(Buffer.alloc(setup.length))}.`,
  });
});

test("a file elsewhere is downloaded without the token", async () => {
  const storage = await startOrigin((_, response) => void response.end("MZ"));
  const asset = { name: "Example-1.0.0-x64.exe", url: `${storage.url}/1`, size: 2, state: "uploaded" };
  const releases = [{ tag_name: "v1.0.0", draft: false, prerelease: false, assets: [asset] }];
  const { url: apiUrl } = await startOrigin((_, response) => void response.end(JSON.stringify(releases)));
  const { imported } = await newImport(await newKey())(await readFrom({ apiUrl }));
  expect(imported).toMatchObject([{ outcome: "added" }]);
  expect(storage.asked.map(({ headers }) => headers.authorization)).toEqual([undefined]);
});

test("a public repository needs no token, and its files are not asked of the API", async () => {
  const github = await startGitHub([electronRelease("1.0.0")], 0, true);
  const { imported } = await newImport(await newKey())(await readFrom(github, ""));
  expect(imported).toMatchObject([{ outcome: "added" }]);
});

test("files that a stopped run has downloaded are not downloaded again", async () => {
  const release: FakeRelease = {
    tag: "v2.0.0",
    assets: { "Example-2.0.0-x64.exe": randomBytes(3000), "Example-2.0.0-x64.msi": randomBytes(3000) },
  };
  const github = await startGitHub([release]);
  const run = newImport(await newKey());
  github.missing.add("Example-2.0.0-x64.msi");
  expect((await run(await readFrom(github))).imported).toMatchObject([
    { outcome: "refused", error: { code: "source_unavailable" } },
  ]);
  github.missing.clear();
  expect((await run(await readFrom(github))).imported).toMatchObject([{ outcome: "added" }]);
  expect(github.asked).toEqual(["Example-2.0.0-x64.exe", "Example-2.0.0-x64.msi", "Example-2.0.0-x64.msi"]);
});

test("minisign signatures beside the files and in latest.json are verified with the product's key", async () => {
  const signer = newSigningKey();
  const setup = randomBytes(500);
  const app = gzipSync(tarOf({ [PROGRAM]: fat() }));
  const sign = (bytes: Buffer, name: string) => signer.minisign(bytes, `timestamp:1\tfile:${name}\tversion:1.0.0`);
  const encoded = (text: string) => Buffer.from(text).toString("base64");
  const releaseOf = (version: string, signed: Buffer): FakeRelease => {
    const name = `Example_${version}_x64-setup.exe`;
    const platforms = {
      "darwin-aarch64": {
        signature: encoded(sign(app, "Example.app.tar.gz")),
        url: "https://github.com/x/Example.app.tar.gz",
      },
    };
    return {
      tag: `v${version}`,
      assets: {
        [name]: signed,
        [`${name}.sig`]: Buffer.from(encoded(sign(setup, name))),
        "Example.app.tar.gz": Buffer.from(app),
        "latest.json": Buffer.from(JSON.stringify({ version, platforms })),
      },
    };
  };
  const github = await startGitHub([releaseOf("1.1.0", Buffer.alloc(500)), releaseOf("1.0.0", setup)]);
  const key = await newKey();
  const publicKeys = { minisign: signer.minisignKey };
  const { imported, notes } = await newImport(key)(await readFrom(github), { publicKeys });
  expect(notes).toEqual([]);
  expect(imported).toMatchObject([
    { version: "1.0.0", outcome: "added" },
    { version: "1.1.0", outcome: "refused", error: { code: "signature_invalid" } },
  ]);
  expect((await storeOf(key).list({})).map(({ artifacts }) => artifacts.update?.minisign?.slice(0, 8))).toEqual(
    Array(2).fill(encoded("untrusted").slice(0, 8)),
  );
});

test("a repository without access names the token, and a used-up limit the time", async () => {
  const github = await startGitHub([]);
  const refusal = (message: string) => expect.stringContaining(message);
  await expect(readFrom(github, "")).rejects.toMatchObject({
    code: "source_unavailable",
    message: refusal("A private repository needs GITHUB_TOKEN."),
  });
  const reset = String(Date.parse("2099-01-01T10:30:00Z") / 1000);
  const limited = await startOrigin((_, response) => {
    response.writeHead(403, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset }).end();
  });
  await expect(readFrom({ apiUrl: limited.url })).rejects.toMatchObject({
    code: "rate_limited",
    message: refusal("no more requests until 2099-01-01T10:30Z"),
  });
  expect(limited.asked.length).toBe(1);
});
