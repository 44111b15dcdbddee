import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { billingEvent, type Sent, signature } from "@/tests/support/billing/billing";
import { send, startRevenueCat, subscriber } from "@/tests/support/billing/revenuecat";
import { COMMANDS, runCommand } from "@/tests/support/process/command";
import { preparedDataDir, type Service, startForTest, startService } from "@/tests/support/process/service";

const run = promisify(execFile);
const failed = billingEvent("RENEWAL", { original_transaction_id: null, transaction_id: null });

let accountId: string;
let bought: Sent;
let dataDir: string;
let revenueCat: Awaited<ReturnType<typeof startRevenueCat>>;

type Said = { code: number; stdout: string; stderr: string };

/** The variables of the service that was stopped. */
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
  const service = await startService({ DATA_DIR: dataDir });
  const person = { email: `${randomUUID()}@example.com`, password: "a good long password" };
  accountId = ((await (await post(service, "/api/auth/register", person)).json()) as { user: { id: string } }).user.id;
  bought = billingEvent("INITIAL_PURCHASE", { app_user_id: accountId });
  expect((await deliver(service, bought)).status).toBe(200);
  expect((await deliver(service, failed)).status).toBe(200);
  await service.end("SIGTERM");
}, 120_000);

afterAll(() => revenueCat.close());

test("every command of the guide runs", { timeout: 300_000 }, async () => {
  const guide = await readFile("docs/guides/billing.md", "utf8");
  const blocks = [...guide.matchAll(/^ *```sh\n([\s\S]*?)^ *```/gm)].flatMap(([, block = ""]) =>
    block.trim().split("\n"),
  );
  const commands = blocks.map((line) => line.trim().replace("EVENT_ID", bought.id).replace("ACCOUNT_ID", accountId));
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

test("the provider is asked where there is a key, and the operator is told where there is none", async () => {
  expect(await billing(`reconcile --account ${accountId}`)).toMatchObject({
    code: 0,
    stdout: `${accountId}: 0 purchases, 0 corrected\n`,
  });
  expect(await billing("reconcile --all", { BILLING_API_KEY: "" })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("BILLING_API_KEY is not set"),
  });
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
  ["", 2, /npm run billing -- COMMAND/],
  ["nonsense", 2, /npm run billing -- COMMAND/],
  ["replay", 2, /npm run billing -- COMMAND/],
  ["show", 2, /npm run billing -- COMMAND/],
  ["list --nonsense", 2, /nonsense/],
  ["show no-such-event", 1, /There is no event no-such-event\./],
  ["replay --event no-such-event", 1, /There is no event no-such-event\./],
  ["list --limit many", 2, /--limit takes a number/],
  ["list --account nobody", 2, /--account takes an account's id/],
])("`billing -- %s` is refused in plain words", async (args, exitCode, words) => {
  const { code, stderr } = await billing(args);
  expect([code, stderr]).toEqual([exitCode, expect.stringMatching(words)]);
  expect(stderr).not.toMatch(/^\s+at /m);
});

test("on the embedded database the service has to be stopped first, and goes on where it is not", async () => {
  const service = await startForTest({ DATA_DIR: dataDir });
  const { code, stderr } = await billing("list");
  expect([code, stderr]).toEqual([1, expect.stringMatching(/Another process \(pid \d+\) is using .*\. Stop it first/)]);
  expect(await (await deliver(service, bought)).json()).toMatchObject({ status: "duplicate" });
});
