import { randomUUID } from "node:crypto";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { readQueues } from "@/lib/overview/read-queues";
import { anonymizeBilling } from "@/lib/subscriptions/anonymize-billing";
import { retryWithdrawals } from "@/lib/subscriptions/inbox/consent";
import { sweepProviders } from "@/lib/subscriptions/reconcile/sweep";
import { eventsOf, newAccount, type TestAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { operatorWithRole } from "@/tests/support/console/operators";
import { clock, ctx, withContext } from "@/tests/support/context";
import { DAY_MS } from "@/tests/support/subscriptions/billing";
import { startProvider, withKeys } from "@/tests/support/subscriptions/billing-sources";
import { sendApple } from "@/tests/support/subscriptions/deliver-with";
import { replay } from "@/tests/support/subscriptions/operator-actions";
import { fakeAppStore } from "@/tests/support/subscriptions/provider-api";
import { apple, appleBody, PROVIDERS } from "@/tests/support/subscriptions/providers";
import { send } from "@/tests/support/subscriptions/revenuecat";
import { submit } from "@/tests/support/web/forms";
import { newReceiver, removeEndpoints } from "@/tests/support/webhooks";
import samples from "../providers/samples/app-store.json" with { type: "json" };

beforeEach(removeEndpoints);

/** The download of the app by an Apple Account, and a purchase with it by an account of the service. */
function newDownload() {
  const appTransactionId = randomUUID();
  const withdraw = (given: object = {}, config = {}) => {
    clock.advance(10);
    const notification = { type: "RESCIND_CONSENT", appTransaction: { appTransactionId }, ...given };
    return sendApple(notification, apple, undefined, config);
  };
  const buy = (account: { id: string }, { at = clock.now(), data = {} } = {}) => {
    const id = randomUUID();
    const dates = {
      purchaseDate: at.getTime(),
      originalPurchaseDate: at.getTime(),
      expiresDate: at.getTime() + DAY_MS,
    };
    const own = { originalTransactionId: id, transactionId: id, appAccountToken: account.id, appTransactionId };
    const transaction = { ...samples.transaction, ...own, ...dates };
    return sendApple({ type: "SUBSCRIBED", subtype: "INITIAL_BUY", data: { status: 1, ...data }, transaction });
  };
  return { appTransactionId, buy, withdraw };
}

const NO_APIS = { revenuecat: null, stripe: null, paddle: null };

const accountOf = ({ id }: TestAccount) => ctx().db.account.findUniqueOrThrow({ where: { id } });
const withdrawals = (accountId: string) =>
  ctx().db.auditEvent.count({ where: { accountId, type: "consent_withdrawn" } });
const sent = async () =>
  (await ctx().db.webhookEvent.findMany({ where: { type: "account.consent_withdrawn" } })).map(({ data }) => data);

test("a withdrawn consent is recorded on the accounts with a purchase by the same Apple Account, once", async () => {
  await newReceiver(["account.consent_withdrawn"]);
  const [ann, bob, eve] = [await newAccount(), await newAccount(), await newAccount()];
  const { buy, withdraw } = newDownload();
  await buy(ann);
  await buy(bob);
  await newDownload().buy(eve);
  const uuid = randomUUID();
  expect(await withdraw({ uuid })).toEqual([200, { status: "processed", eventId: uuid }]);
  const { consentWithdrawnAt, disabledAt } = await accountOf(ann);
  expect([consentWithdrawnAt, disabledAt]).toEqual([expect.any(Date), null]);
  expect(await withdraw({ uuid })).toMatchObject([200, { status: "duplicate" }]);
  expect(await withdraw()).toMatchObject([200, { status: "processed" }]);
  expect(await Promise.all([ann, bob, eve].map(({ id }) => withdrawals(id)))).toEqual([1, 1, 0]);
  const withdrawnAt = consentWithdrawnAt?.toISOString();
  const data = [ann, bob].map(({ id }) => ({ accountId: id, withdrawnAt, isSuspended: false }));
  expect(await sent()).toEqual(expect.arrayContaining(data));
  expect(await sent()).toHaveLength(2);
  expect((await get("/api/subscription/status", { token: ann.token })).status).toBe(200);
});

test("CONSENT_WITHDRAWAL_SUSPENDS disables the account, and not an operator's", async () => {
  await newReceiver(["account.consent_withdrawn"]);
  const [ann, operator] = [await newAccount(), await newAccount()];
  await ctx().db.account.update({ where: { id: operator.id }, data: { role: "support" } });
  const { buy, withdraw } = newDownload();
  await buy(ann);
  await buy(operator);
  await withdraw({}, { CONSENT_WITHDRAWAL_SUSPENDS: true });
  expect(await accountOf(ann)).toMatchObject({ disabledAt: expect.any(Date) });
  expect(await accountOf(operator)).toMatchObject({ disabledAt: null, consentWithdrawnAt: expect.any(Date) });
  expect((await get("/api/subscription/status", { token: ann.token })).status).toBe(401);
  expect(await sent()).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ accountId: ann.id, isSuspended: true }),
      expect.objectContaining({ accountId: operator.id, isSuspended: false }),
    ]),
  );
});

