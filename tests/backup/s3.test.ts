import { randomBytes } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createBackup } from "@/lib/platform/backup/create-backup";
import { verifyBackup } from "@/lib/platform/backup/restore";
import { backupReader, openStore } from "@/lib/platform/backup/store";
import { loadConfig } from "@/lib/platform/config";
import { ctx } from "@/tests/support/context";
import { hasObjectStorage, type Storage, startObjectStorage } from "@/tests/support/network/object-storage";

const TO = "s3://releases/nightly & co";
const MEBIBYTE = 1024 * 1024;

let storage: Storage;
let config: ReturnType<typeof loadConfig>;

/** The tests' configuration with the bucket's. */
const own = () => ({ ...ctx().config, ...config, DATA_DIR: ctx().config.DATA_DIR, secrets: ctx().config.secrets });

describe.runIf(hasObjectStorage)("backups in a bucket", () => {
  beforeAll(async () => {
    storage = await startObjectStorage();
    const { RELEASE_S3_ENDPOINT, RELEASE_S3_REGION, RELEASE_S3_ACCESS_KEY_ID, RELEASE_S3_SECRET_ACCESS_KEY } =
      storage.env;
    config = loadConfig({
      BACKUP_TO: "s3://releases/nightly",
      BACKUP_SCHEDULE: "hourly",
      BACKUP_KEEP: "1/0/0",
      BACKUP_S3_ENDPOINT: RELEASE_S3_ENDPOINT,
      BACKUP_S3_REGION: RELEASE_S3_REGION,
      BACKUP_S3_ACCESS_KEY_ID: RELEASE_S3_ACCESS_KEY_ID,
      BACKUP_S3_SECRET_ACCESS_KEY: RELEASE_S3_SECRET_ACCESS_KEY,
    });
  });
  afterAll(() => storage.close());

  test("a file of several parts is stored, listed and removed", async () => {
    const store = openStore(config, TO);
    const chunks = Array.from({ length: 5 }, () => randomBytes(4 * MEBIBYTE));
    const all = Buffer.concat(chunks);
    const size = await store.write(
      "a.backup",
      (async function* () {
        yield* chunks;
      })(),
    );
    expect(size).toBe(all.length);
    expect(await store.list()).toEqual(["a.backup"]);
    expect((await buffer(store.read("a.backup"))).equals(all)).toBe(true);
    await store.remove("a.backup");
    expect(await store.list()).toEqual([]);
  });

  test("a file whose source fails does not appear, and a wrong key has a clear error", async () => {
    const store = openStore(config, TO);
    const failing = (async function* () {
      yield randomBytes(17 * MEBIBYTE);
      throw new Error("the database is gone");
    })();
    await expect(store.write("b.backup", failing)).rejects.toThrow("the database is gone");
    expect(await store.list()).toEqual([]);
    const wrong = openStore({ ...config, BACKUP_S3_SECRET_ACCESS_KEY: "another" }, TO);
    await expect(wrong.list()).rejects.toThrow("The storage returned status 403: SignatureDoesNotMatch");
  });

  test("a backup is verified where it is, and one that is missing is named", async () => {
    const { file, sizeBytes } = await createBackup({ ...ctx(), config: own() }, TO);
    expect(sizeBytes).toBeGreaterThan(0);
    const verify = (name: string) =>
      verifyBackup({ read: backupReader(config, `${TO}/${name}`), identityFile: undefined });
    expect((await verify(file)).tables.length).toBeGreaterThan(30);
    await expect(verify("other.backup")).rejects.toMatchObject({
      code: "file_not_found",
      message: "The file cannot be read: The storage returned status 404: NoSuchKey.",
    });
    await openStore(config, TO).remove(file);
  });
});
