import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createMigratedDatabase, postgresUrl } from "@/tests/support/database";
import { startCommand } from "@/tests/support/process/command";
import { canMount, newDisk } from "@/tests/support/process/disk";
import {
  bearer,
  newDataDir,
  registerAt,
  type Service,
  startForTest,
  startService,
} from "@/tests/support/process/service";

const homeport = (args: string[], env: Record<string, string>) => startCommand("homeport", args, env).ended;
const newFolder = () => mkdtemp(path.join(tmpdir(), "homeport-backups-"));

const statusOf = async ({ fetch }: Service, token: string) =>
  (await fetch("/api/auth/factors", { headers: bearer(token) })).status;

let service: Service;
let token: string;
beforeAll(async () => {
  service = await startService();
  token = (await registerAt(service)).token;
});
afterAll(() => service.end("SIGKILL"));

test.runIf(canMount)("a full disk leaves no backup, and the service goes on", async () => {
  const disk = await newDisk(8);
  await disk.leaveFree(1_024);
  expect(await homeport(["backup", "--to", disk.folder], { DATA_DIR: service.dataDir })).toMatchObject({
    code: 1,
    stdout: "",
    stderr: "There is no space for the file\n",
  });
  expect((await readdir(disk.folder)).filter((name) => name.startsWith("homeport"))).toEqual([]);
  expect(await statusOf(service, token)).toBe(200);
});

test.runIf(postgresUrl)("a kill leaves no backup, or a whole one", async () => {
  const place = await newFolder();
  const server = { NEXTAUTH_URL: "http://localhost", NEXTAUTH_SECRET: "s".repeat(32) };
  const env = { ...server, DATABASE_URL: await createMigratedDatabase(), DATA_DIR: await newDataDir() };
  const { child, ended } = startCommand("homeport", ["backup", "--to", place], env);
  while ((await readdir(place)).length === 0 && child.exitCode === null) await delay(1);
  child.kill("SIGKILL");
  await ended;
  for (const name of await readdir(place)) expect(name).toMatch(/\.backup(\.partial)?$/);
});

test("a backup of a running service is restored after its folder is lost, and the session is still valid", async () => {
  const { dataDir } = service;
  const [backups, own, other] = [await newFolder(), await generateX25519Identity(), await generateX25519Identity()];
  const [key, wrongKey] = [path.join(backups, "key.txt"), path.join(backups, "wrong.txt")];
  await Promise.all([writeFile(key, `${own}\n`), writeFile(wrongKey, `${other}\n`)]);

  const made = await homeport(["backup", "--to", backups], { DATA_DIR: dataDir });
  expect(made).toMatchObject({ code: 0, stderr: expect.stringMatching(/not encrypted/) });
  const plain = made.stdout.trim();
  expect(await statusOf(service, token)).toBe(200);
  await service.end("SIGTERM");

  const BACKUP_RECIPIENT = await identityToRecipient(own);
  const stopped = await homeport(["backup", "--to", backups, "--json"], { DATA_DIR: dataDir, BACKUP_RECIPIENT });
  const { file, isEncrypted } = JSON.parse(stopped.stdout);
  expect({ isEncrypted, stderr: stopped.stderr }).toEqual({ isEncrypted: true, stderr: "" });
  const encrypted = path.join(backups, file);
  expect(await homeport(["backup", "verify", encrypted, "--identity", wrongKey], {})).toEqual(
    expect.objectContaining({ code: 1, stdout: "", stderr: "The file is encrypted for another key.\n" }),
  );

  const secretsFile = path.join(dataDir, "secrets.json");
  const secrets = await readFile(secretsFile, "utf8");
  await rm(dataDir, { recursive: true });
  const env = { DATA_DIR: dataDir, BACKUP_IDENTITY_FILE: key };
  const restore = (from: string) => homeport(["restore", from], env);
  await truncate(plain, 1_000);
  expect(await restore(plain)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^The backup is truncated.*\n$/),
  });
  const { child, ended } = startCommand("homeport", ["restore", encrypted], env);
  while (!existsSync(path.join(dataDir, "restore/db/PG_VERSION"))) await delay(1);
  child.kill("SIGKILL");
  await ended;
  expect(await restore(encrypted)).toMatchObject({ code: 0 });
  expect(JSON.parse(await readFile(secretsFile, "utf8"))).toMatchObject(JSON.parse(secrets));
  expect(await restore(encrypted)).toMatchObject({ code: 1, stderr: expect.stringMatching(/has a database/) });

  const restored = await startForTest({ DATA_DIR: dataDir });
  expect(await statusOf(restored, token)).toBe(200);
});
