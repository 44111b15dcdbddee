import { randomUUID } from "node:crypto";
import { copyFile, readFile, rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { startCluster } from "@/dev/postgres";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";
import packageManifest from "@/package.json" with { type: "json" };
import { WEBHOOK_SECRET } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { type Answered, newClient } from "@/tests/support/network/https-client";
import { Machine } from "@/tests/support/process/machine";
import { hasCommands } from "@/tests/support/requirements";
import { billingEvent, deliveryOf, type Sent, WEBHOOK } from "@/tests/support/subscriptions/billing";

const OLD = packageManifest.version;
/** The version to which the guide upgrades: the next minor one. */
const NEW = OLD.replace(/\d+\.\d+$/, (end) => `${Number.parseInt(end, 10) + 1}.0`);
const JSON_TYPE = { "content-type": "application/json" };
/** Between two requests of a client. Without it the clients would take the CPU that the instances need to start. */
const PAUSE_MS = 100;

type Ask = ReturnType<typeof newClient>["ask"];

/** What a server on Linux has, and PostgreSQL's programs. */
const canRun =
  postgresUrl && process.platform === "linux" && hasCommands("bash", "curl", "openssl", "nginx", "createdb", "pg_dump");

describe.runIf(canRun)("two instances on PostgreSQL, set up as in the guide", () => {
  test("are upgraded without a failed request, at the second try, and restored from a dump made during the upgrade", async () => {
    const machine = await newMachine();
    const client = newClient(machine.ports.https);
    onTestFinished(client.close);
    const ann = { email: `${randomUUID()}@example.com`, password: "a good long password" };
    const registered = await client.ask("/api/auth/register", post(ann));
    const token = String(registered.json().token);

    const load = startLoad(machine.ports.https, token);
    await expect.poll(() => load.versions).toEqual(new Set([OLD]));
    const allow = await refuseNextMigration(machine);
    const refused = await machine.run("Upgrade two instances without downtime").catch((error: Error) => error);
    expect(String(refused)).toContain('_next_release failed and was rolled back: column "later" of relation');
    expect(load.versions).toEqual(new Set([OLD]));
    await allow();
    await machine.run("Upgrade two instances without downtime");
    await expect.poll(() => load.sinceNew()).toBeGreaterThan(25);
    const kept = [...load.acknowledged];
    await machine.run("Back up PostgreSQL", 0);
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(load.versions).toEqual(new Set([OLD, NEW]));
    for (const unit of ["homeport@3001", "homeport@3002"]) expect(machine.output(unit)).not.toMatch(/"level":[56]0/);

    expect(await machine.run("Back up PostgreSQL", 1)).toContain('"status":"ok"');
    expect((await client.ask("/api/auth/login", post(ann))).status).toBe(200);
    for (const event of kept) expect((await client.ask(WEBHOOK, deliveryOf(event))).json().status).toBe("duplicate");
  });
});

/** The guide from its beginning to two instances behind nginx, on a cluster of their own. They are first started on PostgreSQL. */
async function newMachine(): Promise<Machine> {
  const cluster = await startCluster();
  const { hostname, port, username } = new URL(cluster.url);
  const machine = await Machine.start({ PGHOST: hostname, PGPORT: port, PGUSER: username });
  onTestFinished(async () => {
    await machine.remove();
    cluster.remove();
  });
  await machine.run("Install from a checkout", 0);
  await machine.configure("Install from a checkout", { SMTP_URL: "", BCRYPT_COST: "10" });
  await copyFile("deploy/homeport@.service", machine.path("etc/systemd/system/homeport@.service"));
  await writeSampleCatalog(machine.path("var/lib/homeport/releases/catalog.json"));
  await machine.run("Use PostgreSQL", 0);
  await machine.configure("Use PostgreSQL", {
    DATABASE_URL: `postgres://homeport:long-and-random@${hostname}:${port}/homeport`,
    NEXTAUTH_SECRET: "a-secret-for-tests-that-is-long-enough",
    BILLING_WEBHOOK_SIGNING_SECRET: WEBHOOK_SECRET,
  });
  expect(await machine.run("Use PostgreSQL", 1)).toContain('"status":"ok"');
  await machine.run("Set up a reverse proxy", 0);
  const end = await machine.startProxy("nginx");
  onTestFinished(end);
  return machine;
}

/** Puts the column in the way that the next release's migration makes. Resolves to what takes it and the release away. */
async function refuseNextMigration(machine: Machine): Promise<() => Promise<void>> {
  const settings = await readFile(machine.path("etc/homeport/env"), "utf8");
  const client = new Client({ connectionString: /^DATABASE_URL=(.*)$/m.exec(settings)?.[1] ?? "" });
  await client.connect();
  await client.query('ALTER TABLE "Account" ADD COLUMN "later" INT');
  return async () => {
    await client.query('ALTER TABLE "Account" DROP COLUMN "later"');
    await client.end();
    await rm(machine.path(`srv/homeport/${NEW}`), { recursive: true });
  };
}

/** Four clients, each of which sends requests of one kind, one after the other, over a connection that it keeps. */
function startLoad(port: number, token: string) {
  const failures: unknown[] = [];
  const acknowledged: Sent[] = [];
  const versions = new Set<unknown>();
  let sinceNew = 0;
  let isOver = false;
  const asking: ((ask: Ask) => Promise<Answered>)[] = [
    async (ask) => {
      const version = await ask("/api/version");
      versions.add(version.json().version);
      if (versions.size > 1) sinceNew += 1;
      return version;
    },
    (ask) => ask("/api/subscription/status", { headers: { authorization: `Bearer ${token}` } }),
    async (ask) => {
      const event = billingEvent("INITIAL_PURCHASE");
      const webhook = await ask(WEBHOOK, deliveryOf(event));
      if (webhook.status === 200) acknowledged.push(event);
      return webhook;
    },
    (ask) => ask("/"),
  ];
  const clients = asking.map(async (once) => {
    const client = newClient(port);
    while (!isOver) {
      const answer = await once(client.ask).catch((error: Error) => error);
      if (answer instanceof Error) failures.push(answer);
      else if (answer.status !== 200) failures.push([answer.status, answer.body.toString().slice(0, 200)]);
      await delay(PAUSE_MS);
    }
    client.close();
  });
  const stop = async () => {
    isOver = true;
    await Promise.all(clients);
  };
  return { failures, acknowledged, versions, sinceNew: () => sinceNew, stop };
}

const post = (json: unknown) => ({ method: "POST", headers: JSON_TYPE, body: JSON.stringify(json) });
