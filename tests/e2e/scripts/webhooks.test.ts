import { expect, test } from "vitest";
import { startReceiver, verifyWebhook } from "@/tests/support/network/webhook-receiver";
import { runCommand } from "@/tests/support/process/command";
import { bearer, operatorKeyOf, registerAt, type Service, startForTest } from "@/tests/support/process/service";

/** The newest delivery of an endpoint, as the admin API shows it. */
async function newestDelivery(service: Service, id: string): Promise<unknown> {
  const headers = bearer(await operatorKeyOf(service));
  const response = await service.fetch(`/api/admin/webhooks/${id}/deliveries?limit=1`, { headers });
  return ((await response.json()) as { deliveries: unknown[] }).deliveries[0];
}

test("an operator creates, watches, retries, replays, changes and deletes webhooks while the service runs", async () => {
  const [service, receiver] = await Promise.all([startForTest(), startReceiver()]);
  const webhooks = (...args: string[]) => runCommand("homeport", ["webhooks", ...args], { DATA_DIR: service.dataDir });
  const jsonOf = async (...args: string[]) => JSON.parse((await webhooks(...args, "--json")).stdout);
  const typesReceived = (secret: string) => receiver.received.map((one) => verifyWebhook(secret, one).type);

  const created = await webhooks("create", receiver.url, "--type", "account.created", "--description", "CRM");
  const secret = created.stdout.trim();
  const [, id = ""] = /^Created (.*)\. Store the secret now/.exec(created.stderr) ?? [];
  expect((await webhooks("list")).stdout).toBe(`${id}\tenabled\t-\taccount.created\t${receiver.url}\tCRM\n`);

  receiver.respond = (response) => response.destroy(); // it is down
  const { eventId } = await jsonOf("test", id);
  await expect.poll(() => newestDelivery(service, id)).toMatchObject({ state: "pending", attempts: 1 });
  expect((await webhooks("deliveries", id)).stdout).toMatch(
    new RegExp(`^${eventId}\\t[^\\t]+\\twebhook.test\\tpending\\t1\\t[^\\t]+\\t-\\tsocket hang up\n$`),
  );
  receiver.respond = (response) => response.end("taken");
  expect(await webhooks("retry", id, eventId)).toMatchObject({ code: 0, stdout: `Requeued ${eventId}.\n` });
  await expect.poll(() => newestDelivery(service, id)).toMatchObject({ state: "delivered" });
  expect(typesReceived(secret).length).toBeGreaterThan(1);
  const shown = await jsonOf("show", id, eventId);
  expect(shown).toMatchObject({ state: "delivered", responseBody: "taken", payload: { data: { endpointId: id } } });

  expect((await webhooks("disable", id)).stdout).toBe(`${id} is disabled.\n`);
  const accountId = (await registerAt(service)).id;
  expect((await webhooks("enable", id)).stdout).toBe(`${id} is enabled.\n`);
  expect(await jsonOf("replay", id, "--since", "1h")).toEqual({ queued: 1 });
  const isDelivered = { type: "account.created", state: "delivered" };
  await expect.poll(() => newestDelivery(service, id)).toMatchObject(isDelivered);
  expect(typesReceived(secret)).toContain("account.created");
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
  await expect.poll(() => receiver.received.length).toBe(1);
  for (const valid of [secret, rotated.stdout.trim()]) expect(typesReceived(valid)).toEqual(["webhook.test"]);
  expect(await jsonOf("show", id)).toMatchObject({
    eventTypes: ["account.created", "account.deleted"],
    deliveries: [{ type: "webhook.test" }, { type: "account.created" }, { eventId }],
  });

  const refused = await webhooks("delete", id, "--json");
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes is missing") });
  expect(JSON.parse(refused.stdout).error.code).toBe("invalid_arguments");
  expect((await webhooks("delete", id, "--yes")).stdout).toBe(`${id} is deleted.\n`);
});
