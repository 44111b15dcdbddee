import { randomUUID } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseEnv } from "node:util";
import { Client } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { createDatabase } from "@/dev/postgres";
import { WEBHOOK_SECRET } from "@/tests/support/context";
import { createMigratedDatabase, postgresUrl } from "@/tests/support/database";
import { runCommand, startCommand } from "@/tests/support/process/command";
import {
  bearer,
  newDataDir,
  preparedDataDir,
  registerAt,
  type Service,
  startAndFail,
  startForTest,
} from "@/tests/support/process/service";
import { newToken } from "@/tests/support/push/push";
import { billingEvent, deliverTo, initialPurchase, type Sent } from "@/tests/support/subscriptions/billing";

const PASSWORD = "between-us";
/** Of a lock that the test holds while a table is to be copied. */
const LOCK = 424_242;

describe.runIf(postgresUrl)("homeport db move", () => {
  test("moves a service in use to PostgreSQL and back, continues after a kill, keeps sessions, purchases and devices, and can be undone", async () => {
    const first = await startForTest();
    const customer = await newCustomer(first);
    const target = await newTarget();
    await refuseWrongTargets(first.dataDir);

    await interruptMove(first, target);
    const second = await startForTest({ DATA_DIR: first.dataDir });
    const load = startLoad(second, customer.token);
    await expect.poll(() => load.acknowledged.length).toBeGreaterThan(3);
    const moved = await moveOk(["--to", target.url], { DATA_DIR: second.dataDir });
    expect(moved).toMatchObject({ from: second.dataDir, to: expect.not.stringContaining(PASSWORD) });
    expect(moved.resumedTables).toBeGreaterThan(3);
    await load.stop();
    expect(load.failedReads).toEqual([]);
    await requireReadOnly(second, customer.token);
    expect(await second.end("SIGTERM")).toBe(0);
    await requireMarked(second.dataDir, target.url);

    const settings = await settingsOf(second.dataDir);
    const third = await startForTest({ ...settings, DATA_DIR: second.dataDir });
    await requireSame(third, customer, load.acknowledged);
    const back = await preparedDataDir();
    await moveOk(["--from", target.url], { DATA_DIR: back });
    await requireReadOnly(third, customer.token);
    const { NEXTAUTH_SECRET = "" } = settings;
    const fourth = await startForTest({ DATA_DIR: back, NEXTAUTH_SECRET });
    await requireSame(fourth, customer, load.acknowledged);
    await requireUndone(second.dataDir);
  });

  test("can be undone: a PostgreSQL database that was moved to another one is used again", async () => {
    const [first, second] = [await createMigratedDatabase(), await createDatabase(postgresUrl)];
    const server = { NEXTAUTH_URL: "http://localhost", NEXTAUTH_SECRET: "s".repeat(32), DATA_DIR: await newDataDir() };
    expect(await moveOk(["--to", second], { ...server, DATABASE_URL: first })).toMatchObject({ resumedTables: 0 });
    expect(await canWrite(first)).toBe(false);
    expect(await canWrite(second)).toBe(true);
    await cancelOk({ ...server, DATABASE_URL: withTwoHosts(first) });
    expect(await canWrite(first)).toBe(true);
  });
});

type Customer = { token: string; event: Sent; deviceId: string };
type Moved = { from: string; to: string; rows: number; resumedTables: number };

/** The URL comes from the standard input. */
async function moveOk([option = "", url]: string[], env: Record<string, string>): Promise<Moved> {
  const { child, ended } = startCommand("homeport", ["db", "move", option, "-", "--yes", "--json"], env);
  child.stdin?.end(`${url}\n`);
  const { code, stdout, stderr } = await ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).not.toContain(PASSWORD);
  return JSON.parse(stdout);
}

/** The URL of the same server by two names. */
const withTwoHosts = (url: string) => url.replace(/@([^/]*?)(:\d+)\//, "@$1$2,localhost$2/");

async function cancelOk(env: Record<string, string>): Promise<void> {
  const { code, stderr } = await runCommand("homeport", ["db", "move", "--cancel"], env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
}

/** Signs up, buys, and registers a phone. */
async function newCustomer(service: Service): Promise<Customer> {
  const { token, id } = await registerAt(service);
  const event = initialPurchase(id);
  expect((await deliverTo(service, event)).status).toBe(200);
  const phone = { token: newToken(), installationId: randomUUID(), environment: "sandbox" };
  const device = await service.post("/api/push/register", phone, bearer(token));
  expect(device.status).toBe(202);
  return { token, event, deviceId: ((await device.json()) as { device: { id: string } }).device.id };
}

/** An empty database with a password in its URL, in which the table of purchases cannot be copied until `release`. */
async function newTarget(): Promise<{ url: string; client: Client; release: () => Promise<void> }> {
  const url = new URL(await createMigratedDatabase());
  url.password = PASSWORD; // the cluster trusts everybody
  const client = new Client({ connectionString: url.href });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_advisory_xact_lock(${LOCK}); RETURN NEW; END $$`);
  await client.query('CREATE TRIGGER wait BEFORE INSERT ON "Purchase" FOR EACH ROW EXECUTE FUNCTION wait()');
  await client.query(`SELECT pg_advisory_lock(${LOCK})`);
  const release = async () => {
    await client.query(`SELECT pg_advisory_unlock(${LOCK})`);
    await client.query("DROP FUNCTION wait CASCADE");
    await client.end();
  };
  return { url: url.href, client, release };
}

const moveTo = (url: string, dataDir: string) =>
  startCommand("homeport", ["db", "move", "--to", url, "--insecure-argument", "--yes"], { DATA_DIR: dataDir });

async function refuseWrongTargets(dataDir: string): Promise<void> {
  const other = await createDatabase(postgresUrl);
  await query(other, "CREATE TABLE invoices (id int)");
  for (const [url, message] of [
    [`postgres://homeport:${PASSWORD}@127.0.0.1:1/db`, "postgres://homeport@127.0.0.1:1/db cannot be opened"],
    [other, "is not empty: it contains invoices"],
  ] as const) {
    const ended = await moveTo(url, dataDir).ended;
    expect(ended).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(message) });
    expect(ended.stderr).not.toContain(PASSWORD);
  }
}

