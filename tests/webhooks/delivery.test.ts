import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { createServer } from "node:net";
import { beforeEach, describe, expect, test } from "vitest";
import { claimDelivery } from "@/lib/webhooks/claim-delivery";
import { findDelivery } from "@/lib/webhooks/deliveries";
import { changeEndpoint, createEndpoint, findEndpoint, rotateSecret } from "@/lib/webhooks/endpoints";
import { replayDeliveries, retryDelivery, sendTestEvent } from "@/lib/webhooks/replay";
import { newAccount } from "@/tests/support/accounts";
import { clock, ctx } from "@/tests/support/context";
import { listenForTest } from "@/tests/support/network/listen";
import { verifyWebhook } from "@/tests/support/network/webhook-receiver";
import { attempted, deliveriesOf, newReceiver, OPERATOR, removeEndpoints } from "@/tests/support/webhooks";

const HOUR_MS = 3_600_000;

beforeEach(async () => {
  clock.reset();
  await removeEndpoints();
});

/** The first element, which a test cannot do without. */
function first<T>([one]: readonly T[]): T {
  return one ?? expect.fail("there is none");
}

describe("a delivery", () => {
  test("is signed as Standard Webhooks says, with the id of its event", async () => {
    const receiver = await newReceiver();
    const { id: accountId } = await newAccount();
    await attempted(receiver.id, 1);
    const received = first(receiver.received);
    const payload = verifyWebhook(receiver.secret, received);
    expect(payload).toEqual({ type: "account.created", timestamp: expect.any(String), data: { accountId } });
    const [delivery] = await deliveriesOf(receiver.id);
    expect(delivery).toMatchObject({
      eventId: received.headers["webhook-id"],
      state: "delivered",
      responseStatus: 204,
    });
    expect(received.headers).toMatchObject({ "content-type": "application/json", "user-agent": /^Homeport\// });
    expect(() => verifyWebhook("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", received)).toThrow();
  });

  test("is signed with two secrets for a day after a rotation, and then with the new one", async () => {
    const receiver = await newReceiver();
    const { secret } = await rotateSecret(ctx(), OPERATOR, receiver.id);
    await newAccount();
    await attempted(receiver.id, 1);
    for (const one of [receiver.secret, secret]) verifyWebhook(one, first(receiver.received));
    clock.advance(24 * HOUR_MS + 1000);
    await sendTestEvent(ctx(), OPERATOR, receiver.id);
    await attempted(receiver.id, 1);
    expect(String(receiver.received.at(-1)?.headers["webhook-signature"]).split(" ")).toHaveLength(1);
  });

  test("that fails is repeated by the schedule, with the same id and body, until it succeeds", async () => {
    const receiver = await newReceiver();
    receiver.respond = (response) => response.writeHead(500).end("broken");
    await newAccount();
    await attempted(receiver.id, 1);
    const { eventId, nextAttemptAt } = first(await deliveriesOf(receiver.id));
    expect(nextAttemptAt?.getTime()).toBeLessThanOrEqual(clock.now().getTime() + 5_000);
    expect((await findDelivery(ctx(), receiver.id, eventId)).responseBody).toBe("broken");
    expect((await findEndpoint(ctx(), receiver.id)).status).toBe("failing");

    receiver.respond = (response) => response.writeHead(200).end();
    clock.advance(5_001);
    await attempted(receiver.id, 2);
    expect(await deliveriesOf(receiver.id)).toMatchObject([{ state: "delivered", attempts: 2 }]);
    expect((await findEndpoint(ctx(), receiver.id)).status).toBe("enabled");
    const [one, two] = receiver.received;
    expect([two?.headers["webhook-id"], two?.body]).toEqual([one?.headers["webhook-id"], one?.body]);
  });

  test("fails for good after ten attempts within four days", async () => {
    const receiver = await newReceiver();
    receiver.respond = (response) => response.writeHead(503).end();
    await newAccount();
    for (let attempts = 1; attempts <= 10; attempts++) {
      await attempted(receiver.id, attempts);
      const { nextAttemptAt } = first(await deliveriesOf(receiver.id));
      if (nextAttemptAt) clock.advance(nextAttemptAt.getTime() - clock.now().getTime() + 1);
    }
    expect(await deliveriesOf(receiver.id)).toMatchObject([{ state: "failed", attempts: 10, nextAttemptAt: null }]);
  });

  test("waits as long as Retry-After asks for", async () => {
    const receiver = await newReceiver();
    receiver.respond = (response) => response.writeHead(429, { "retry-after": "600" }).end();
    await newAccount();
    await attempted(receiver.id, 1);
    const { lastAttemptAt, nextAttemptAt } = first(await deliveriesOf(receiver.id));
    expect(Number(nextAttemptAt) - Number(lastAttemptAt)).toBeGreaterThanOrEqual(600_000);
  });

  test("is not redirected", async () => {
    const [receiver, other] = [await newReceiver(), await newReceiver(["account.deleted"])];
    receiver.respond = (response) => response.writeHead(302, { location: other.url }).end();
    await newAccount();
    await attempted(receiver.id, 1);
    expect(await deliveriesOf(receiver.id)).toMatchObject([{ state: "pending", responseStatus: 302 }]);
    expect(other.received).toEqual([]);
  });

  test("with a huge response is delivered, and 1,024 bytes of it are kept", async () => {
    const receiver = await newReceiver();
    receiver.respond = (response) => {
      response.writeHead(200);
      const write = () => {
        while (response.write("x".repeat(65_536)));
      };
      response.on("drain", write).on("error", () => {});
      write();
    };
    await newAccount();
    await attempted(receiver.id, 1);
    const { eventId } = first(await deliveriesOf(receiver.id));
    const { state, responseBody } = await findDelivery(ctx(), receiver.id, eventId);
    expect([state, responseBody?.length]).toEqual(["delivered", 1_024]);
  });

  test("to a receiver that does not respond ends after ten seconds, and delays no other endpoint", async () => {
    const [slow, fast] = [await newReceiver(), await newReceiver()];
    slow.respond = () => {};
    for (let i = 0; i < 6; i++) await newAccount();
    await attempted(fast.id, 1);
    expect(fast.received).toHaveLength(6);
    expect(slow.received.length).toBeLessThanOrEqual(4);
    await expect.poll(async () => first(await deliveriesOf(slow.id)).error).toBe("No response within 10 seconds");
  });

  test("waits while four others to its endpoint are in progress, however often the queue is woken", async () => {
    const receiver = await newReceiver();
    receiver.respond = (response) => response.writeHead(503).end();
    for (let i = 0; i < 12; i++) await newAccount();
    await attempted(receiver.id, 1);
    const held: ServerResponse[] = [];
    receiver.respond = (response) => held.push(response);
    clock.advance(5_001);
    for (let i = 0; i < 12; i++) ctx().webhooks.wake();
    await expect.poll(() => held.length).toBe(4);
    const claimed = { endpointId: receiver.id, attempts: 2 };
    expect(await ctx().db.webhookDelivery.count({ where: claimed })).toBe(4);
    receiver.respond = (response) => response.writeHead(204).end();
    for (const response of held) response.writeHead(204).end();
    await attempted(receiver.id, 2);
  });

  test("of a process that was killed is made again, once its lease has expired", async () => {
    const receiver = await newReceiver();
    await newAccount();
    const claimed = await claimDelivery(ctx(), []);
    expect(claimed?.attempts).toBe(1);
    expect(await claimDelivery(ctx(), [])).toBeNull();
    clock.advance(20_001);
    ctx().webhooks.wake();
    await expect.poll(() => receiver.received.length).toBe(1);
    await expect.poll(async () => (await deliveriesOf(receiver.id))[0]?.state).toBe("delivered");
  });
});

describe("an endpoint", () => {
  test("that responds 410 is disabled, and the trail and an email say so", async () => {
    const receiver = await newReceiver();
    receiver.respond = (response) => response.writeHead(410).end();
    const config = { ...ctx().config };
    expect(config.OPERATOR_EMAIL).toEqual([]);
    await newAccount();
    await attempted(receiver.id, 1);
    expect(await findEndpoint(ctx(), receiver.id)).toMatchObject({ status: "disabled", disabledReason: "gone" });
    const event = await ctx().db.auditEvent.findFirst({
      where: { target: `webhook:${receiver.id}`, actor: "service" },
    });
    expect(event).toMatchObject({ type: "webhook_disabled", details: { url: receiver.url, reason: "gone" } });
    await newAccount();
    expect(await deliveriesOf(receiver.id)).toHaveLength(1);
  });

  test("that fails for five days is disabled, and gets what it missed by a replay", async () => {
    const receiver = await newReceiver();
    receiver.respond = (response) => response.writeHead(500).end();
    const since = new Date(Date.now() - 1000);
    await newAccount();
    await attempted(receiver.id, 1);
    clock.advance(5 * 24 * HOUR_MS);
    await attempted(receiver.id, 2);
    expect(await findEndpoint(ctx(), receiver.id)).toMatchObject({ status: "disabled", disabledReason: "failing" });
    const { id: missed } = await newAccount();
    receiver.respond = (response) => response.writeHead(204).end();
    await changeEndpoint(ctx(), OPERATOR, receiver.id, { enabled: true });
    expect(await replayDeliveries(ctx(), OPERATOR, receiver.id, { since, all: false })).toEqual({ queued: 1 });
    await attempted(receiver.id, 1);
    expect(receiver.received.map(({ body }) => body).join()).toContain(missed);
    expect((await deliveriesOf(receiver.id)).map(({ state }) => state)).toContain("delivered");
  });

  test("gets a delivery again that an operator retries, and all since a time that they replay", async () => {
    const receiver = await newReceiver();
    for (let i = 0; i < 3; i++) await newAccount();
    await attempted(receiver.id, 1);
    const { eventId } = first(await deliveriesOf(receiver.id));
    await retryDelivery(ctx(), OPERATOR, { endpointId: receiver.id, eventId });
    await expect.poll(() => receiver.received.length).toBe(4);
    const since = new Date(Date.now() - HOUR_MS);
    await attempted(receiver.id, 1);
    expect(await replayDeliveries(ctx(), OPERATOR, receiver.id, { since, all: false })).toEqual({ queued: 0 });
    expect(await replayDeliveries(ctx(), OPERATOR, receiver.id, { since, all: true })).toEqual({ queued: 3 });
    await expect.poll(() => receiver.received.length).toBe(7);
  });

  test("that is disabled is not sent a test event", async () => {
    const receiver = await newReceiver();
    await changeEndpoint(ctx(), OPERATOR, receiver.id, { enabled: false });
    await expect(sendTestEvent(ctx(), OPERATOR, receiver.id)).rejects.toMatchObject({ code: "webhook_disabled" });
    await expect(sendTestEvent(ctx(), OPERATOR, randomUUID())).rejects.toMatchObject({ code: "not_found" });
  });
});

const DAY_MS = 24 * 60 * 60 * 1000;

/** The URL of a server that responds to every request as one for WebSockets does. */
async function startUpgrader(): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () =>
      socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"),
    );
  });
  return `http://${await listenForTest(server)}/hooks`;
}

