import { createReadStream } from "node:fs";
import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { copyForExport } from "@/lib/platform/backup/create-backup";
import { decrypt } from "@/lib/platform/backup/encoding";
import { loadConfig } from "@/lib/platform/config";
import { openDatabase } from "@/lib/platform/db/open";
import { withSecrets } from "@/lib/platform/embedded-secrets";
import { loadDataKeys } from "@/lib/platform/keys/data-keys";
import { decryptSecret } from "@/lib/platform/keys/stored-secrets";
import { catalogFileOf } from "@/lib/releases/catalog/catalog";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";
import { checkExport, importExport } from "@/scripts/homeport/export/read-export";
import { readCatalog } from "@/scripts/homeport/export/releases";
import { writeExport } from "@/scripts/homeport/export/write-export";
import { copyEmbeddedDatabase, createMigratedDatabase, failAnalyze, postgresUrl } from "@/tests/support/database";
import { manifestEntry } from "@/tests/support/releases/entries";
import { describeFile, manifestText } from "@/tests/support/releases/releases";
import { syntheticRecords, writeSynthetic } from "./synthetic-export";

const newFolder = () => mkdtemp(path.join(tmpdir(), "homeport-export-"));
const newExport = async () => path.join(await newFolder(), "export");

let identity: string;
let recipient: string;
beforeAll(async () => {
  identity = await generateX25519Identity();
  recipient = await identityToRecipient(identity);
});

/** JSON that PostgreSQL cannot store. */
const DEEP = "[".repeat(1e6) + "]".repeat(1e6);

/** A service without data, on the embedded database or on PostgreSQL, with secrets of its own. */
async function newService(url?: string) {
  const DATA_DIR = await newFolder();
  if (!url) await copyEmbeddedDatabase(DATA_DIR);
  const server = url && {
    DATABASE_URL: url,
    NEXTAUTH_URL: "http://localhost",
    NEXTAUTH_SECRET: "s".repeat(32),
    RELEASE_CATALOG: path.join(DATA_DIR, "catalog.json"),
  };
  const config = await withSecrets(loadConfig({ DATA_DIR, DATABASE_SYNC: "off", ...server }));
  const database = await openDatabase(config, { onConnectionError: () => {} });
  const deps = { config, database, db: database.client, log: pino({ level: "silent" }), now: () => new Date() };
  return {
    deps,
    close: database.close,
    importFrom: async (folder: string, identities = [identity]) => {
      const checked = await checkExport({ folder, identities }, identities.length === 0, () => {});
      await importExport(deps, checked, () => {});
    },
    exportTo: (folder: string, hasSecrets = true, hasReleaseFiles = false) =>
      writeExport({
        folder,
        recipients: hasSecrets ? [recipient] : null,
        secrets: config.secrets,
        vapidPrivateKey: undefined,
        hasReleaseFiles,
        copyRows: async () => (await copyForExport(deps, {})).file,
        readCatalog: () => readCatalog(config),
      }),
  };
}

async function newServiceForTest(url?: string) {
  const service = await newService(url);
  onTestFinished(service.close);
  return service;
}

