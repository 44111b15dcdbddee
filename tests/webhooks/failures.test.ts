import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { changeEndpoint, createEndpoint, findEndpoint, rotateSecret } from "@/lib/webhooks/endpoints";
import { sendTestEvent } from "@/lib/webhooks/replay";
import { clock, ctx } from "@/tests/support/context";
import { attempted, deliveriesOf, newReceiver, OPERATOR, removeEndpoints } from "@/tests/support/webhooks";

const DAY_MS = 24 * 60 * 60 * 1000;

beforeEach(async () => {
  clock.reset();
  await removeEndpoints();
});

/** The URL of a server that responds to every request as one for WebSockets does. */
async function startUpgrader(): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () =>
      socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"),
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
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
