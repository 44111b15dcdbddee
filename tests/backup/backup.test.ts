import { mkdtemp, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createDatabase } from "@/dev/postgres";
import { createBackup } from "@/lib/platform/backup/create-backup";
import type { BackupErrorCode } from "@/lib/platform/backup/format";
import { restoreEmbedded, restoreServer, verifyBackup } from "@/lib/platform/backup/restore";
import { backupReader } from "@/lib/platform/backup/store";
import { loadConfig } from "@/lib/platform/config";
import { newId } from "@/lib/platform/db/ids";
import { migrationNames } from "@/lib/platform/db/migrations";
import { databaseOf, openDatabase, serverParts } from "@/lib/platform/db/open";
import { postgresAdapter } from "@/lib/platform/db/server/adapter";
import { newAccount } from "@/tests/support/accounts";
import { ctx } from "@/tests/support/context";
import { createMigratedDatabase, failAnalyze, openMigratedEmbedded, postgresUrl } from "@/tests/support/database";

let folder: string;
/** A backup of the tests' database, not encrypted, and its name. */
let file: string;
let plain: string;

const readerOf = (place: string) => backupReader(ctx().config, place);
const newFolder = () => mkdtemp(path.join(tmpdir(), "homeport-backup-"));
const identityFile = undefined;

async function write(bytes: Uint8Array): Promise<string> {
  const place = path.join(await newFolder(), "file.backup");
  await writeFile(place, bytes);
  return place;
}

/** The backup with another text, as an age or gzip checksum would not notice it. */
const edited = (edit: (text: string) => string) => write(gzipSync(Buffer.from(edit(plain), "latin1")));

beforeAll(async () => {
  await newAccount();
  folder = await newFolder();
  const created = await createBackup(ctx(), folder);
  file = path.join(folder, created.file);
  plain = gunzipSync(await readFile(file)).toString("latin1");
});

test("a backup has a name by its time, is readable by its owner alone, and is recorded", async () => {
  expect(await readdir(folder)).toEqual([expect.stringMatching(/^homeport-\d{8}T\d{6}Z\.backup$/)]);
  const [header = ""] = plain.split("\n", 1);
  const { version } = ctx().config.build;
  expect(JSON.parse(header)).toMatchObject({ homeportBackup: 1, version, createdAt: expect.any(String) });
  const record = await ctx().db.backup.findFirst({ where: { file: path.basename(file) } });
  expect(record).toMatchObject({ error: null, endedAt: expect.any(Date), scheduledFor: null });
});

test("a backup is restored into a folder once, with every row", async () => {
  const { tables } = await verifyBackup({ read: readerOf(file), identityFile });
  expect(tables.find(({ name }) => name === "Account")?.rows).toBeGreaterThan(0);
  const dataDir = await newFolder();
  await restoreEmbedded({ read: readerOf(file), identityFile }, dataDir);
  expect(await readdir(dataDir)).toEqual(["db", "secrets.json"]);
  await expect(restoreEmbedded({ read: readerOf(file), identityFile }, dataDir)).rejects.toMatchObject({
    code: "target_not_empty",
  });
  const config = loadConfig({ DATA_DIR: dataDir, DATABASE_SYNC: "off" });
  const database = await openDatabase(config, { onConnectionError: () => {} });
  expect(await database.client.account.count()).toBe(tables.find(({ name }) => name === "Account")?.rows);
  await database.close();
});

test("a verification deletes the database that a killed one left a day ago", async () => {
  const [old, recent] = await Promise.all(
    ["old", "new"].map((name) => mkdtemp(path.join(tmpdir(), `homeport-verify-${name}-`))),
  );
  const dayAgo = new Date(Date.now() - 25 * 3_600_000);
  await writeFile(path.join(old ?? "", "file"), "");
  await utimes(old ?? "", dayAgo, dayAgo);
  await verifyBackup({ read: readerOf(file), identityFile });
  const names = await readdir(tmpdir());
  expect([old, recent].map((place = "") => names.includes(path.basename(place)))).toEqual([false, true]);
});

