import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listen } from "@/tests/support/network/listen";
import { COMMANDS, runCommand } from "@/tests/support/process/command";
import {
  operatorKeyOf,
  preparedDataDir,
  registerAt,
  type Service,
  startService,
} from "@/tests/support/process/service";
import { anonymous, billingEvent, deliverTo, initialPurchase, type Sent } from "@/tests/support/subscriptions/billing";
import { send, startRevenueCat, subscriber } from "@/tests/support/subscriptions/revenuecat";

const run = promisify(execFile);
const failed = billingEvent("RENEWAL", { original_transaction_id: null, transaction_id: null });

let accountId: string;
let bought: Sent;
let unlinked: Sent;
let dataDir: string;
let service: Service;
let revenueCat: Awaited<ReturnType<typeof startRevenueCat>>;
/** Its API, which knows no subscription and no event. */
const stripe = createServer(({ url = "" }, response) =>
  /^\/v1\/\w+(\?|$)/.test(url)
    ? send(response, 200, { object: "list", has_more: false, data: [] })
    : send(response, 404, { error: { code: "resource_missing" } }),
);
let stripeUrl: string;

type Said = { code: number; stdout: string; stderr: string };

/** The variables of the service. The commands find it by its folder. */
const variables = () => ({
  DATA_DIR: dataDir,
  BILLING_PAYLOAD_RETENTION_DAYS: "90",
  BILLING_STRIPE_WEBHOOK_SECRET: "whsec_of_a_sandbox",
  BILLING_STRIPE_API_KEY: "rk_live_of_the_fake",
  BILLING_STRIPE_API_URL: stripeUrl,
  ...revenueCat.config,
});

function shell(command: string): Promise<Said> {
  const { PATH, HOME } = process.env;
  const options = { env: { NODE_ENV: "production" as const, PATH, HOME, ...variables() } };
  const script = `homeport() { node ${COMMANDS.get("homeport")?.join(" ")} "$@"; }\n${command}`;
  return run("bash", ["-c", script], options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Said) => ({ code, stdout, stderr }),
  );
}

const billing = (args: string, env: Record<string, string> = {}) =>
  runCommand("homeport", ["billing", ...args.split(" ")], { ...variables(), ...env });

beforeAll(async () => {
  revenueCat = await startRevenueCat();
  stripeUrl = `http://${await listen(stripe)}`;
  dataDir = await preparedDataDir();
  service = await startService(variables());
  accountId = (await registerAt(service)).id;
  bought = initialPurchase(accountId);
  unlinked = billingEvent("INITIAL_PURCHASE", { app_user_id: anonymous(), original_app_user_id: null, aliases: null });
  for (const event of [bought, failed, unlinked]) expect((await deliverTo(service, event)).status).toBe(200);
});

afterAll(async () => {
  await service.end("SIGKILL");
  await revenueCat.close();
  stripe.close();
});

/** The purchase of an event, as the inbox names it. */
async function purchaseOf(eventId: string): Promise<string> {
  const headers = { authorization: `Bearer ${await operatorKeyOf(service)}` };
  const response = await service.fetch("/api/admin/billing/events", { headers });
  const { events } = (await response.json()) as { events: { eventId: string; purchaseId: string }[] };
  return events.find((event) => event.eventId === eventId)?.purchaseId ?? "";
}

/** Grants an entitlement. Returns the grant's id. */
async function newGrant(to: string): Promise<string> {
  const terms = { accountId: to, entitlementId: "pro", days: 1, reason: "A test" };
  const headers = { authorization: `Bearer ${await operatorKeyOf(service)}` };
  const response = await service.post("/api/admin/billing/grants", terms, headers);
  return ((await response.json()) as { grant: { id: string } }).grant.id;
}

/** The commands of the guide, for these ids and files. */
async function guideCommands(ids: Record<string, string>): Promise<Set<string>> {
  const guide = await readFile("docs/guides/billing.md", "utf8");
  const blocks = [...guide.matchAll(/^ *```sh\n([\s\S]*?)^ *```/gm)].map(([, block = ""]) => block.trim());
  const lines = blocks.flatMap((block) => block.split("\n"));
  return new Set(
    lines.map((line) => Object.entries(ids).reduce((text, [name, id]) => text.replace(name, id), line.trim())),
  );
}

