import { afterEach, beforeAll, expect, test } from "vitest";
import { readShownSecret } from "@/lib/platform/http/pages/page-cookies";
import { countDeliveries } from "@/lib/webhooks/deliveries";
import { endpointState, listEndpoints } from "@/lib/webhooks/endpoints";
import { webhookSecretKind } from "@/lib/webhooks/operations";
import { newAccount } from "@/tests/support/accounts";
import { operatorWithRole } from "@/tests/support/console/operators";
import { clock, ctx } from "@/tests/support/context";
import { verifyWebhook } from "@/tests/support/network/webhook-receiver";
import { cookiesOf, flashOf, submit } from "@/tests/support/web/forms";
import { attempted, deliveriesOf, newReceiver, removeEndpoints } from "@/tests/support/webhooks";

const LIST = "/console/settings/webhooks";
const NEW = { url: "https://hooks.example.com/homeport", "eventTypes.account.created": "on", description: "CRM" };

const post = (form: string, fields: Record<string, string>) => submit(`console/${form}`, fields, { cookie });
const locationOf = (response: Response) => response.headers.get("location");
const endpoints = async () => (await listEndpoints(ctx())).endpoints;
const eventsOf = async (target: string) =>
  (await ctx().db.auditEvent.findMany({ where: { target }, orderBy: { id: "asc" } })).map(({ type }) => type);

let accountId: string;
let cookie: string;
beforeAll(async () => {
  ({ id: accountId, cookie } = await operatorWithRole("admin"));
});
afterEach(removeEndpoints);

test("an admin creates an endpoint and sees its secret once, on its page alone", async () => {
  const created = await post("createWebhookEndpoint", { ...NEW, "eventTypes.account.deleted": "on" });
  const [endpoint] = await endpoints();
  expect(endpoint).toMatchObject({
    url: NEW.url,
    eventTypes: ["account.created", "account.deleted"],
    description: "CRM",
  });
  const id = endpoint?.id ?? "";
  expect([created.status, locationOf(created)]).toEqual([303, `${LIST}/${id}?done=created`]);
  const shown = (kind: string) => readShownSecret(ctx(), accountId, kind, new Headers({ cookie: cookiesOf(created) }));
  expect(await shown(webhookSecretKind(id))).toMatch(/^whsec_/);
  expect(await shown(webhookSecretKind(accountId))).toBeNull();
  expect(await eventsOf(`webhook:${id}`)).toEqual(["webhook_created"]);
});

test.each([
  [{ url: "http://203.0.113.7/hooks" }, "url", "Must be an https URL"],
  [{ "eventTypes.account.created": "" }, "eventTypes", "Required"],
  [{ "eventTypes.account.renamed": "on" }, "eventTypes/1", ""],
  [{ description: "x".repeat(201) }, "description", ""],
])("the form that creates an endpoint names the field that %j makes wrong", async (changed, field, message) => {
  const flash = flashOf(await post("createWebhookEndpoint", { ...NEW, ...changed }));
  expect(Object.keys(flash?.fields ?? {})).toEqual([field]);
  expect(flash?.fields[field]).toContain(message);
  expect(await endpoints()).toEqual([]);
});

test("an admin edits, disables, enables, tests, rotates and deletes an endpoint, as the audit trail says", async () => {
  const receiver = await newReceiver();
  const { id: endpointId } = receiver;
  const page = `${LIST}/${endpointId}`;
  const send = async (form: string, fields = {}) =>
    locationOf(await post(form, { endpointId, returnTo: page, ...fields }));

  const [before] = await endpoints();
  const edited = {
    url: receiver.url,
    "eventTypes.account.deleted": "on",
    previewed: before ? endpointState(before) : "",
  };
  expect(await send("changeWebhookEndpoint", edited)).toBe(`${page}?done=changed`);
  const stale = flashOf(
    await post("changeWebhookEndpoint", { endpointId, returnTo: page, ...edited, description: "CRM" }),
  );
  expect(stale?.message).toContain("Somebody else has changed this endpoint");
  expect(await endpoints()).toMatchObject([{ eventTypes: ["account.deleted"], description: null }]);
  expect(await send("toggleWebhookEndpoint", { enabled: "false" })).toBe(`${page}?done=disabled`);
  const refused = await post("sendWebhookTestEvent", { endpointId, returnTo: page });
  expect(flashOf(refused)?.message).toMatch(/disabled/i);
  expect(await send("toggleWebhookEndpoint", { enabled: "true" })).toBe(`${page}?done=enabled`);
  const rotated = await post("rotateWebhookSecret", { endpointId, returnTo: page });
  expect(locationOf(rotated)).toBe(`${page}?done=rotated`);

  const tested = await send("sendWebhookTestEvent");
  await attempted(endpointId, 1);
  const [delivery] = await deliveriesOf(endpointId);
  expect(tested).toBe(`${page}/${delivery?.eventId}?done=tested`);
  expect(receiver.received.map((one) => verifyWebhook(receiver.secret, one).type)).toEqual(["webhook.test"]);

  expect(await send("deleteWebhookEndpoint")).toBe(`${LIST}?done=deleted`);
  expect(await endpoints()).toEqual([]);
  expect(await eventsOf(`webhook:${endpointId}`)).toEqual([
    "webhook_created",
    "webhook_changed",
    "webhook_changed",
    "webhook_changed",
    "webhook_secret_rotated",
    "webhook_tested",
    "webhook_deleted",
  ]);
  expect(flashOf(await post("retryWebhookDelivery", { endpointId, eventId: delivery?.eventId ?? "" }))).not.toBeNull();
});

test("a delivery that failed is retried, and events since a time are replayed", async () => {
  const receiver = await newReceiver();
  const { id: endpointId } = receiver;
  receiver.respond = (response) => response.writeHead(500).end();
  await post("sendWebhookTestEvent", { endpointId });
  await attempted(endpointId, 1);
  const [delivery] = await deliveriesOf(endpointId);
  expect(delivery).toMatchObject({ state: "pending", attempts: 1, responseStatus: 500 });
  expect(await countDeliveries(ctx(), endpointId)).toEqual({ pending: 1, failed: 0, delivered: 0 });

  receiver.respond = (response) => response.writeHead(204).end();
  const eventId = delivery?.eventId ?? "";
  const retried = await post("retryWebhookDelivery", { endpointId, eventId });
  expect(locationOf(retried)).toBe(`${LIST}?done=retried`);
  await attempted(endpointId, 1);
  expect(await countDeliveries(ctx(), endpointId)).toEqual({ pending: 0, failed: 0, delivered: 1 });

  const minutesAgo = (minutes: number) => new Date(clock.now().getTime() - minutes * 60_000).toISOString().slice(0, 16);
  const replay = async (fields: Record<string, string>) =>
    locationOf(await post("replayWebhookDeliveries", { endpointId, ...fields }));
  expect(await replay({ since: minutesAgo(5) })).toBe(`${LIST}?done=replayed_none`);
  await post("toggleWebhookEndpoint", { endpointId, enabled: "false" });
  await newAccount();
  await post("toggleWebhookEndpoint", { endpointId, enabled: "true" });
  expect(await replay({ since: minutesAgo(5) })).toBe(`${LIST}?done=replayed`);
  await attempted(endpointId, 1);
  expect(await countDeliveries(ctx(), endpointId)).toEqual({ pending: 0, failed: 0, delivered: 2 });
  const wrong = flashOf(await post("replayWebhookDeliveries", { endpointId, since: "yesterday" }));
  expect(wrong?.fields).toEqual({ since: "Must be a time such as 2026-11-22T09:00" });
});
