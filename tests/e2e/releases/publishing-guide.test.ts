import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { hasObjectStorage, startObjectStorage } from "@/tests/support/network/object-storage";
import { COMMANDS } from "@/tests/support/process/command";
import { anyDatabase, newDataDir, type Service, startForTest } from "@/tests/support/process/service";
import { newSigningKey, signAppcast } from "@/tests/support/releases/signing";

const KEY = newSigningKey();
const SETUP = "Ops_1.4.0_x64-setup.exe";

const PROGRAM = `"${path.resolve("scripts/bin/homeport.mjs")}" "$@"`;
/** What it runs, with the flags of the tests. */
const BY_NODE = `(export INIT_CWD="$PWD"; cd "${path.resolve(".")}"; ${process.execPath} ${COMMANDS.get("homeport")?.join(" ")} "$@")`;

/** The commands of the guide's part on publishing, by the heading above them. */
async function commands(): Promise<Map<string, string>> {
  const guide = await readFile("docs/guides/updates.md", "utf8");
  const part = guide.slice(guide.indexOf("\n## Publishing\n"));
  const sections = part.split(/^#{2,3} /m).slice(1);
  return new Map(
    sections.map((section) => {
      const blocks = [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text);
      return [section.slice(0, section.indexOf("\n")), blocks.join("")];
    }),
  );
}

/** A folder with everything that the guide's commands read. */
async function newWorkshop(text: string): Promise<string> {
  const folder = await newDataDir();
  for (const name of ["dist", "dist/macos", "notes", "bin", "keys"]) await mkdir(path.join(folder, name));
  const files = text.matchAll(/add ("[^"]+"|\S+)/g);
  for (const [, file = ""] of files) await writeFile(path.join(folder, file.replaceAll('"', "")), randomBytes(10_000));
  await writeFile(path.join(folder, "notes/1.4.0.md"), "Starts **faster**.");
  const setup = path.join(folder, "dist", SETUP);
  await writeFile(`${setup}.sig`, KEY.minisign(await readFile(setup), `timestamp:1793786400\tfile:${SETUP}`));
  await writeFile(path.join(folder, "keys/ops.pub"), `untrusted comment: minisign public key\n${KEY.minisignKey}\n`);
  for (const name of ["Example-1.4.0.zip", "Example-1.4.0-1.3.0.delta"]) {
    const file = path.join(folder, "dist", name);
    await writeFile(`${file}.signature`, KEY.ed(await readFile(file)));
  }
  for (const [name, command] of [
    ["sign_update", 'cat "$2.signature"'],
    ["generate_keys", `echo ${KEY.edKey}`],
  ] as const) {
    await writeFile(path.join(folder, "bin", name), `#!/bin/sh\n${command}\n`);
    await chmod(path.join(folder, "bin", name), 0o755);
  }
  return folder;
}

/** Stands in for Sparkle's generate_appcast, which runs on macOS. */
async function writeAppcastTool(folder: string, url: string): Promise<void> {
  const prefix = `${url}/api/updates/core/stable/1.5.0/macos-universal/`;
  const archive = await readFile(path.join(folder, "dist/macos/Example-1.5.0.zip"));
  const enclosure = `<enclosure url="${prefix}Example-1.5.0.zip" length="${archive.length}" sparkle:edSignature="${KEY.ed(archive)}"/>`;
  const item = `<item><sparkle:version>1.5.0</sparkle:version>${enclosure}</item>`;
  const namespace = "http://www.andymatuschak.org/xml-namespaces/sparkle";
  const appcast = `<rss version="2.0" xmlns:sparkle="${namespace}"><channel>${item}</channel></rss>\n`;
  await writeFile(path.join(folder, "signed.xml"), signAppcast(appcast, KEY));
  const tool = path.join(folder, "bin/generate_appcast");
  await writeFile(
    tool,
    `#!/bin/sh\n[ "$2" = "${prefix}" ] || { echo "Unexpected: $*" >&2; exit 1; }\ncp signed.xml "$3/appcast.xml"\n`,
  );
  await chmod(tool, 0o755);
}

async function offered(service: Service, current: string): Promise<string | null> {
  const query = `platform=windows&product=core&architecture=x64&current=${current}`;
  const response = await service.fetch(`/api/version?${query}`);
  const { version, updateAvailable } = (await response.json()) as { version: string; updateAvailable: boolean };
  return updateAvailable ? version : null;
}

test("the guide's commands publish, stage, pause, withdraw, roll back and verify", async () => {
  const parts = await commands();
  const folder = await newWorkshop([...parts.values()].join("\n"));
  const storage = hasObjectStorage ? await startObjectStorage() : undefined;
  if (storage) onTestFinished(storage.close);
  const NEXTAUTH_URL = "http://localhost:4321";
  const RELEASE_MIRROR = path.join(folder, "mirror");
  const env = { DATA_DIR: path.join(folder, "data"), NEXTAUTH_URL, RELEASE_MIRROR, ...storage?.env };
  const service = await startForTest({ ...env, ...(await anyDatabase()) });
  /** From where the files are, as the guide has it. */
  const run = async (heading: string, homeport = BY_NODE) => {
    const text = parts.get(heading) ?? "";
    expect(text).toContain("homeport release");
    const script = `set -eu\nhomeport() { ${homeport}; }\n${text}`;
    const PATH = `${path.join(folder, "bin")}:${process.env.PATH}`;
    const { stdout, stderr } = await promisify(execFile)("bash", ["-c", script], {
      cwd: folder,
      env: { NODE_ENV: "test", PATH, ...env },
    });
    expect(stderr).not.toContain("NOT verified");
    parts.delete(heading);
    return stdout;
  };

  expect(await run("Publishing")).toMatch(/core +windows +x64 +1\.4\.0 +stable +everyone +installer\+update/);
  await expect.poll(() => offered(service, "1.3.0")).toBe("1.4.0");
  expect(await run("Differential downloads")).toContain("Changed core-macos-universal-1.4.0");
  await writeAppcastTool(folder, NEXTAUTH_URL);
  expect(await run("Signed appcasts")).toContain("Published core-macos-universal-1.5.0");
  const feed = async () => (await service.fetch("/api/updates/core/stable/appcast.xml")).text();
  await expect.poll(feed).toBe(await readFile(path.join(folder, "signed.xml"), "utf8"));
  expect(await run("Staged rollouts")).toContain("core-windows-x64-1.5.0: paused");
  await expect.poll(() => offered(service, "1.4.0")).toBe("1.5.0");
  const [withdrawing, undoing] = (parts.get("Withdraw and roll back") ?? "").split(/(?=homeport release add)/);
  parts
    .set("withdraw", withdrawing ?? "")
    .set("undo", undoing ?? "")
    .delete("Withdraw and roll back");
  await run("withdraw");
  await expect.poll(() => offered(service, "1.5.0")).toBe("1.4.0");
  await run("undo");
  await expect.poll(() => offered(service, "1.5.0")).toBe("1.5.1");
  expect(await run("Change, promote and remove releases")).toContain(
    "core-windows-x64-1.5.2-stable: published on stable",
  );
  expect(await run("Verify published files")).toMatch(/valid, 0 invalid[\s\S]*valid, 0 invalid/);
  if (storage) {
    await run("Object storage");
    await expect.poll(() => offered(service, "1.5.1")).toBe("1.6.0");
    const download = await service.fetch("/api/download/windows?version=1.6.0");
    const bytes = await readFile(path.join(folder, "dist/Example Setup 1.6.0.exe"));
    expect(Buffer.from(await download.arrayBuffer()).equals(bytes)).toBe(true);
    expect(service.output()).not.toContain(storage.env.RELEASE_S3_SECRET_ACCESS_KEY);
  } else parts.delete("Object storage");
  const compare = () => run("Updates without the service").catch((error: { stdout: string }) => error.stdout);
  await expect.poll(compare).toMatch(/\d+ valid, 0 invalid/); // the mirror has the last change within seconds
  await run("Use a CDN", PROGRAM);
  await run("Serve the catalog from a URL");
  expect(JSON.parse(await readFile(path.join(folder, "site/catalog.json"), "utf8")).releases).toHaveLength(1);
  expect([...parts.keys()]).toEqual([]);
});