test("a receiver that responds 101 fails its deliveries, and delays no other endpoint", async () => {
  const { id } = await createEndpoint(ctx(), OPERATOR, { url: await startUpgrader(), eventTypes: ["account.created"] });
  for (let i = 0; i < 4; i++) await sendTestEvent(ctx(), OPERATOR, id);
  await expect
    .poll(async () => (await deliveriesOf(id)).map(({ error }) => error))
    .toEqual(Array(4).fill("The connection was closed without a response"));
});

/** An endpoint that has failed for six days, and two of its requests, which wait for their responses. */
async function failingWithTwoInProgress() {
  const receiver = await newReceiver();
  const failingSince = new Date(clock.now().getTime() - 6 * DAY_MS);
  await ctx().db.webhookEndpoint.update({ where: { id: receiver.id }, data: { failingSince } });
  const held: ServerResponse[] = [];
  receiver.respond = (response) => void held.push(response);
  for (let i = 0; i < 2; i++) await sendTestEvent(ctx(), OPERATOR, receiver.id);
  await expect.poll(() => held.length).toBe(2);
  const statuses = async () => (await deliveriesOf(receiver.id)).map(({ responseStatus }) => responseStatus);
  const respond = async (status: number) => {
    held.shift()?.writeHead(status).end();
    await expect.poll(statuses).toContain(status);
  };
  return { id: receiver.id, respond };
}

