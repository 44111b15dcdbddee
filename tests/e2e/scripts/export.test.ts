import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Decrypter, generateX25519Identity, identityToRecipient } from "age-encryption";
import { beforeAll, expect, test } from "vitest";
import { syntheticRecords, writeSynthetic } from "@/tests/scripts/export/synthetic-export";
import { createMigratedDatabase, postgresUrl } from "@/tests/support/database";
import { startCommand } from "@/tests/support/process/command";
import { canMount, newDisk } from "@/tests/support/process/disk";
import { newDataDir, preparedDataDir, registerAt, startForTest } from "@/tests/support/process/service";

const KILLS = 10;
const ACCOUNTS = 20_000;

const homeport = (args: string[], env: Record<string, string>) => startCommand("homeport", args, env).ended;
const newFolder = async () => path.join(await mkdtemp(path.join(tmpdir(), "homeport-export-")), "export");

let identity: string;
let key: string;
let secrets: string[];
beforeAll(async () => {
  identity = await generateX25519Identity();
  key = path.join(await mkdtemp(path.join(tmpdir(), "homeport-key-")), "key.txt");
  await writeFile(key, `${identity}\n`);
  secrets = ["--with-secrets", "--recipient", await identityToRecipient(identity)];
});

const SERVER = { NEXTAUTH_URL: "http://localhost", NEXTAUTH_SECRET: "s".repeat(32) };
const newServer = async () => ({
  ...SERVER,
  DATABASE_URL: await createMigratedDatabase(),
  DATA_DIR: await newDataDir(),
});

/** The files of an export, decrypted, without the manifest's date. */
async function contentsOf(folder: string): Promise<Record<string, string>> {
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  const entries = (await readdir(folder)).sort().map(async (name) => {
    const bytes = await readFile(path.join(folder, name));
    if (name.endsWith(".age")) return [name, await decrypter.decrypt(bytes, "text")] as const;
    return [name, bytes.toString().replace(/"createdAt": "[^"]+",\n {2}"files"/, "")] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

test.runIf(postgresUrl)(
  "a running service is exported, imported on PostgreSQL, and back, and its users sign in",
  async () => {
    const source = await startForTest();
    const { email, password } = await registerAt(source);
    const [first, second, third] = [await newFolder(), await newFolder(), await newFolder()];
    const made = await homeport(["export", "--to", first, ...secrets], { DATA_DIR: source.dataDir });
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^accounts.ndjson\t1$/m) });
    expect(existsSync(`${first}.partial`) || existsSync(`${first}.lock`)).toBe(false);
    expect(await homeport(["import", first], { DATA_DIR: source.dataDir })).toMatchObject({ code: 1 });

    const server = await newServer();
    expect(await homeport(["import", first, "--identity", key], server)).toMatchObject({ code: 0 });
    const restored = await startForTest(server);
    const signedIn = await restored.post("/api/auth/login", { email, password });
    expect(signedIn.status).toBe(200);
    await restored.end("SIGTERM");

    // The sign-in is in the audit trail: only what was there before it is compared.
    const other = await newServer();
    expect(await homeport(["import", first, "--identity", key], other)).toMatchObject({ code: 0 });
    await homeport(["export", "--to", second, ...secrets], other);
    expect(await contentsOf(second)).toEqual(await contentsOf(first));
    const embedded = { DATA_DIR: await newDataDir() };
    expect(await homeport(["import", second, "--identity", key], embedded)).toMatchObject({ code: 0 });
    await homeport(["export", "--to", third, ...secrets], embedded);
    expect(await contentsOf(third)).toEqual(await contentsOf(first));
  },
);

test("a service that runs on the embedded database, or is elsewhere, is refused", async () => {
  const { dataDir } = await startForTest();
  const folder = await newFolder();
  await writeSynthetic(folder, { recipient: secrets[2] as string });
  const refused = await homeport(["import", folder, "--identity", key, "--json"], { DATA_DIR: dataDir });
  expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: "service_running" } });
  const elsewhere = await homeport(["export", "--to", folder], {
    HOMEPORT_URL: "http://localhost",
    HOMEPORT_API_KEY: "x",
  });
  expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringMatching(/unset HOMEPORT_URL/) });
});

test.runIf(canMount)("a full disk leaves no export", async () => {
  const disk = await newDisk(8);
  await disk.leaveFree(1_024);
  const folder = path.join(disk.folder, "export");
  const made = await homeport(["export", "--to", folder, "--json"], { DATA_DIR: await preparedDataDir() });
  expect(JSON.parse(made.stdout)).toMatchObject({ error: { code: "disk_full" } });
  expect((await readdir(disk.folder)).filter((name) => name.startsWith("export"))).toEqual([]);
});

test.each(postgresUrl ? ["embedded", "PostgreSQL"] : ["embedded"])(
  "kills lose and double nothing: %s",
  async (database) => {
    const folder = await newFolder();
    const records = syntheticRecords();
    const template = records.accounts?.at(-1) as object;
    const more = Array.from({ length: ACCOUNTS }, (_, number) => {
      const id = `0198e001-0000-7000-8000-${String(number).padStart(12, "0")}`;
      return { ...template, id, email: `user${number}@example.com` };
    });
    const files = { ...records, accounts: [...(records.accounts ?? []), ...more] };
    await writeSynthetic(folder, { recipient: secrets[2] as string, files });
    const env: Record<string, string> =
      database === "embedded" ? { DATA_DIR: await preparedDataDir() } : await newServer();

    const started = Date.now();
    const whole = { DATA_DIR: await preparedDataDir() };
    expect(await homeport(["import", folder, "--identity", key], whole)).toMatchObject({ code: 0 });
    const tookMs = Date.now() - started;
    for (let kill = 1; kill <= KILLS; kill++) {
      const { child, ended } = startCommand("homeport", ["import", folder, "--identity", key], env);
      await Promise.race([delay((tookMs * kill) / (KILLS + 1)), ended]);
      child.kill("SIGKILL");
      await ended;
    }
    const last = await homeport(["import", folder, "--identity", key, "--json"], env);
    if (last.code !== 0) expect(JSON.parse(last.stdout)).toMatchObject({ error: { code: "target_not_empty" } }); // a kill was late

    const exported = await newFolder();
    const { child, ended } = startCommand("homeport", ["export", "--to", exported, ...secrets], env);
    while (!existsSync(`${exported}.partial`) && child.exitCode === null) await delay(1);
    child.kill("SIGKILL");
    await ended;
    expect(existsSync(exported)).toBe(false);
    expect(await homeport(["export", "--to", exported, ...secrets], env)).toMatchObject({ code: 0 });
    const [found, given] = [await contentsOf(exported), await contentsOf(folder)];
    expect({ ...found, "manifest.json": "" }).toEqual({ ...given, "manifest.json": "" });
  },
);
