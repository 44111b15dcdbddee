import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { anonymous, billingEvent, type Sent, signature } from "@/tests/support/billing/billing";
import { send, startRevenueCat, subscriber } from "@/tests/support/billing/revenuecat";
import { COMMANDS, runCommand } from "@/tests/support/process/command";
import { preparedDataDir, type Service, startService } from "@/tests/support/process/service";

const run = promisify(execFile);
const failed = billingEvent("RENEWAL", { original_transaction_id: null, transaction_id: null });

let accountId: string;
let bought: Sent;
let unlinked: Sent;
let dataDir: string;
let service: Service;
let revenueCat: Awaited<ReturnType<typeof startRevenueCat>>;

type Said = { code: number; stdout: string; stderr: string };

/** The variables of the service. The commands find it by its folder. */
const variables = () => ({ DATA_DIR: dataDir, BILLING_PAYLOAD_RETENTION_DAYS: "90", ...revenueCat.config });

/** Runs a shell command with them. It runs the npm command without npm. */
function shell(command: string): Promise<Said> {
  const { PATH, HOME } = process.env;
  const options = { env: { NODE_ENV: "production" as const, PATH, HOME, ...variables() } };
  const script = command.replace("npm run billing --", `node ${COMMANDS.get("billing")?.join(" ")}`);
  return run("bash", ["-c", script], options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Said) => ({ code, stdout, stderr }),
  );
}

/** Runs `npm run billing`. */
const billing = (args: string, env: Record<string, string> = {}) =>
  runCommand("billing", args.split(" ").filter(Boolean), { ...variables(), ...env });

async function post(
  service: Service,
  path: string,
  json: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  const body = JSON.stringify(json);
  const signed = { "x-revenuecat-webhook-signature": signature(body) };
  return service.fetch(path, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...signed, ...headers },
  });
}

const deliver = (service: Service, event: Sent) =>
  post(service, "/api/subscription/billing-provider-webhook", { event });

beforeAll(async () => {
  revenueCat = await startRevenueCat();
  dataDir = await preparedDataDir();
  service = await startService(variables());
  const person = { email: `${randomUUID()}@example.com`, password: "a good long password" };
  accountId = ((await (await post(service, "/api/auth/register", person)).json()) as { user: { id: string } }).user.id;
  bought = billingEvent("INITIAL_PURCHASE", { app_user_id: accountId });
  expect((await deliver(service, bought)).status).toBe(200);
  expect((await deliver(service, failed)).status).toBe(200);
  unlinked = billingEvent("INITIAL_PURCHASE", { app_user_id: anonymous(), original_app_user_id: null, aliases: null });
  expect((await deliver(service, unlinked)).status).toBe(200);
}, 120_000);

afterAll(async () => {
  await service.end("SIGKILL");
  await revenueCat.close();
});

/** The purchase of an event, as the list names it. */
async function purchaseOf(eventId: string): Promise<string> {
  const { stdout } = await billing("list --json");
  const events = JSON.parse(stdout) as { eventId: string; purchaseId: string }[];
  return events.find((event) => event.eventId === eventId)?.purchaseId ?? "";
}

test("every command of the guide runs", { timeout: 300_000 }, async () => {
  const guide = await readFile("docs/guides/billing.md", "utf8");
  const purchaseId = await purchaseOf(bought.id);
  const blocks = [...guide.matchAll(/^ *```sh\n([\s\S]*?)^ *```/gm)].flatMap(([, block = ""]) =>
    block.trim().split("\n"),
  );
  const commands = blocks.map((line) =>
    line.trim().replace("EVENT_ID", bought.id).replace("PURCHASE_ID", purchaseId).replace("ACCOUNT_ID", accountId),
  );
  expect(commands.length).toBeGreaterThan(10);
  revenueCat.customers.set(accountId, subscriber({}));
  for (const command of new Set(commands)) {
    const { code, stderr } = await shell(command);
    // What failed for want of a transaction fails again, and the commands say so.
    expect([command, code]).toEqual([command, /replay --(failed|all)/.test(command) ? 1 : 0]);
    expect([command, stderr.includes("    at ")]).toEqual([command, false]);
  }
});

