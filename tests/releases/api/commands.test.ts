import { writeFile } from "node:fs/promises";
import path from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { UsageError } from "@/scripts/command-line";
import { HomeportCommand } from "@/scripts/homeport/command";
import { defineRelease } from "@/scripts/homeport/commands/release";
import { catalogFileStore } from "@/scripts/homeport/release/catalog-file-store";
import { critical, edit, promote, rollback, yank } from "@/scripts/homeport/release/change";
import type { ReleaseCommand } from "@/scripts/homeport/release/define-release-command";
import { parseDraft, parseFields } from "@/scripts/homeport/release/draft";
import type { OptionSpecs, Values } from "@/scripts/homeport/release/options";
import { verify } from "@/scripts/homeport/release/read";
import { prune, remove } from "@/scripts/homeport/release/removal";
import { rollout } from "@/scripts/homeport/release/rollout";
import { createAdminApi } from "@/scripts/homeport/transport/admin-api";
import { clientOf } from "@/scripts/homeport/transport/http-client";
import {
  build,
  newFolder,
  publish,
  publishAll,
  releasesOf,
  type TestFolder,
} from "@/tests/support/releases/publishing";
import { newSigningKey, signAppcast } from "@/tests/support/releases/signing";

const ADD = ["add", "setup.exe", "--product", "core", "--platform", "windows", "--arch", "x64"];
const ID = "core-windows-x64-2.3.0";

/** Runs `homeport release` in this process, for arguments that it refuses. */
function release(...args: string[]): Promise<unknown> {
  const command = new HomeportCommand("release");
  defineRelease(command);
  return command.parseAsync(args, { from: "user" });
}

afterEach(() => void vi.unstubAllEnvs());

describe("homeport release refuses", () => {
  test.each([
    [ADD, "--version"],
    [[...ADD, "--version", "1.0.0", "--notes", "notse/1.0.0.md"], "The file notse/1.0.0.md does not exist"],
    [[...ADD, "--version", "1.0.0", "--appcast", "none.xml"], "The file none.xml cannot be read"],
    [[...ADD, "--version", "1.0.0", "--appcast", process.execPath], "is not UTF-8"],
    [["urls", "--product", "core", "--platform", "macos"], "urls requires --arch, --version"],
    [["urls", ...ADD.slice(2), "--version", "1.0.0", "--catalog", "c.json"], "urls asks the service"],
    [["edit", "1.0.0"], "at least one option"],
    [["rollout", ID, "--steps", "5"], "--every"],
    [["rollout", ID, "--steps", "5", "--every", "1h", "--halt"], "are mutually exclusive"],
    [["adoption", "--days", "0"], "from 1 to 92"],
  ])("%j: %s", async (args, message) => {
    const refused = expect(release(...args)).rejects;
    await refused.toThrow(UsageError);
    await refused.toThrow(message);
  });

  test.each([
    ["http://updates.example.com", "a-key", "https"],
    ["https://updates.example.com", "", "HOMEPORT_API_KEY"],
    ["https://updates.example.com", "hp_one\nhp_two", "HOMEPORT_API_KEY must be one API key"],
    ["https://updates.example.com", "hp_ключ", "HOMEPORT_API_KEY must be one API key"],
  ])("the service at %s with the key %j", async (url, key, message) => {
    vi.stubEnv("HOMEPORT_URL", url);
    vi.stubEnv("HOMEPORT_API_KEY", key);
    const refused = expect(release("list")).rejects;
    await refused.toThrow(UsageError);
    await refused.toThrow(message);
    await refused.toThrow(/^(?!.*hp_)/s); // which is logged
  });
});

test("a signed appcast names the signature and the build version of its file", async () => {
  const [folder, key, bytes] = [await newFolder(), newSigningKey(), Buffer.from("archive")];
  const file = await build(folder, "Acme.zip", bytes);
  const url = "https://updates.example.com/api/updates/core/stable/1.4.0/macos-universal/Acme.zip";
  const enclosure = `<enclosure url="${url}" sparkle:edSignature="${key.ed(bytes)}"/>`;
  const versions =
    "<sparkle:version>42</sparkle:version><sparkle:shortVersionString>1.4.0</sparkle:shortVersionString>";
  const document = signAppcast(`<rss><channel><item>${versions}${enclosure}</item></channel></rss>\r\n`, key);
  const appcast = await build(folder, "appcast.xml", Buffer.from(document));
  const target = { product: "core", platform: "macos", arch: "universal", version: "1.4.0" };
  await publishAll(folder, [await parseDraft(file, { ...target, kind: ["update"], appcast, "ed-key": [key.edKey] })]);
  expect(await releasesOf(folder)).toMatchObject([
    {
      buildVersion: "42",
      signedDocuments: { sparkle: document },
      artifacts: { update: { edSignature: key.ed(bytes) } },
    },
  ]);
});

test("release notes are a file's text, or the argument itself", async () => {
  const file = path.join((await newFolder()).folder, "1.0.0.md");
  await writeFile(file, "Starts **faster**.");
  const notesOf = async (notes: string) => (await parseFields({ notes })).notes;
  expect(await notesOf(file)).toBe("Starts **faster**.");
  for (const text of ["", `See CHANGES.md ${"and more ".repeat(100)}`]) expect(await notesOf(text)).toBe(text);
});

describe("with --catalog, homeport release", () => {
  /** Runs a command with these options and arguments. Returns the document that --json prints. */
  async function documentOf<Specs extends OptionSpecs>(
    { manifest }: TestFolder,
    command: ReleaseCommand<Specs>,
    values: Values<Specs>,
    ...positionals: string[]
  ): Promise<unknown> {
    const documents: unknown[] = [];
    const output = {
      isJson: true,
      result: (one: unknown) => void documents.push(one),
      table: () => {},
      note: () => {},
    };
    const api = createAdminApi(clientOf("none", () => Promise.reject(new Error("A request was sent"))));
    const openStore = async () => catalogFileStore(manifest, null);
    await command({ api, output, openStore, hasOwnCatalog: true }, values, positionals);
    expect(documents).toHaveLength(1);
    return documents[0];
  }

  test("prints one document for each change", async () => {
    const folder = await newFolder();
    await publish(folder, await build(folder, "setup.exe"), "2.3.0", { release: { channel: "beta" } });
    const changed = { releases: [{ id: ID, outcome: "changed" }], newerServed: [], notes: [] };
    expect(await documentOf(folder, edit, { notes: "Faster", critical: true }, "2.3.0")).toEqual(changed);
    expect(await documentOf(folder, edit, { critical: false }, "2.3.0")).toEqual(changed);
    expect(await documentOf(folder, rollout, {}, ID, "12.5")).toEqual(changed);
    expect(await documentOf(folder, promote, { from: "beta", to: "stable" }, "2.3.0")).toEqual({
      releases: [{ id: `${ID}-stable`, from: ID, outcome: "added" }],
    });
    for (const command of [yank, rollback, critical])
      expect(await documentOf(folder, command, {}, ID)).toEqual(changed);
    expect(await documentOf(folder, verify, {})).toEqual({ valid: 1, invalid: 0, problems: [] });
    const removed = { releases: [ID], files: [], elsewhere: [] };
    expect(await documentOf(folder, remove, { "dry-run": true }, ID)).toEqual({ dryRun: true, ...removed });
    expect(await documentOf(folder, remove, { yes: true }, ID)).toEqual({ dryRun: false, ...removed });
    expect(await documentOf(folder, prune, { keep: "1", yes: true })).toEqual({
      dryRun: false,
      releases: [],
      files: [],
      freedBytes: 0,
      elsewhere: [],
    });
  });
});
