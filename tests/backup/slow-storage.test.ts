import { once } from "node:events";
import { mkdtemp, readdir, readlink } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, expect, test, vi } from "vitest";
import { createBackup } from "@/lib/platform/backup/create-backup";
import { loadConfig } from "@/lib/platform/config";
import { type Database, databaseOf } from "@/lib/platform/db/open";
import { checkHealth } from "@/lib/platform/http/health";
import { ctx } from "@/tests/support/context";
import { openMigratedEmbedded } from "@/tests/support/database";
import { listen } from "@/tests/support/network/listen";

/** A busy machine may take longer than ten seconds to read the database. */
const LONG_PAUSE_MS = 600_000;

let dataDir: string;
let database: Database;

beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), "homeport-slow-storage-"));
  const embedded = await openMigratedEmbedded(dataDir);
  database = databaseOf(embedded.adapter, { ...embedded, embedded }, true);
  return () => database.close();
});

const writeEvent = () => database.client.auditEvent.create({ data: { type: "written", at: new Date() } });

/** The context of a service on the embedded database whose backups are in a bucket at `endpoint`. */
function depsOf(endpoint = "http://127.0.0.1:1") {
  const config = loadConfig({
    BACKUP_S3_ENDPOINT: endpoint,
    BACKUP_S3_REGION: "auto",
    BACKUP_S3_ACCESS_KEY_ID: "id",
    BACKUP_S3_SECRET_ACCESS_KEY: "secret",
  });
  const own = {
    ...ctx().config,
    ...config,
    mode: "embedded" as const,
    DATA_DIR: dataDir,
    secrets: ctx().config.secrets,
  };
  return { ...ctx(), config: own, database, db: database.client, isDraining: false };
}

test("writes continue while a bucket accepts connections and does not answer, and nothing is left of the backup", async () => {
  const server = createServer(() => {});
  const address = await listen(server);
  const requested = once(server, "request");
  const deps = depsOf(`http://${address}`);
  const outcome = createBackup(deps, "s3://releases", { maxPauseMs: LONG_PAUSE_MS }).catch(({ code }) => code);
  await Promise.race([requested, outcome.then((code) => Promise.reject(code))]);
  expect(await writeEvent()).toMatchObject({ type: "written" });
  expect((await checkHealth(deps, { probe: "ready" })).checks).not.toHaveProperty("writes");
  server.close();
  server.closeAllConnections();
  expect(await outcome).toBe("backup_failed");
  expect(await readdir(dataDir)).not.toContainEqual(expect.stringContaining(".partial"));
});

test("a bucket that refuses the upload leaves no file open, whose space would stay in use", async () => {
  const server = createServer(
    (request, response) => void request.resume().on("end", () => response.writeHead(403).end()),
  );
  const deps = depsOf(`http://${await listen(server)}`);
  await expect(createBackup(deps, "s3://releases", { maxPauseMs: LONG_PAUSE_MS })).rejects.toMatchObject({
    code: "backup_failed",
  });
  const openFiles = async () => {
    const links = (await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ""));
    return (await Promise.all(links)).filter((file) => file.startsWith(dataDir) && file.includes(".partial"));
  };
  await vi.waitFor(async () => expect(await openFiles()).toEqual([]));
  server.close();
});

test("health shows that writes wait", async () => {
  const snapshot = await database.openSnapshot();
  expect(await checkHealth(depsOf(), { probe: "ready" })).toMatchObject({ status: "ok", checks: { writes: "paused" } });
  await snapshot.close();
});

test("a backup that makes writes wait too long fails, and lets them continue", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "homeport-backups-"));
  const failed = createBackup(depsOf(), folder, { maxPauseMs: 1 });
  await expect(failed).rejects.toMatchObject({
    code: "backup_failed",
    extras: { detail: expect.stringContaining("made writes wait for more than") },
  });
  expect(await readdir(folder)).toEqual([]);
  expect(await writeEvent()).toMatchObject({ type: "written" });
});