test("a purchase from before the withdrawal that arrives after it is concerned, and a later one is not", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const { buy, withdraw } = newDownload();
  const uuid = randomUUID();
  const before = clock.now();
  expect(await withdraw({ uuid })).toMatchObject([200, { status: "ignored" }]);
  const stored = () => ctx().db.billingEvent.findFirstOrThrow({ where: { eventId: uuid } });
  expect(await stored()).toMatchObject({ state: "ignored", reason: "account_unknown", accountId: null });
  clock.advance(DAY_MS);
  await buy(bob);
  expect(await withdrawals(bob.id)).toBe(0);
  await ctx().db.purchase.deleteMany({ where: { accountId: bob.id } });
  await buy(ann, { at: before });
  expect(await withdrawals(ann.id)).toBe(1);
  expect(await stored()).toMatchObject({ state: "processed", reason: null, accountId: ann.id });
});

/** Gives the purchase of a customer who has no account to one. */
async function assign(appUserId: string, { id: accountId }: TestAccount) {
  const { token } = await accountWithRole("admin");
  expect((await post("/api/admin/billing/assignments", { appUserId, accountId }, { token })).status).toBe(200);
}

test("a purchase that is assigned to an account after the withdrawal is concerned", async () => {
  const ann = await newAccount();
  const { buy, withdraw } = newDownload();
  const customer = randomUUID();
  await buy({ id: customer });
  const uuid = randomUUID();
  expect(await withdraw({ uuid })).toMatchObject([200, { status: "ignored" }]);
  await assign(customer, ann);
  await retryWithdrawals(ctx());
  expect(await withdrawals(ann.id)).toBe(1);
  const stored = await ctx().db.billingEvent.findFirstOrThrow({ where: { eventId: uuid } });
  expect(stored).toMatchObject({ state: "processed", accountId: ann.id });
});

test("the withdrawal of a sandbox's purchase that is assigned is tried once", async () => {
  const ann = await newAccount();
  const { buy, withdraw } = newDownload();
  const [customer, uuid] = [randomUUID(), randomUUID()];
  const data = { environment: "Sandbox", appAppleId: undefined };
  await buy({ id: customer }, { data });
  await withdraw({ uuid, data });
  await assign(customer, ann);
  await retryWithdrawals(ctx());
  const stored = await ctx().db.billingEvent.findFirstOrThrow({ where: { eventId: uuid } });
  expect(stored).toMatchObject({ state: "ignored", reason: "sandbox" });
  await withContext({ config: { BILLING_SANDBOX_TESTERS: [ann.id] } }, () => retryWithdrawals(ctx()));
  expect(await withdrawals(ann.id)).toBe(0);
});

test("a withdrawal and the first event of the purchase at the same moment concern the account", async () => {
  const ann = await newAccount();
  const { buy, withdraw } = newDownload();
  await withContext({ config: PROVIDERS }, () =>
    Promise.all([withdraw(), buy(ann, { at: new Date(clock.now().getTime() - DAY_MS) })]),
  );
  expect(await withdrawals(ann.id)).toBe(1);
});

