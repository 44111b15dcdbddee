import { readdirSync, statSync } from "node:fs";
import { mkdir, readdir, rm, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { canMount, newDisk } from "@/tests/support/process/disk";
import { preparedDataDir, type Service, startAndFail, startForTest } from "@/tests/support/process/service";
import { withStoppedDatabase } from "@/tests/support/process/stopped-database";

const RELEASE = "platform=windows&product=core&architecture=x64";

/** The service serves what needs no database, and refuses the rest with `code`. `checks` is what its health says. */
async function requireUpdatesOnly(service: Service, code: string, checks: object): Promise<void> {
  const health = await service.fetch("/api/health");
  expect([health.status, await health.json()]).toEqual([503, expect.objectContaining({ status: "error", checks })]);
  const login = await service.post("/api/auth/login", { email: "ann@example.com", password: "whatever it is" });
  expect([login.status, await login.json()]).toEqual([503, expect.objectContaining({ code })]);
  const paths = ["/api/version", `/api/version?${RELEASE}`, `/api/version?${RELEASE}&format=tauri&current=1.0.0`];
  for (const served of [...paths, "/api/updates/core/stable/latest.yml", "/api/download/windows?product=core"]) {
    expect([served, (await service.fetch(served)).status]).toEqual([served, 200]);
  }
}

test.runIf(canMount)(
  "a first start on a full disk serves updates, names the disk, and opens the database once there is space",
  async () => {
    const disk = await newDisk(256);
    const dataDir = path.join(disk.folder, "data");
    await disk.leaveFree(12 * 2 ** 20); // enough for the sample releases
    const service = await startForTest({ DATA_DIR: dataDir });
    await requireUpdatesOnly(service, "storage_full", { database: "ok", storage: "error", catalog: "ok" });
    const text = `The disk with ${dataDir}/db is full \\(\\d+ MB are free\\), so the embedded database cannot be opened. Free 96 MB.`;
    await expect.poll(service.output).toMatch(new RegExp(text));

    await disk.freeAll();
    await expect.poll(async () => (await service.fetch("/api/health")).status).toBe(200);
    const person = { email: "ann@example.com", password: "a good long password" };
    expect((await service.post("/api/auth/register", person)).status).toBe(201);
    expect(await service.end("SIGTERM")).toBe(0);
  },
);

test.runIf(canMount)("a start on a full disk serves updates and reads, and names the disk", async () => {
  const disk = await newDisk(256);
  const dataDir = await preparedDataDir(path.join(disk.folder, "data"));
  const first = await startForTest({ DATA_DIR: dataDir });
  await first.end("SIGKILL");
  await mkdir(path.join(disk.folder, "another"));
  await disk.fill();
  const service = await startForTest({ DATA_DIR: dataDir });
  await requireUpdatesOnly(service, "storage_full", { database: "ok", storage: "error", catalog: "ok" });
  await expect.poll(service.output).toMatch(/the disk is almost full|is full/);
  const { code, output } = await startAndFail({ DATA_DIR: path.join(disk.folder, "another") });
  expect([code, output]).toEqual([1, expect.stringMatching(/another\/db is full \(0 MB are free\).* Free 96 MB\.\n$/)]);
  expect(service.output()).toContain(dataDir);
  await disk.freeAll();
  await expect.poll(async () => (await service.fetch("/api/health")).status).toBe(200);
});

const inFolder = (...names: string[]) => {
  const folder = path.join(...names);
  return readdirSync(folder)
    .filter((name) => /^[0-9A-F]+$/.test(name))
    .map((name) => path.join(folder, name));
};
const garble = (file: string) => writeFile(file, Buffer.alloc(statSync(file).size, 0x5a));

test.each<[string, (db: string) => Promise<unknown>]>([
  ["a truncated pg_control", (db) => truncate(path.join(db, "global/pg_control"), 100)],
  ["garbled catalogs", (db) => Promise.all(inFolder(db, "base/5").map(garble))],
  ["a lost write-ahead log", (db) => Promise.all(inFolder(db, "pg_wal").map((file) => rm(file)))],
])("a start on %s serves updates and names the folder and the remedy", async (_, damage) => {
  const dataDir = await preparedDataDir();
  const db = path.join(dataDir, "db");
  await damage(db);
  const service = await startForTest({ DATA_DIR: dataDir });
  await requireUpdatesOnly(service, "unavailable", { database: "error", storage: "ok", catalog: "ok" });
  await expect.poll(service.output).toContain(`The embedded database in ${db} is damaged and cannot be opened (`);
  expect(service.output()).toContain("`homeport restore FILE`");
});

test("a database from before 1.0.0 is refused with a sentence, and is left without a lock", async () => {
  const dataDir = await preparedDataDir();
  await withStoppedDatabase(
    { DATA_DIR: dataDir },
    (db) => db.$executeRaw`UPDATE _prisma_migrations SET migration_name = replace(migration_name, '202611', '202610')`,
  );
  const { code, output } = await startAndFail({ DATA_DIR: dataDir });
  expect(code).toBe(1);
  expect(output).toContain(
    `The database in ${dataDir}/db is of a version before 1.0.0, which this version cannot upgrade.`,
  );
  expect(await readdir(dataDir)).not.toContain("db.lock");
});
