import { expect, test } from "vitest";
import { startReceiver, verifyWebhook } from "@/tests/support/network/webhook-receiver";
import { runCommand } from "@/tests/support/process/command";
import { type Service, startForTest } from "@/tests/support/process/service";

/** Each start of a process may take long on a busy machine. */
const PATIENCE_MS = 300_000;
const POLL = { timeout: 60_000, interval: 50 };
const UNKNOWN_ID = "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11";

async function register(service: Service): Promise<string> {
  const body = JSON.stringify({ email: "ann@example.com", password: "correct horse battery" });
  const headers = { "content-type": "application/json" };
  const response = await service.fetch("/api/auth/register", { method: "POST", headers, body });
  return ((await response.json()) as { user: { id: string } }).user.id;
}

test(
  "an operator creates, watches, retries, replays, changes and deletes webhooks while the service runs",
  async () => {
    const [service, receiver] = await Promise.all([startForTest(), startReceiver()]);
    const webhooks = (...args: string[]) => runCommand("webhooks", args, { DATA_DIR: service.dataDir });
    const jsonOf = async (...args: string[]) => JSON.parse((await webhooks(...args, "--json")).stdout);
    const typesReceived = (secret: string) => receiver.received.map((one) => verifyWebhook(secret, one).type);

    expect(await webhooks("list")).toMatchObject({ code: 0, stdout: "", stderr: "No endpoints found.\n" });
    const created = await webhooks("create", receiver.url, "--type", "account.created", "--description", "CRM");
    const secret = created.stdout.trim();
    const [, id = ""] = /^Created (.*)\. Store the secret now/.exec(created.stderr) ?? [];
    expect((await webhooks("list")).stdout).toBe(`${id}\tenabled\t-\taccount.created\t${receiver.url}\tCRM\n`);

    receiver.respond = (response) => response.destroy(); // it is down
    const { eventId } = await jsonOf("test", id);
    await expect
      .poll(async () => (await webhooks("deliveries", id)).stdout, POLL)
      .toMatch(new RegExp(`^${eventId}\\t[^\\t]+\\twebhook.test\\tpending\\t1\\t[^\\t]+\\t-\\tsocket hang up\n$`));
    receiver.respond = (response) => response.end("taken");
    expect(await webhooks("retry", id, eventId)).toMatchObject({ code: 0, stdout: `Requeued ${eventId}.\n` });
    await expect.poll(() => typesReceived(secret).length, POLL).toBeGreaterThan(1);
    await expect
      .poll(() => jsonOf("show", id, eventId), POLL)
      .toMatchObject({ state: "delivered", responseBody: "taken", payload: { data: { endpointId: id } } });

    expect((await webhooks("disable", id)).stdout).toBe(`${id} is disabled.\n`);
    const accountId = await register(service);
    expect(await webhooks("retry", id, eventId)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("disabled"),
    });
    expect((await webhooks("enable", id)).stdout).toBe(`${id} is enabled.\n`);
    expect(await jsonOf("replay", id, "--since", "1h")).toEqual({ queued: 1 });
    await expect.poll(() => typesReceived(secret), POLL).toContain("account.created");
    await expect
      .poll(() => jsonOf("deliveries", id, "--state", "delivered", "--limit", "1"), POLL)
      .toMatchObject([{ type: "account.created", responseStatus: 200 }]);
    expect(receiver.received.at(-1)?.body).toContain(accountId);

    const changes = ["--type", "account.deleted", "--type", "account.created", "--description", ""];
    expect((await webhooks("edit", id, ...changes)).stdout).toBe(`${id} is changed.\n`);
    const rotated = await webhooks("rotate-secret", id);
    expect(rotated.stderr).toBe(`Rotated the secret of ${id}. Store the secret now: it is not shown again.\n`);
    receiver.received.length = 0;
    expect(await webhooks("test", id)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Queued the test event .*\.\n$/),
    });
    await expect.poll(() => receiver.received.length, POLL).toBe(1);
    for (const valid of [secret, rotated.stdout.trim()]) expect(typesReceived(valid)).toEqual(["webhook.test"]);
    expect(await jsonOf("show", id)).toMatchObject({
      eventTypes: ["account.created", "account.deleted"],
      deliveries: [{ type: "webhook.test" }, { type: "account.created" }, { eventId }],
    });
    expect((await jsonOf("replay", id, "--since", "2026-01-01", "--all")).error.code).toBe("invalid_arguments");
    expect((await jsonOf("replay", id, "--since", "1d", "--all")).queued).toBe(1);

    expect(await webhooks("delete", id)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--yes is missing"),
    });
    expect((await webhooks("delete", id, "--yes")).stdout).toBe(`${id} is deleted.\n`);
    expect((await jsonOf("show", id)).error.code).toBe("not_found");
  },
  PATIENCE_MS,
);

test.each([
  ["create http://127.0.0.1/hooks", "--type: Must have at least one type"],
  ["show CRM", "ENDPOINT: Must be the id of an endpoint"],
  [`retry ${UNKNOWN_ID} 1`, "EVENT: Must be the id of an event"],
  [`edit ${UNKNOWN_ID}`, "edit takes --url, --type or --description"],
  [`replay ${UNKNOWN_ID} --since yesterday`, "--since: "],
])("npm run webhooks refuses %s with exit code 2 and says why", async (line, reason) => {
  const { code, stderr } = await runCommand("webhooks", line.split(" "), { DATA_DIR: "/proc/none" });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(reason) });
});