test("the sandbox concerns only those whom its purchases give access", async () => {
  const ann = await newAccount();
  const { buy, withdraw } = newDownload();
  const data = { environment: "Sandbox", appAppleId: undefined };
  await buy(ann, { data });
  expect(await withdraw({ data })).toMatchObject([200, { status: "ignored" }]);
  expect(await accountOf(ann)).toMatchObject({ consentWithdrawnAt: null });
  await withdraw({ data }, { BILLING_SANDBOX_TESTERS: [ann.id] });
  expect(await accountOf(ann)).toMatchObject({ consentWithdrawnAt: expect.any(Date) });
});

test("a withdrawal whose webhook was lost is found in what the App Store has sent", async () => {
  const ann = await newAccount();
  const { appTransactionId, buy } = newDownload();
  await buy(ann);
  clock.advance(10);
  const given = { type: "RESCIND_CONSENT", appTransaction: { appTransactionId } };
  const fake = fakeAppStore();
  fake.history.push({ ...JSON.parse(appleBody(given)), at: clock.now().getTime(), type: given.type });
  clock.advance(1000);
  const provider = await startProvider();
  onTestFinished(() => void provider.close());
  provider.respond((_, response, request) => {
    const { status, body, headers } = fake.answer(request);
    send(response, status, body, headers);
  });
  await withKeys(provider.url, () =>
    sweepProviders({ ...ctx(), billing: { ...NO_APIS, appStore: ctx().billing.appStore } }),
  );
  expect(await withdrawals(ann.id)).toBe(1);
});

test("an operator records that the consent was given again; a replay does not withdraw it a second time", async () => {
  const ann = await newAccount();
  const { buy, withdraw } = newDownload();
  await buy(ann);
  const uuid = randomUUID();
  await withdraw({ uuid });
  const { cookie } = await operatorWithRole("admin");
  const count = async () => (await readQueues(ctx()))?.withdrawnConsents ?? 0;
  const withAnn = await count();
  const fields = { accountId: ann.id, reason: "Called by the mother", returnTo: `/console/accounts/${ann.id}` };
  const response = await submit("console/restoreAccountConsent", fields, { cookie });
  expect(response.headers.get("location")).toContain("done=consent_restored");
  expect(await count()).toBe(withAnn - 1);
  await replay({ eventId: uuid });
  expect(await accountOf(ann)).toMatchObject({ consentWithdrawnAt: null });
  expect(await eventsOf(ann.id)).toEqual(expect.arrayContaining(["consent_withdrawn", "consent_restored"]));
  await withdraw();
  expect(await accountOf(ann)).toMatchObject({ consentWithdrawnAt: expect.any(Date) });
});

test("nothing of a deleted account names its Apple Account, and a withdrawal after that concerns nobody", async () => {
  const ann = await newAccount();
  const { appTransactionId, buy, withdraw } = newDownload();
  await buy(ann);
  await withdraw();
  await ctx().db.$transaction((tx) => anonymizeBilling(tx, ann.id));
  const rows = await ctx().db.$queryRaw<unknown[]>`
    SELECT 1 FROM "BillingEvent" AS event WHERE event::text LIKE ${`%${appTransactionId}%`}
    UNION ALL SELECT 1 FROM "Purchase" AS purchase WHERE purchase::text LIKE ${`%${appTransactionId}%`}`;
  expect(rows).toEqual([]);
  expect(await withdraw()).toMatchObject([200, { status: "ignored" }]);
});

test.each<[string, object]>([
  ["of another app", { bundleId: "com.example.other" }],
  ["of another environment", { receiptType: "Sandbox" }],
])("an app transaction %s is refused", async (_, given) => {
  const { appTransactionId, withdraw } = newDownload();
  const refused = await withdraw({ appTransaction: { appTransactionId, ...given } });
  expect(refused).toMatchObject([401, { code: "webhook_unauthorized" }]);
});

test("a withdrawal without an app transaction is ignored", async () => {
  expect(await sendApple({ type: "RESCIND_CONSENT" })).toMatchObject([200, { status: "ignored" }]);
  expect(await sendApple({ type: "RESCIND_CONSENT", appTransaction: {} })).toMatchObject([200, { status: "ignored" }]);
});