test.runIf(postgresUrl)("a backup is restored into an empty PostgreSQL database once", async () => {
  const url = await createDatabase(postgresUrl);
  const restore = async () => restoreServer({ read: readerOf(file), identityFile }, url, await newFolder(), () => {});
  await restore();
  const config = loadConfig({ DATABASE_URL: url, NEXTAUTH_URL: "http://localhost", NEXTAUTH_SECRET: "s".repeat(32) });
  const database = await openDatabase(config, { onConnectionError: () => {} });
  expect(await database.missingMigrations()).toEqual([]);
  expect(await database.client.account.count()).toBe(await ctx().db.account.count());
  await database.client.account.updateMany({ data: { name: "Ann" } });
  await database.close();
  await expect(restore()).rejects.toMatchObject({ code: "target_not_empty" });
});

/** A backup of a database with the given migrations and one account. Returns its name. */
async function backupWith(migrations: string[]): Promise<string> {
  const embedded = await openMigratedEmbedded(await newFolder());
  await embedded.copySession.exec("DROP SCHEMA public CASCADE; CREATE SCHEMA public"); // faster than a new database
  await embedded.migrate(migrations);
  const older = databaseOf(embedded.adapter, embedded, true);
  await older.client.$executeRaw`
    INSERT INTO "Account" (id, email, "updatedAt") VALUES (${newId()}::uuid, 'older@example.com', now())`;
  const to = await newFolder();
  const created = await createBackup({ ...ctx(), database: older }, to);
  await older.close();
  return path.join(to, created.file);
}

describe.runIf(postgresUrl)("a restore into PostgreSQL whose rows are committed", () => {
  const openAt = (url: string) =>
    databaseOf(
      postgresAdapter(url, 1, () => {}),
      serverParts(url),
      true,
    );

  test("continues in the migrations where it was interrupted, but not with another backup", async () => {
    const url = await createDatabase(postgresUrl);
    const database = openAt(url);
    onTestFinished(database.close);
    await database.client.$executeRaw`
      CREATE FUNCTION interrupt() RETURNS event_trigger LANGUAGE plpgsql AS $$
      DECLARE "isLoaded" boolean := false;
      BEGIN
        IF to_regclass('"Account"') IS NOT NULL THEN
          EXECUTE 'SELECT EXISTS (SELECT 1 FROM "Account")' INTO "isLoaded";
        END IF;
        IF "isLoaded" THEN RAISE 'interrupted'; END IF;
      END $$`;
    await database.client.$executeRaw`CREATE EVENT TRIGGER interrupt ON ddl_command_start EXECUTE FUNCTION interrupt()`;
    const [first = ""] = await migrationNames();
    const [older, other] = [await backupWith([first]), await backupWith([first])];
    const dataDir = await newFolder();
    const restore = (name: string) => restoreServer({ read: readerOf(name), identityFile }, url, dataDir, () => {});
    await expect(restore(older)).rejects.toThrow("interrupted");
    await database.client.$executeRaw`DROP EVENT TRIGGER interrupt`;
    await expect(restore(other)).rejects.toMatchObject({ code: "target_not_empty" });
    expect((await restore(older)).tables).toContainEqual(expect.objectContaining({ name: "Account", rows: 1 }));
    expect(await database.missingMigrations()).toEqual([]);
    expect(await database.client.account.findMany()).toMatchObject([{ email: "older@example.com" }]);
  });

  test("succeeds if its statistics cannot be collected", async () => {
    const url = await createMigratedDatabase();
    const database = openAt(url);
    onTestFinished(database.close);
    await failAnalyze((script) => database.client.$executeRawUnsafe(script));
    const lines: string[] = [];
    const dataDir = await newFolder();
    await restoreServer({ read: readerOf(file), identityFile }, url, dataDir, (line) => lines.push(line));
    expect(lines).toContainEqual(expect.stringMatching(/^ANALYZE failed, .*No space left on device/));
    expect(await database.client.account.count()).toBe(await ctx().db.account.count());
  });
});

test("a backup of an older version is restored and migrated", async () => {
  const older = await backupWith((await migrationNames()).slice(0, -1));
  const dataDir = await newFolder();
  await restoreEmbedded({ read: readerOf(older), identityFile }, dataDir);
  const config = loadConfig({ DATA_DIR: dataDir, DATABASE_SYNC: "off" });
  const database = await openDatabase(config, { onConnectionError: () => {} });
  expect(await database.missingMigrations()).toEqual([]);
  expect(await database.client.account.findMany()).toMatchObject([{ email: "older@example.com" }]);
  await database.close();
});