/** The contents of an export, decrypted. The manifest's date is left out. */
async function contentsOf(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).sort();
  const entries = names.map(async (name) => {
    const stream = createReadStream(path.join(folder, name));
    const content = await text(name.endsWith(".age") ? Readable.from(await decrypt(stream, [identity])) : stream);
    return [name, content.replace(/"createdAt": "[^"]+",\n {2}"files"/, "")] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

const linesOf = (records: unknown[]) => records.map((record) => `${JSON.stringify(record)}\n`).join("");

test("an export is imported, and exported again with the same bytes, by each database from the other", async () => {
  const first = await newExport();
  await writeSynthetic(first, { recipient });
  const embedded = await newServiceForTest();
  await embedded.importFrom(first);
  const second = await newExport();
  await embedded.exportTo(second);
  const exported = await contentsOf(second);
  for (const [kind, records] of Object.entries(syntheticRecords())) {
    expect(exported[`${kind}.ndjson`] ?? exported[`${kind}.ndjson.age`], kind).toBe(linesOf(records));
  }
  const [factor] = await embedded.deps.db.totpFactor.findMany({ where: { lastStep: { lt: 0 } } });
  const purpose = `totp:${factor?.accountId}`;
  expect(await decryptSecret(embedded.deps, purpose, factor?.secret ?? "")).toMatch(/^tab/);
  expect((await stat(second)).mode & 0o777).toBe(0o700);
  expect((await stat(path.join(second, "accounts.ndjson"))).mode & 0o777).toBe(0o600);
  if (!postgresUrl) return;

  const server = await newServiceForTest(await createMigratedDatabase());
  await server.importFrom(second);
  const third = await newExport();
  await server.exportTo(third);
  expect(await contentsOf(third)).toEqual(exported);
  const back = await newServiceForTest();
  await back.importFrom(third);
  const fourth = await newExport();
  await back.exportTo(fourth);
  expect(await contentsOf(fourth)).toEqual(exported);
});

test("without secrets, nothing that the database encrypts is exported", async () => {
  const [first, second, third] = [await newExport(), await newExport(), await newExport()];
  await writeSynthetic(first, { recipient });
  const service = await newServiceForTest();
  await service.importFrom(first);
  await service.exportTo(second, false);
  const names = await readdir(second);
  expect(names.filter((name) => name.endsWith(".age"))).toEqual([]);
  const other = await newServiceForTest();
  await other.importFrom(second, []);
  await other.exportTo(third, false);
  expect(await contentsOf(third)).toEqual(await contentsOf(second));
  const endpoint = await other.deps.db.webhookEndpoint.findFirstOrThrow();
  expect(await decryptSecret(other.deps, `webhook:${endpoint.id}`, endpoint.secret)).toMatch(/^whsec_/);
});

test("the files of releases are exported, verified, and written beside the catalog", async () => {
  const service = await newServiceForTest();
  const catalog = catalogFileOf(service.deps.config) as string;
  const bytes = Buffer.from("an installer");
  await mkdir(path.join(path.dirname(catalog), "core"), { recursive: true });
  await writeFile(path.join(path.dirname(catalog), "core/setup.exe"), bytes);
  const entry = manifestEntry({ artifacts: { installer: describeFile("core/setup.exe", bytes) } });
  await writeFile(catalog, manifestText([entry]));
  const [folder, again] = [await newExport(), await newExport()];
  await service.exportTo(folder, false, true);

  const other = await newServiceForTest();
  await writeSampleCatalog(catalogFileOf(other.deps.config) as string);
  const [file, damaged] = [path.join(folder, "files/core/setup.exe"), Buffer.from("another one")];
  await writeFile(file, damaged);
  await expect(other.importFrom(folder, [])).rejects.toMatchObject({ code: "export_damaged" });
  await writeFile(file, bytes);
  await other.importFrom(folder, []);
  const stored = path.join(path.dirname(catalogFileOf(other.deps.config) as string), "core/setup.exe");
  expect(await readFile(stored, "utf8")).toBe("an installer");
  await other.exportTo(again, false, true);
  expect(await readFile(path.join(again, "releases.ndjson"), "utf8")).toBe(linesOf([entry]));
  expect(JSON.parse(await readFile(path.join(again, "manifest.json"), "utf8"))).toMatchObject({
    releaseFiles: [{ file: "core/setup.exe", bytes: bytes.length }],
  });
});

test("a service with data is refused, and one that was only started is not", async () => {
  const folder = await newExport();
  await writeSynthetic(folder, { recipient });
  const service = await newServiceForTest();
  await loadDataKeys(service.deps);
  await service.importFrom(folder);
  await expect(service.importFrom(folder)).rejects.toMatchObject({ code: "target_not_empty" });
  await expect(service.exportTo(folder)).rejects.toMatchObject({ code: "folder_not_empty" });
});

test("an import succeeds if its statistics cannot be collected", async () => {
  const folder = await newExport();
  await writeSynthetic(folder, { recipient });
  const service = await newServiceForTest();
  await failAnalyze((script) => service.deps.db.$executeRawUnsafe(script));
  await service.importFrom(folder);
  expect(await service.deps.db.account.count()).toBe(syntheticRecords().accounts?.length);
});

test("a file and a link cannot be the folder of an export", async () => {
  const service = await newServiceForTest();
  const [file, link] = [await newExport(), await newExport()];
  await writeFile(file, "");
  await symlink(path.dirname(file), link);
  await expect(service.exportTo(file)).rejects.toMatchObject({ code: "folder_invalid" });
  await expect(service.exportTo(link)).rejects.toMatchObject({ code: "folder_invalid" });
});

describe("an export that was changed is refused, and nothing is imported", () => {
  type Tamper = (folder: string) => Promise<unknown>;
  const records = syntheticRecords();
  const [account, other] = records.accounts as [Record<string, unknown>, Record<string, unknown>];
  /** A whole export in which one file has other records, with a manifest that fits. */
  const withRecords =
    (kind: string, changed: unknown[]): Tamper =>
    (folder) =>
      writeSynthetic(folder, { recipient, files: { ...records, [kind]: changed } });
  const edit =
    (name: string, change: (content: string) => string): Tamper =>
    async (folder) => {
      const file = path.join(folder, name);
      await writeFile(file, change(await readFile(file, "utf8")));
    };

  const cases: [string, Tamper, string, RegExp][] = [
    ["a file is missing", (folder) => rm(path.join(folder, "purchases.ndjson")), "file_not_found", /^purchases.ndjson/],
    ["the manifest is missing", (folder) => rm(path.join(folder, "manifest.json")), "file_not_found", /manifest.json/],
    ["a later schema", edit("manifest.json", (text) => text.replace(":1,", ":2,")), "export_too_new", /version 2/],
    [
      "a file is truncated",
      (folder) => truncate(path.join(folder, "accounts.ndjson"), 500),
      "export_invalid",
      /^accounts.ndjson:1: .*not ended/,
    ],
    [
      "a line is missing",
      edit("accounts.ndjson", (text) => text.slice(text.indexOf("\n") + 1)),
      "export_damaged",
      /^accounts.ndjson: .*1 lines/,
    ],
    [
      "a letter is another",
      edit("accounts.ndjson", (text) => text.replace("tab", "tub")),
      "export_damaged",
      /^accounts.ndjson: .*SHA-256/,
    ],
    [
      "a secret is damaged",
      (folder) => appendFile(path.join(folder, "totp-factors.ndjson.age"), "x"),
      "export_damaged",
      /^totp-factors/,
    ],
    [
      "a type is another",
      withRecords("accounts", [{ ...account, email: 1 }]),
      "export_invalid",
      /^accounts.ndjson:1: email: must be a text/,
    ],
    [
      "a field is unknown",
      withRecords("accounts", [{ ...account, rôle: "admin" }]),
      "export_invalid",
      /^accounts.ndjson:1: rôle/,
    ],
    [
      "a field is missing",
      withRecords("accounts", [{ id: account.id }]),
      "export_invalid",
      /^accounts.ndjson:1: email/,
    ],
    [
      "a role is unknown",
      withRecords("accounts", [{ ...account, role: "root" }]),
      "export_invalid",
      /:1: role: must be one of/,
    ],
    [
      "a time is no time",
      withRecords("accounts", [{ ...account, createdAt: "2026-02-30T00:00:00.000Z" }]),
      "export_invalid",
      /createdAt/,
    ],
    ["a text has NUL", withRecords("accounts", [{ ...account, name: "a\0b" }]), "export_invalid", /name/],
    [
      "JSON has NUL",
      withRecords("audit-events", [{ ...(records["audit-events"]?.[0] as object), details: ["\0"] }]),
      "export_invalid",
      /details/,
    ],
    [
      "an id is there twice",
      withRecords("accounts", [account, account]),
      "export_invalid",
      /^accounts.ndjson:2: id: must be after/,
    ],
    [
      "an email is there twice",
      withRecords("accounts", [account, { ...other, email: account.email }]),
      "export_invalid",
      /^accounts.ndjson:2: email/,
    ],
    [
      "an account is missing",
      withRecords("accounts", [account]),
      "export_invalid",
      /^\S+.ndjson:2: accountId: is not in accounts/,
    ],
    [
      "a secret has no row",
      withRecords("webhook-endpoints", []),
      "export_invalid",
      /^webhook-secrets.ndjson.age:1: id/,
    ],
    ["a release is invalid", withRecords("releases", [{ id: "one" }]), "export_invalid", /^releases.ndjson:1: /],
    [
      "JSON is nested too deep",
      edit("audit-events.ndjson", (text) => text.replace(/"details":[^\n]*\n/, `"details":${DEEP}}\n`)),
      "export_invalid",
      /^audit-events.ndjson:1: details/,
    ],
    [
      "a line is not JSON",
      edit("accounts.ndjson", (text) => `{${text}`),
      "export_invalid",
      /^accounts.ndjson:1: must be a JSON object/,
    ],
    [
      "the manifest names what no object has but all inherit",
      edit("manifest.json", (text) => text.replace('"name":"accounts.ndjson"', '"name":"constructor.ndjson"')),
      "export_invalid",
      /^manifest.json: constructor.ndjson/,
    ],
    [
      "the manifest says that accounts are encrypted",
      edit("manifest.json", (text) =>
        text.replace('"accounts.ndjson","isEncrypted":false', '"accounts.ndjson.age","isEncrypted":true'),
      ),
      "export_invalid",
      /^manifest.json: accounts.ndjson.age/,
    ],
    [
      "a file is of no release",
      edit("manifest.json", (text) =>
        text.replace('"releaseFiles":[]', `"releaseFiles":[{"file":".env","bytes":0,"sha256":"${"0".repeat(64)}"}]`),
      ),
      "export_invalid",
      /^manifest.json: .env is a file of no release/,
    ],
    ["a line is an array", withRecords("accounts", [[]]), "export_invalid", /^accounts.ndjson:1/],
  ];

  let service: Awaited<ReturnType<typeof newService>>;
  beforeAll(async () => {
    service = await newService();
  });
  afterAll(() => service.close());

  test.each(cases)("%s", async (_, tamper, code, message) => {
    const folder = await newExport();
    await writeSynthetic(folder, { recipient });
    await tamper(folder);
    await expect(service.importFrom(folder)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    expect(await service.deps.db.account.count()).toBe(0);
  });

  test("the age key is missing, or another one", async () => {
    const folder = await newExport();
    await writeSynthetic(folder, { recipient });
    const check = (identities: string[]) => checkExport({ folder, identities }, false, () => {});
    await expect(check([])).rejects.toMatchObject({ code: "identity_required" });
    await expect(check([await generateX25519Identity()])).rejects.toMatchObject({ code: "wrong_key" });
  });
});