test("an endpoint that took a delivery is not disabled by a slower one that fails", async () => {
  const { id, respond } = await failingWithTwoInProgress();
  await respond(204);
  await respond(500);
  expect(await findEndpoint(ctx(), id)).toMatchObject({ status: "failing", disabledReason: null });
});

test("an endpoint with another URL is not disabled by what the old one responds", async () => {
  const { id, respond } = await failingWithTwoInProgress();
  await changeEndpoint(ctx(), OPERATOR, id, { url: "http://127.0.0.1:9/corrected" });
  await respond(500);
  await respond(410);
  expect(await findEndpoint(ctx(), id)).toMatchObject({ disabledReason: null });
});

test("a delivery that cannot be signed fails with its reason, and is repeated by the schedule", async () => {
  const receiver = await newReceiver();
  const replaceSecret = (data: object) => ctx().db.webhookEndpoint.update({ where: { id: receiver.id }, data });
  const { secret } = await ctx().db.webhookEndpoint.findUniqueOrThrow({ where: { id: receiver.id } });
  await replaceSecret({ secret: "1.unknown.AAAA" }); // as after NEXTAUTH_SECRET was replaced without the old one
  await sendTestEvent(ctx(), OPERATOR, receiver.id);
  const error = "The endpoint's secret cannot be decrypted";
  await attempted(receiver.id, 1);
  expect(await deliveriesOf(receiver.id)).toMatchObject([{ state: "pending", attempts: 1, error }]);
  await replaceSecret({ secret });
  await rotateSecret(ctx(), OPERATOR, receiver.id);
  await replaceSecret({ previousSecret: "1.unknown.AAAA" });
  clock.advance(6_000);
  ctx().webhooks.wake();
  await expect.poll(() => receiver.received.length).toBe(1);
});

test("a delivery that was attempted without end stops no other", async () => {
  const [stuck, healthy] = [await newReceiver(), await newReceiver()];
  stuck.respond = () => {};
  await sendTestEvent(ctx(), OPERATOR, stuck.id);
  await expect.poll(() => stuck.received.length).toBe(1);
  const lease = { attempts: 32_767, nextAttemptAt: clock.now() };
  await ctx().db.webhookDelivery.updateMany({ where: { endpointId: stuck.id }, data: lease });
  await sendTestEvent(ctx(), OPERATOR, healthy.id);
  await expect.poll(() => healthy.received.length).toBe(1);
  await expect.poll(() => stuck.received.length).toBe(2);
});