describe("a file that is not whole is refused:", () => {
  const bytes = () => readFile(file);
  const cut = (end: number) => async () => write((await bytes()).subarray(0, end));
  const refused: [name: string, code: BackupErrorCode, make: () => Promise<string>][] = [
    ["another file", "backup_invalid", async () => write(Buffer.from("a text that is long enough to be looked at"))],
    ["another gzip file", "backup_invalid", async () => edited(() => '{"a":1}\n')],
    ["one without its last byte", "backup_damaged", cut(-1)],
    ["one without its trailer", "backup_damaged", async () => edited((text) => text.replace(/\{"tables":.*\n$/, ""))],
    [
      "one with a changed row",
      "backup_damaged",
      async () => edited((text) => text.replaceAll("@example.com\t", "@example.org\t")),
    ],
    ["one that continues", "backup_damaged", async () => edited((text) => `${text}more\n`)],
    [
      "one with SQL for a table",
      "backup_damaged",
      async () => edited((text) => text.replace('"table":"Account"', '"table":"Acc\\"ount"')),
    ],
    ["a missing one", "file_not_found", async () => "/nowhere/a.backup"],
    [
      "one with a migration of a newer version",
      "backup_too_new",
      async () => edited((text) => text.replace('"migrations":[', '"migrations":["30000101000000_later",')),
    ],
    [
      "one of a later format",
      "backup_too_new",
      async () => edited((text) => text.replace('"homeportBackup":1', '"homeportBackup":2')),
    ],
  ];

  test.each(refused)("%s", async (_, code, make) => {
    await expect(verifyBackup({ read: readerOf(await make()), identityFile })).rejects.toMatchObject({ code });
  });
});

test("an encrypted backup is restored with its age key alone", async () => {
  const [own, other] = [await generateX25519Identity(), await generateX25519Identity()];
  const config = { ...ctx().config, BACKUP_RECIPIENT: await identityToRecipient(own) };
  const created = await createBackup({ ...ctx(), config }, folder);
  expect(created.isEncrypted).toBe(true);
  const encrypted = path.join(folder, created.file);
  const bytes = await readFile(encrypted);
  expect(bytes.toString("latin1")).toMatch(/^age-encryption\.org\/v1\n/);
  const keyFile = async (text: string) => write(Buffer.from(text));
  const verify = (identity: string | undefined, at = encrypted) =>
    verifyBackup({ read: readerOf(at), identityFile: identity });

  const good = await keyFile(`# created: 2026-11-23T00:00:00Z\n# public key: age1\n${own}\n`);
  expect((await verify(good)).tables.length).toBeGreaterThan(30);
  await expect(verify(undefined)).rejects.toMatchObject({ code: "identity_required" });
  await expect(verify(await keyFile(`${other}\n`))).rejects.toMatchObject({ code: "wrong_key" });
  await expect(verify(await keyFile("secret\n"))).rejects.toMatchObject({ code: "identity_invalid" });
  await expect(verify(await keyFile("\n"))).rejects.toMatchObject({ code: "identity_invalid" });
  const damaged = [bytes.subarray(0, -1), bytes.subarray(0, 300), bytes.subarray(0, bytes.length / 2)];
  for (const part of damaged) {
    await expect(verify(good, await write(part))).rejects.toMatchObject({ code: "backup_damaged" });
  }
});

test("a backup that fails leaves no file, and is recorded with its reason", async () => {
  const place = await newFolder();
  await writeFile(path.join(place, "file"), "");
  await expect(createBackup(ctx(), path.join(place, "file/below"))).rejects.toMatchObject({ code: "backup_failed" });
  const config = { ...ctx().config, BACKUP_RECIPIENT: "age1wrong" };
  await expect(createBackup({ ...ctx(), config }, place)).rejects.toMatchObject({ code: "backup_failed" });
  expect(await readdir(place)).toEqual(["file"]);
  await expect(createBackup(ctx(), "s3://bucket/backups")).rejects.toMatchObject({ code: "backup_not_configured" });
  const [last] = await ctx().db.backup.findMany({ orderBy: { startedAt: "desc" }, take: 1 });
  expect(last?.error).toContain("BACKUP_S3_ENDPOINT");
});

test("a database is backed up once at a time", async () => {
  const both = await Promise.allSettled([
    createBackup(ctx(), await newFolder()),
    createBackup(ctx(), await newFolder()),
  ]);
  expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  expect(both[1]).toMatchObject({ reason: { code: "backup_in_progress" } });
});
