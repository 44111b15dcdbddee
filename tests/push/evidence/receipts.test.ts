import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { jwtVerify } from "jose";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { receiptOf, TEAM_ID } from "@/dev/app-attest/app-attest";
import { createAppAttestApi } from "@/lib/platform/adapters/app-attest-api";
import { refreshReceipts } from "@/lib/push/evidence/refresh-receipts";
import { get } from "@/tests/support/api";
import { operatorWithRole } from "@/tests/support/console/operators";
import { clock, ctx, withContext } from "@/tests/support/context";
import { listen } from "@/tests/support/network/listen";
import { challengedPhone } from "@/tests/support/push/evidence";
import { answer, attested, newPhone, type Phone } from "@/tests/support/push/phone";

const DAY_MS = 24 * 60 * 60 * 1000;
const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const KEY = privateKey.export({ type: "pkcs8", format: "pem" }).toString();

/** App Attest's data service, as "Assessing fraud risk" describes it. */
const apple = {
  status: 200,
  next: Buffer.alloc(0),
  requests: [] as { authorization: string; receipt: Buffer }[],
  url: "",
};
const server = createServer({ keepAliveTimeout: 0 }, async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const { authorization = "" } = request.headers;
  const isAsked = request.method === "POST" && request.url === "/v1/attestationData";
  apple.requests.push({ authorization, receipt: Buffer.from(body, "base64") });
  response
    .writeHead(isAsked ? apple.status : 405)
    .end(apple.status === 200 ? apple.next.toString("base64") : undefined);
});

beforeAll(async () => {
  apple.url = `http://${await listen(server)}`;
});
afterAll(() => void server.close());
beforeEach(async () => {
  apple.requests = [];
  await ctx().db.attestationReceipt.deleteMany();
});

const appIdOf = ({ bundleId }: Phone) => `${TEAM_ID}.${bundleId}`;

/** A phone that has attested its key, and the receipt in the attestation. */
async function attestedPhone() {
  const { account, phone, challenged } = await challengedPhone();
  const receipt = receiptOf({ key: phone.key, appId: appIdOf(phone) });
  const response = await answer(account, phone, attested(account, phone, challenged, { receipt }));
  expect(response.status).toBe(200);
  const stored = () => ctx().db.attestationReceipt.findUniqueOrThrow({ where: { deviceId: challenged.deviceId } });
  return { account, phone, receipt, stored };
}

function refresh(): Promise<void> {
  const config = { APP_ATTEST_API_KEY: KEY, APP_ATTEST_API_KEY_ID: "DEF123GHIJ", APP_ATTEST_API_URL: apple.url };
  return withContext({ appAttest: createAppAttestApi({ ...ctx().config, ...config }) }, () => refreshReceipts(ctx()));
}

/** What Apple answers: the status, and with 200 a receipt. */
function answerWith(status: number, next: Buffer = Buffer.alloc(0)): void {
  Object.assign(apple, { status, next });
}

test("a receipt is exchanged for one with the fraud metric, which operators see, and again once Apple allows it", async () => {
  const { account, phone, receipt, stored } = await attestedPhone();
  const { cookie } = await operatorWithRole("support");
  const seen = async () => {
    const response = await get(`/api/admin/accounts/${account.id}`, { cookie });
    return ((await response.json()) as { devices: { receipt: unknown }[] }).devices[0]?.receipt;
  };
  expect(await seen()).toEqual({ riskMetric: null, riskMetricAt: null });
  const of = { key: phone.key, appId: appIdOf(phone) };
  const second = receiptOf(of, { riskMetric: 3, notBefore: new Date(clock.now().getTime() + 2 * DAY_MS) });
  answerWith(200, second);
  await refresh();
  await refresh();
  expect(apple.requests.map((request) => request.receipt)).toEqual([receipt]);
  const { payload, protectedHeader } = await jwtVerify(apple.requests[0]?.authorization ?? "", publicKey);
  expect([payload.iss, protectedHeader]).toEqual([TEAM_ID, { alg: "ES256", kid: "DEF123GHIJ" }]);
  expect(await seen()).toEqual({ riskMetric: 3, riskMetricAt: expect.any(String) });
  clock.advance(2 * DAY_MS + 1000);
  answerWith(200, receiptOf(of, { riskMetric: 5 }));
  await refresh();
  expect(apple.requests[1]?.receipt).toEqual(second);
  expect(await stored()).toMatchObject({ riskMetric: 5 });
});

test("the receipt of another device's key, and what is no receipt, are not kept, and not asked for again", async () => {
  for (const other of [
    (phone: Phone) => receiptOf({ key: newPhone().key, appId: appIdOf(phone) }, { riskMetric: 1 }),
    (phone: Phone) => receiptOf({ key: phone.key, appId: `${TEAM_ID}.com.example.other` }, { riskMetric: 1 }),
    () => Buffer.from("no receipt"),
    () => Buffer.alloc(0),
  ]) {
    const { phone, receipt, stored } = await attestedPhone();
    answerWith(200, other(phone));
    await refresh();
    const { receipt: kept, ...state } = await stored();
    expect([Buffer.from(kept), state]).toMatchObject([receipt, { riskMetric: null, nextAttemptAt: null }]);
  }
});

test.each<[number, number | null]>([
  [304, 1],
  [404, 7],
  [400, null],
])("after a response of %i Apple is asked again in %s days", async (status, days) => {
  const { stored } = await attestedPhone();
  answerWith(status);
  await refresh();
  const { nextAttemptAt, riskMetric } = await stored();
  const inDays = nextAttemptAt && Math.round((nextAttemptAt.getTime() - clock.now().getTime()) / DAY_MS);
  expect([inDays, riskMetric]).toEqual([days, null]);
});

test.each([401, 429, 503])("after a response of %i nothing more is asked for an hour", async (status) => {
  await attestedPhone();
  await attestedPhone();
  answerWith(status);
  await expect(refresh()).rejects.toThrow(`status ${status}`);
  expect(apple.requests).toHaveLength(1);
  await expect(refresh()).rejects.toThrow(`status ${status}`);
  await refresh();
  expect(apple.requests).toHaveLength(2);
});

test("without a key nothing is asked", async () => {
  const { stored } = await attestedPhone();
  await refreshReceipts(ctx());
  expect(apple.requests).toEqual([]);
  expect(await stored()).toMatchObject({ riskMetric: null });
});