/** Kills the service and the command while a table is copied. */
async function interruptMove(service: Service, { url, client, release }: Awaited<ReturnType<typeof newTarget>>) {
  const { child, ended } = moveTo(url, service.dataDir);
  const isWaiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted";
  await expect.poll(async () => (await client.query(isWaiting, [LOCK])).rowCount).toBe(1);
  await service.end("SIGKILL");
  child.kill("SIGKILL");
  await ended;
  await release();
}

/** Writes and reads until it is stopped. After the move, writes fail. */
function startLoad(service: Service, token: string) {
  const acknowledged: Sent[] = [];
  const failedReads: number[] = [];
  let isOver = false;
  const run = async () => {
    while (!isOver) {
      const event = billingEvent("INITIAL_PURCHASE");
      if ((await deliverTo(service, event)).status === 200) acknowledged.push(event);
      const { status } = await get(service, "/api/subscription/status", token);
      if (status !== 200) failedReads.push(status);
      await delay(50);
    }
  };
  const running = run();
  return {
    acknowledged,
    failedReads,
    stop: async () => {
      isOver = true;
      await running;
    },
  };
}

async function requireReadOnly(service: Service, token: string): Promise<void> {
  const refused = await deliverTo(service, billingEvent("INITIAL_PURCHASE"));
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  expect((await get(service, "/api/subscription/status", token)).status).toBe(200);
}

/** The folder refuses to start, and says where its data is. */
async function requireMarked(dataDir: string, url: string): Promise<void> {
  const { code, output } = await startAndFail({ DATA_DIR: dataDir, PORT: "0" });
  const { username, host, pathname } = new URL(url);
  expect({ code, output }).toEqual({
    code: 1,
    output: expect.stringContaining(`has moved to postgres://${username}@${host}${pathname}`),
  });
  expect(output).toContain("homeport db move --cancel");
  expect(output).not.toContain(PASSWORD);
}

/** The folder refuses another move until it is used again. */
async function requireUndone(dataDir: string): Promise<void> {
  const env = { DATA_DIR: dataDir };
  const again = await moveTo(await createDatabase(postgresUrl), dataDir).ended;
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("has moved to postgres://") });
  await cancelOk(env);
  expect((await runCommand("homeport", ["keys", "create", "CI", "--scope", "releases:write"], env)).code).toBe(0);
}

async function settingsOf(dataDir: string): Promise<Record<string, string>> {
  const file = path.join(dataDir, "moved.env");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const settings = parseEnv(await readFile(file, "utf8")) as Record<string, string>;
  const generated = ["NEXTAUTH_URL", "NEXTAUTH_SECRET", "BILLING_WEBHOOK_SIGNING_SECRET"];
  expect(new Set(Object.keys(settings))).toEqual(new Set(["DATABASE_URL", ...generated]));
  return { ...settings, BILLING_WEBHOOK_SIGNING_SECRET: WEBHOOK_SECRET }; // that of the test's service
}

/** The same session, subscription, device and events work. */
async function requireSame(service: Service, { token, event, deviceId }: Customer, events: Sent[]): Promise<void> {
  const status = await get(service, "/api/subscription/status", token);
  expect(await status.json()).toMatchObject({ subscriptions: [{ isActive: true }] });
  const devices = await get(service, "/api/push/devices", token);
  expect(await devices.json()).toMatchObject({ devices: [{ id: deviceId }] });
  for (const sent of [event, ...events])
    expect(await (await deliverTo(service, sent)).json()).toMatchObject({ status: "duplicate" });
  expect((await deliverTo(service, billingEvent("INITIAL_PURCHASE"))).status).toBe(200);
}

async function canWrite(url: string): Promise<boolean> {
  return query(url, 'DELETE FROM "Account"').then(
    () => true,
    () => false,
  );
}

async function query(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

const get = (service: Service, to: string, token: string) => service.fetch(to, { headers: bearer(token) });
