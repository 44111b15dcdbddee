import { mkdtemp, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeEach, expect, test } from "vitest";
import { createBackup } from "@/lib/platform/backup/create-backup";
import { backupName, expiredNames } from "@/lib/platform/backup/names";
import { readBackupState, runScheduledBackup } from "@/lib/platform/backup/schedule";
import { ConfigError, loadConfig } from "@/lib/platform/config";
import { clock, ctx } from "@/tests/support/context";

const HOUR_MS = 3_600_000;

let folder: string;
const scheduled = (schedule: string, to = folder) => {
  const { BACKUP_SCHEDULE, BACKUP_TO, BACKUP_KEEP } = loadConfig({
    BACKUP_SCHEDULE: schedule,
    BACKUP_TO: to,
    BACKUP_KEEP: "2/1/1",
  });
  return { ...ctx(), config: { ...ctx().config, BACKUP_SCHEDULE, BACKUP_TO, BACKUP_KEEP } };
};

beforeEach(async () => {
  await ctx().db.backup.deleteMany();
  folder = await mkdtemp(path.join(tmpdir(), "homeport-scheduled-"));
});

test("a scheduled backup is made once by all processes, and again at its next time", async () => {
  const [one, other] = [scheduled("hourly"), scheduled("hourly")];
  await Promise.all([runScheduledBackup(one), runScheduledBackup(other)]);
  await runScheduledBackup(one);
  expect(await readdir(folder)).toHaveLength(1);
  expect(await ctx().db.backup.count()).toBe(1);
  clock.advance(HOUR_MS);
  await runScheduledBackup(one);
  await runScheduledBackup(ctx()); // no schedule
  expect(await ctx().db.backup.count()).toBe(2);
});

test("a failed backup is repeated after 15 minutes, and one that was killed after 6 hours", async () => {
  clock.advance(HOUR_MS - (clock.now().getTime() % HOUR_MS)); // a full hour
  const blocked = path.join(folder, "file");
  await writeFile(blocked, "");
  const deps = scheduled("0 0 * * *", blocked);
  const attempts = () => ctx().db.backup.findMany({ select: { startedAt: true, endedAt: true } });
  await expect(runScheduledBackup(deps)).rejects.toMatchObject({ code: "backup_failed" });
  const [first] = await attempts();
  await runScheduledBackup(deps);
  expect(await attempts()).toEqual([first]);
  clock.advance(16 * 60 * 1000);
  await expect(runScheduledBackup(deps)).rejects.toMatchObject({ code: "backup_failed" });

  const startedAt = new Date(clock.now().getTime() - 7 * HOUR_MS);
  await ctx().db.backup.updateMany({ data: { endedAt: null, error: null, startedAt } });
  await runScheduledBackup(scheduled("0 0 * * *"));
  expect((await readdir(folder)).filter((name) => name.endsWith(".backup"))).toHaveLength(1);
});

test("a scheduled backup waits for one that an operator makes at the same time", async () => {
  const deps = scheduled("hourly");
  const manual = createBackup(deps, await mkdtemp(path.join(tmpdir(), "homeport-manual-")));
  await runScheduledBackup(deps);
  expect(await readdir(folder)).toEqual([]);
  await manual;
  await runScheduledBackup(deps);
  expect(await readdir(folder)).toHaveLength(1);
});

test("a backup is late if none has succeeded since the time before the last", async () => {
  const deps = scheduled("hourly");
  expect(await readBackupState(deps)).toEqual({ lastSuccessAt: null, isLate: true });
  await runScheduledBackup(deps);
  expect(await readBackupState(deps)).toEqual({ lastSuccessAt: expect.any(Date), isLate: false });
  clock.advance(3 * HOUR_MS);
  expect(await readBackupState(deps)).toMatchObject({ isLate: true });
  expect(await readBackupState(ctx())).toMatchObject({ isLate: false });
});

test("old backups are removed, and no other file", async () => {
  const names = ["homeport.txt", "homeport-20200101T000000Z.backup.partial", "other-20200101T000000Z.backup"];
  for (const name of [...names, backupName(new Date(0)), backupName(new Date(HOUR_MS))]) {
    await writeFile(path.join(folder, name), "");
  }
  await runScheduledBackup(scheduled("daily 03:00"));
  const left = await readdir(folder);
  expect(left).toEqual(expect.arrayContaining(["homeport.txt", "other-20200101T000000Z.backup"]));
  expect(left).toContain(backupName(new Date(HOUR_MS))); // the second newest day
  expect(left).not.toContain(backupName(new Date(0)));
});

test("the newest backup of each of the last days, weeks and months is kept", () => {
  const days = Array.from({ length: 400 }, (_, day) => new Date(Date.UTC(2026, 0, 1 + day, 3)));
  const names = days.flatMap((at) => [backupName(at), backupName(new Date(at.getTime() + HOUR_MS))]);
  const expired = new Set(expiredNames(names, { daily: 3, weekly: 2, monthly: 3 }));
  expect(names.filter((name) => !expired.has(name))).toEqual([
    "homeport-20261231T040000Z.backup", // December's
    "homeport-20270131T040000Z.backup", // January's, and last week's
    "homeport-20270202T040000Z.backup",
    "homeport-20270203T040000Z.backup",
    "homeport-20270204T040000Z.backup", // today's, this week's and February's
  ]);
  expect(expiredNames(names, { daily: 0, weekly: 0, monthly: 0 })).not.toContain(names.at(-1));
  for (const other of [[], ["homeport-20261399T030000Z.backup"]]) {
    expect(expiredNames(other, { daily: 1, weekly: 1, monthly: 1 })).toEqual([]);
  }
});

test.each([
  ["hourly", "0 * * * *"],
  ["daily", "0 3 * * *"],
  ["daily 23:05", "5 23 * * *"],
])("BACKUP_SCHEDULE=%s is %s", (given, cron) => {
  expect(loadConfig({ BACKUP_SCHEDULE: given, BACKUP_TO: "/backups" }).BACKUP_SCHEDULE).toBe(cron);
});

test.each([
  [{ BACKUP_SCHEDULE: "daily 25:00", BACKUP_TO: "/backups" }, /BACKUP_SCHEDULE: must be hourly/],
  [{ BACKUP_SCHEDULE: "daily" }, /BACKUP_TO: is required with BACKUP_SCHEDULE/],
  [{ BACKUP_TO: "s3://acme-backups/homeport" }, /BACKUP_S3_ENDPOINT: is required/],
  [{ BACKUP_TO: "https://example.com" }, /BACKUP_TO: must be a folder or s3/],
  [{ BACKUP_KEEP: "7" }, /BACKUP_KEEP: must be three numbers/],
  [{ BACKUP_RECIPIENT: "AGE-SECRET-KEY-1ABC" }, /BACKUP_RECIPIENT: must be an age recipient/],
])("%o is refused", (env, message) => {
  expect(() => loadConfig(env)).toThrow(ConfigError);
  expect(() => loadConfig(env)).toThrow(message);
});