test("the inbox is listed and shown as it is", async () => {
  const { code, stdout } = await billing("list --failed");
  expect([code, stdout.split("\t").slice(1)]).toEqual([
    0,
    ["failed", "RENEWAL", failed.id, "-", "transaction_not_named\n"],
  ]);
  const shown = JSON.parse((await billing(`show ${bought.id}`)).stdout) as Record<string, unknown>;
  expect(shown).toMatchObject({
    eventId: bought.id,
    state: "processed",
    accountId,
    payload: { event: { id: bought.id } },
  });
});

test("a replay says what came of it, and ends with 1 where something failed", async () => {
  expect(await billing(`replay --event ${bought.id}`)).toMatchObject({ code: 0, stdout: "1 processed\n" });
  expect(await billing("replay --failed")).toMatchObject({ code: 1, stdout: "1 failed\n" });
});

test("the provider is asked about an account, and about all customers", async () => {
  const known = `${accountId}: 0 purchases, 0 corrected\n`;
  expect(await billing(`reconcile --account ${accountId}`)).toMatchObject({ code: 0, stdout: known });
  expect(await billing("reconcile --all")).toMatchObject({ code: 0, stdout: expect.stringContaining(known) });
});

test("an operator is told that the provider asks to wait, and what came of it then", async () => {
  revenueCat.asked.length = 0;
  revenueCat.answerWith((response) =>
    revenueCat.asked.length < 2
      ? send(response, 429, {}, { "retry-after": "0" })
      : send(response, 200, { subscriber: subscriber({}) }),
  );
  const said = await billing(`reconcile --account ${accountId}`);
  revenueCat.answerWith();
  expect(said).toMatchObject({
    code: 0,
    stdout: `${accountId}: 0 purchases, 0 corrected\n`,
    stderr: expect.stringContaining(`${accountId}: the provider limits requests. Retrying in 0 s.`),
  });
});

test.each([
  ["", 2, /homeport billing --help/],
  ["nonsense", 2, /homeport billing --help/],
  ["replay", 2, /homeport billing replay --help/],
  ["show", 2, /homeport billing show --help/],
  ["list --nonsense", 2, /nonsense/],
  ["show no-such-event", 1, /There is no event no-such-event\./],
  ["replay --event no-such-event", 1, /There is no event no-such-event\./],
  ["list --limit many", 2, /--limit: Must be an integer from 1/],
  ["list --failed --ignored", 2, /--failed and --ignored exclude each other/],
  ["list --account nobody", 2, /--account takes an account's id/],
])("`billing -- %s` is refused in plain words", async (args, exitCode, words) => {
  const { code, stderr } = await billing(args);
  expect([code, stderr]).toEqual([exitCode, expect.stringMatching(words)]);
  expect(stderr).not.toMatch(/^\s+at /m);
});

test("an unlinked purchase is found, assigned to an account, and its timeline says so", async () => {
  expect((await billing("list --unlinked")).stdout).toContain(unlinked.id);
  const purchaseId = await purchaseOf(unlinked.id);
  const assign = `assign --purchase ${purchaseId} --account ${accountId}`;
  expect(await billing(`${assign} --dry-run`)).toMatchObject({ code: 0, stderr: "Nothing was changed.\n" });
  expect(await billing(assign)).toMatchObject({ code: 0, stdout: expect.stringContaining(`${purchaseId}\t`) });
  expect(await billing(assign)).toMatchObject({ code: 0, stderr: expect.stringContaining("already") });
  expect((await billing(`list --account ${accountId}`)).stdout).toContain(unlinked.id);
  const { stdout } = await billing(`timeline ${purchaseId}`);
  expect(stdout.split("\t")).toEqual(expect.arrayContaining(["INITIAL_PURCHASE", unlinked.id, "active"]));
});

test("without the provider's key and the retention, the variables are named, also where no service runs", async () => {
  const env = { DATA_DIR: await preparedDataDir(), BILLING_API_KEY: "", BILLING_PAYLOAD_RETENTION_DAYS: "" };
  const refused = (variable: string) => ({ code: 1, stderr: expect.stringContaining(`${variable} is not set`) });
  expect(await billing("reconcile --all", env)).toMatchObject(refused("BILLING_API_KEY"));
  expect(await billing("prune", env)).toMatchObject(refused("BILLING_PAYLOAD_RETENTION_DAYS"));
});