test("every command of the guide runs, and says what it found or did", async () => {
  const purchaseId = await purchaseOf(bought.id);
  const ann = await registerAt(service, { email: "ann@example.com" });
  const emails = path.join(dataDir, "emails.csv");
  await writeFile(emails, "ann@example.com\n");
  const ids = { EVENT_ID: bought.id, PURCHASE_ID: purchaseId, ACCOUNT_ID: accountId, GRANT_ID: await newGrant(ann.id) };
  const commands = await guideCommands({ ...ids, "emails.csv": emails });
  expect(commands.size).toBeGreaterThan(10);
  revenueCat.customers.set(accountId, subscriber({}));
  const said = new Map<string, Said>();
  for (const command of commands) {
    const { code, stdout, stderr } = await shell(command);
    // What failed for want of a transaction fails again, and the commands say so.
    expect([command, code]).toEqual([command, /replay --(failed|all)/.test(command) ? 1 : 0]);
    expect([command, stderr.includes("    at ")]).toEqual([command, false]);
    said.set(command.replace("homeport billing ", ""), { code, stdout, stderr });
  }
  const stdoutOf = (command: string) => said.get(command)?.stdout ?? "";

  expect(stdoutOf("list --failed")).toMatch(`\tfailed\tRENEWAL\t${failed.id}\t-\ttransaction_not_named\n`);
  expect(JSON.parse(stdoutOf(`show ${bought.id}`))).toMatchObject({
    eventId: bought.id,
    state: "processed",
    accountId,
    payload: { event: { id: bought.id } },
  });
  expect(stdoutOf(`replay --event ${bought.id}`)).toBe("1 processed\n");
  expect(stdoutOf("replay --failed")).toBe("1 failed\n");
  const known = `${accountId}: 0 purchases, 0 corrected\n`;
  expect(stdoutOf(`reconcile --account ${accountId}`)).toBe(known);
  expect(stdoutOf("reconcile --all")).toContain(known);
  expect(stdoutOf("list --unlinked --limit 20")).toContain(unlinked.id);
  expect(said.get(`assign --purchase ${purchaseId} --account ${accountId}`)?.stderr).toContain("already");
});

test("a command reports that the provider limits requests, and then the result", async () => {
  revenueCat.asked.length = 0;
  revenueCat.respondWith((response) =>
    revenueCat.asked.length < 2
      ? send(response, 429, {}, { "retry-after": "0" })
      : send(response, 200, { subscriber: subscriber({}) }),
  );
  const said = await billing(`reconcile --account ${accountId}`);
  revenueCat.respondWith();
  expect(said).toMatchObject({
    code: 0,
    stdout: `${accountId}: 0 purchases, 0 corrected\n`,
    stderr: expect.stringContaining(`${accountId}: the provider limits requests. Retrying in 0 s.`),
  });
});

test("an event that does not exist is reported in one line", async () => {
  const missing = { code: 1, stderr: "There is no event no-such-event.\n" };
  expect(await billing("show no-such-event")).toMatchObject(missing);
});

test("an unlinked purchase is assigned to an account, and its timeline says so", async () => {
  const purchaseId = await purchaseOf(unlinked.id);
  const assign = `assign --purchase ${purchaseId} --account ${accountId}`;
  expect(await billing(assign)).toMatchObject({ code: 0, stdout: expect.stringContaining(`${purchaseId}\t`) });
  expect((await billing(`list --account ${accountId}`)).stdout).toContain(unlinked.id);
  const { stdout } = await billing(`timeline ${purchaseId}`);
  expect(stdout.split("\t")).toEqual(expect.arrayContaining(["INITIAL_PURCHASE", unlinked.id, "active"]));
});

test("without the retention, the variable is named, also where no service runs", async () => {
  const env = { DATA_DIR: await preparedDataDir(), BILLING_PAYLOAD_RETENTION_DAYS: "" };
  const refused = { code: 1, stderr: expect.stringContaining("BILLING_PAYLOAD_RETENTION_DAYS is not set") };
  expect(await billing("prune", env)).toMatchObject(refused);
});
