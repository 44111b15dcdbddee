import { createHash, randomBytes, randomUUID } from "node:crypto";
import { TOTP } from "otpauth";
import { PasskeyAuthenticator } from "@/tests/support/auth/passkey-authenticator";
import { BASE_URL } from "@/tests/support/base-url";
import {
  type Actor,
  callFor,
  cookieOf,
  cookiesIn,
  type Given,
  newActor,
  newEmail,
  newPerson,
  newPublisher,
  PASSWORD,
  type Person,
  type Role,
} from "./actors";
import type { Change } from "./requests";
import { BILLING_AUTHORIZATION, EMAIL_EVENTS_PASSWORD, idTokenOf, type World } from "./world";

/** What turns the example of an operation into a request that succeeds now. `as`: who sends it. */
export type Made = Change & { as?: Role | Actor };
export type Kitchen = {
  world: World;
  /** Sends a request as an admin. Returns the body of its success. */
  // biome-ignore lint/suspicious/noExplicitAny: the body of any response
  call: (method: string, target: string, given?: Given) => Promise<any>;
};
type Recipe = (kitchen: Kitchen) => Promise<Made> | Made;

const reason = "Asked for by email, ticket 4711";
const TUS = { "tus-resumable": "1.0.0" };
/** A product whose releases need approvals. */
const GUARDED = "guarded";
const CORE = { product: "core", platform: "windows", architecture: "x64" };
let versions = 0;
const newVersion = () => `3.0.${versions++}`;

const as = (person: Person): Actor => ({
  role: "user",
  state: "live",
  headers: { authorization: `Bearer ${person.token}` },
  person,
});
const account: Recipe = async ({ world }) => ({ params: { accountId: (await newPerson(world)).id } });
const person =
  (make: (person: Person, kitchen: Kitchen) => Promise<Made> | Made): Recipe =>
  async (kitchen) => {
    const made = await newPerson(kitchen.world);
    return { as: as(made), ...(await make(made, kitchen)) };
  };
const nothingOf = (_: unknown): Made => ({});
const bearerOf = ({ token }: Person) => ({ authorization: `Bearer ${token}` });

// Uploads and releases.

async function newUpload({ call }: Kitchen, bytes: Buffer | null = randomBytes(200)) {
  const fileName = `setup-${randomUUID().slice(0, 8)}.exe`;
  const headers = {
    ...TUS,
    "upload-length": String(bytes?.length ?? 10),
    "upload-metadata": `filename ${Buffer.from(fileName).toString("base64")}`,
  };
  const { id } = await call("POST", "/api/admin/uploads", { headers });
  if (bytes) {
    const part = { ...TUS, "content-type": "application/offset+octet-stream", "upload-offset": "0" };
    await call("PATCH", `/api/admin/uploads/${id}`, { headers: part, body: new Uint8Array(bytes) });
  }
  return { id: id as string, fileName };
}

async function draft(kitchen: Kitchen, change: object = {}) {
  const { id, fileName } = await newUpload(kitchen);
  const version = newVersion();
  const confirmations = { isNew: true, isPrerelease: true };
  const release = { ...CORE, version, ...change };
  const body = { releases: [{ release, files: [{ uploadId: id, kinds: ["installer", "update"] }], confirmations }] };
  return { version, fileName, body };
}

async function newRelease(kitchen: Kitchen, change: object = {}) {
  const { version, fileName, body } = await draft(kitchen, change);
  const { releases } = await kitchen.call("POST", "/api/admin/releases", { json: body });
  return { version, fileName, id: releases[0].id as string, filter: { product: "core", version, ...change } };
}
const release =
  (make: (release: Awaited<ReturnType<typeof newRelease>>) => Made, change: object = {}): Recipe =>
  async (kitchen) =>
    make(await newRelease(kitchen, change));

async function newRollout(kitchen: Kitchen) {
  const { filter } = await newRelease(kitchen);
  const json = { filter, steps: [5, 100], everySeconds: 86_400 };
  return (await kitchen.call("POST", "/api/admin/releases/rollouts", { json })).id as string;
}

const UPDATE = { product: "core", channel: "stable", file: "latest.yml" };

// Webhooks.

/** There may be fifty. Most get rare events: deliveries take more time than requests. */
const MAX_ENDPOINTS = 5;
async function newEndpoint({ call, world }: Kitchen) {
  const { webhookEndpoint } = world.context.db;
  const kept = await webhookEndpoint.findMany({ orderBy: { id: "desc" }, take: MAX_ENDPOINTS, select: { id: true } });
  await webhookEndpoint.deleteMany({ where: { id: { notIn: kept.map(({ id }) => id) } } });
  const json = { url: `${BASE_URL}/hook-${randomUUID()}`, eventTypes: ["subscription.changed"] };
  return (await call("POST", "/api/admin/webhooks", { json })).id as string;
}
async function newDelivery(kitchen: Kitchen) {
  const endpointId = await newEndpoint(kitchen);
  await kitchen.call("POST", `/api/admin/webhooks/${endpointId}/test`);
  const path = `/api/admin/webhooks/${endpointId}/deliveries`;
  const { deliveries } = await kitchen.call("GET", path);
  return { endpointId, eventId: (deliveries[0].eventId ?? deliveries[0].id) as string };
}
const endpoint: Recipe = async (kitchen) => ({ params: { endpointId: await newEndpoint(kitchen) } });

// Billing.

const BILLING = { authorization: BILLING_AUTHORIZATION };
function purchase(accountId: string, change: object = {}) {
  const now = Date.now();
  const transaction = randomUUID();
  return {
    id: randomUUID(),
    type: "INITIAL_PURCHASE",
    app_user_id: accountId,
    original_app_user_id: accountId,
    aliases: [accountId],
    event_timestamp_ms: now,
    purchased_at_ms: now - 60_000,
    expiration_at_ms: now + 2_592_000_000,
    environment: "PRODUCTION",
    store: "APP_STORE",
    product_id: "com.example.pro.monthly",
    entitlement_ids: ["pro"],
    period_type: "NORMAL",
    transaction_id: transaction,
    original_transaction_id: transaction,
    price: 4.99,
    currency: "USD",
    ...change,
  };
}
async function newPurchase({ world }: Kitchen, change: object = {}) {
  const owner = await newPerson(world);
  const json = { api_version: "1.0", event: purchase(owner.id, change) };
  await callFor(world, "POST", "/api/subscription/billing-provider-webhook", { headers: BILLING, json });
  const where = { eventId: json.event.id };
  const event = await world.context.db.billingEvent.findFirstOrThrow({ where });
  return { owner, eventId: event.id, purchaseId: event.purchaseId ?? "" };
}
async function newGrant({ world, call }: Kitchen) {
  const { id } = await newPerson(world);
  const json = { accountId: id, entitlementId: "pro", days: 30, reason };
  await call("POST", "/api/admin/billing/grants", { json });
  const { grants } = await call("GET", `/api/admin/billing/grants?account=${id}`);
  return grants[0].id as string;
}

// Factors.

const codeOf = (secret: string, stepsAhead = 0) =>
  new TOTP({ secret }).generate({ timestamp: Date.now() + stepsAhead * 30_000 });

async function withTotp(world: World, who: Person) {
  const headers = bearerOf(who);
  const { body } = await callFor(world, "POST", "/api/auth/factors/totp", { headers, json: {} });
  const secret = (body.secret ?? new URL(body.uri).searchParams.get("secret")) as string;
  const json = { id: body.id, code: codeOf(secret) };
  await callFor(world, "POST", "/api/auth/factors/totp/confirm", { headers, json });
  return secret;
}
async function withPasskey(world: World, who: Person) {
  const headers = bearerOf(who);
  const authenticator = new PasskeyAuthenticator();
  const { body } = await callFor(world, "POST", "/api/auth/passkeys/options", { headers, json: {} });
  const json = { passkey: authenticator.create(body) };
  const created = await callFor(world, "POST", "/api/auth/passkeys", { headers, json });
  return { authenticator, id: created.body.id as string };
}
async function challengeOf(world: World, { email, password }: Person) {
  const json = { email, password };
  return (await callFor(world, "POST", "/api/auth/login", { json, also: 401 })).body.challenge as string;
}

async function csrf(world: World) {
  const { body, headers } = await callFor(world, "GET", "/api/auth/csrf");
  return { csrfToken: body.csrfToken as string, headers: { cookie: cookiesIn(headers), origin: BASE_URL } };
}

async function emailChange({ world }: Kitchen, who: Person) {
  await world.context.db.account.update({ where: { id: who.id }, data: { emailVerifiedAt: new Date() } });
  const email = newEmail();
  const json = { email, password: PASSWORD };
  await callFor(world, "POST", "/api/auth/email/change", { headers: bearerOf(who), json });
  return email;
}
const changeToken = ({ world }: Kitchen, email: string) => world.emailed(email, /\/email-change#token=([\w-]{43})\b/);

async function invitation({ world, call }: Kitchen) {
  const email = newEmail();
  await call("POST", "/api/admin/accounts", { json: { email, name: "Ann", invite: true } });
  return world.emailed(email, /#token=([\w-]{43})/);
}

// Devices.

async function newDevice({ world }: Kitchen, who: Person) {
  const data = {
    accountId: who.id,
    environment: "production" as const,
    bundleId: "com.example.homeport",
    token: randomBytes(32).toString("hex"),
    createdAt: new Date(),
    registeredAt: new Date(),
    lastSeenAt: new Date(),
    verifiedAt: new Date(),
    status: "active" as const,
  };
  return (await world.context.db.pushDevice.create({ data })).id;
}
const liveToken = () => randomBytes(64).toString("hex");
const device = (make: (deviceId: string, kitchen: Kitchen, who: Person) => Promise<Made> | Made): Recipe =>
  person(async (who, kitchen) => make(await newDevice(kitchen, who), kitchen, who));

async function newOwner(kitchen: Kitchen) {
  const who = await newPerson(kitchen.world);
  await newDevice(kitchen, who);
  return who.email;
}

async function newMessage(kitchen: Kitchen) {
  const { call } = kitchen;
  const json = { kind: "custom", to: { account: await newOwner(kitchen) }, title: "Ready", body: "Open the app." };
  return (await call("POST", "/api/admin/push/messages", { json })).id as string;
}

const VERIFIER = "a".repeat(43);
const AUTHORIZATION = {
  client_id: "desktop",
  redirect_uri: "http://127.0.0.1:51004/callback",
  response_type: "code",
  code_challenge: createHash("sha256").update(VERIFIER).digest("base64url"),
  code_challenge_method: "S256",
  state: "s4t5u6",
};

async function identity({ world }: Kitchen, accountId: string) {
  const data = { accountId, provider: "google", issuer: "https://issuer.example.com", subject: randomUUID() };
  return (await world.context.db.identity.create({ data })).id;
}

/** What the example of each of these operations lacks. */
export const recipes: Record<string, Recipe> = {
  createAccount: () => ({ json: { email: newEmail(), name: "Ann", invite: false } }),
  importAccounts: () => ({
    body: `${JSON.stringify({ email: newEmail(), name: "Ann" })}\n`,
    type: "application/x-ndjson",
  }),
  showAccount: account,
  deleteAccountAsOperator: account,
  explainAccess: async (kitchen) => ({ params: { accountId: (await newPurchase(kitchen)).owner.id } }),
  disableAccount: account,
  enableAccount: account,
  listAccountEvents: account,
  exportAccountAsOperator: account,
  setAccountRole: account,
  inviteAccount: async ({ call }) => ({
    params: {
      accountId: (await call("POST", "/api/admin/accounts", { json: { email: newEmail(), invite: false } })).account.id,
    },
  }),
  createAccountRecoveryCode: account,
  resetAccountFactors: async ({ world }) => {
    const who = await newPerson(world);
    await withTotp(world, who);
    return { params: { accountId: who.id } };
  },
  restoreAccountConsent: async ({ world }) => {
    const { id } = await newPerson(world);
    await world.context.db.account.update({ where: { id }, data: { consentWithdrawnAt: new Date() } });
    return { params: { accountId: id } };
  },
  endAccountSessions: account,
  endAccountSession: async ({ world }) => {
    const { id, sessionId } = await newPerson(world);
    return { params: { accountId: id, sessionId } };
  },
  unlinkAccountProvider: async (kitchen) => {
    const { id } = await newPerson(kitchen.world);
    await identity(kitchen, id);
    return { params: { accountId: id } };
  },
  createBackup: () => ({ as: "machine" }),
  exportDatabase: () => ({ as: "machine" }),
  getDatabaseMove: () => ({ as: "machine" }),
  moveDatabase: () => ({ as: "machine", json: { to: "postgres://homeport:secret@127.0.0.1:1/homeport" } }),
  cancelDatabaseMove: async ({ world }) => {
    const headers = { authorization: `Bearer ${world.context.operatorKey?.text}` };
    const json = { to: "postgres://homeport:secret@127.0.0.1:1/homeport" };
    await callFor(world, "POST", "/api/admin/database/move", { headers, json, also: 409 });
    return { as: "machine" };
  },
  requestFirstOperatorLink: () => ({ as: "machine" }),

  assignPurchases: async (kitchen) => {
    const customer = `$RCAnonymousID:${randomUUID().replaceAll("-", "")}`;
    const { purchaseId } = await newPurchase(kitchen, {
      app_user_id: customer,
      original_app_user_id: customer,
      aliases: [customer],
    });
    return { json: { purchaseId, accountId: (await newPerson(kitchen.world)).id, isDryRun: true } };
  },
  showBillingEvent: async (kitchen) => ({ params: { id: (await newPurchase(kitchen)).eventId } }),
  replayBillingEvent: async (kitchen) => ({ params: { id: (await newPurchase(kitchen)).eventId } }),
  showPurchaseTimeline: async (kitchen) => ({ params: { id: (await newPurchase(kitchen)).purchaseId } }),
  listGrants: async ({ world }) => ({ query: { account: (await newPerson(world)).id } }),
  grantEntitlement: async ({ world }) => ({
    json: { accountId: (await newPerson(world)).id, entitlementId: "pro", days: 30, reason },
  }),
  grantEntitlements: async ({ world }) => ({
    json: {
      emails: [(await newPerson(world)).email],
      entitlementId: "beta",
      until: "2036-12-31T00:00:00Z",
      reason,
      isDryRun: true,
    },
  }),
  endGrant: async (kitchen) => ({ params: { id: await newGrant(kitchen) } }),
  reconcilePurchases: async (kitchen) => ({ json: { accountId: (await newPurchase(kitchen)).owner.id } }),
  sendTestEvent: async ({ world }) => ({ json: { type: "INITIAL_PURCHASE", accountId: (await newPerson(world)).id } }),
  receiveBillingEvent: async ({ world }) => ({
    as: "anonymous",
    headers: BILLING,
    json: { api_version: "1.0", event: purchase((await newPerson(world)).id) },
  }),

  createApiKey: () => ({ json: { name: "CI", scopes: ["releases:write"] } }),
  revokeApiKey: async ({ call }) => ({
    params: { keyId: (await call("POST", "/api/admin/keys", { json: { name: "CI", scopes: ["releases:write"] } })).id },
  }),
  removeQueuedEmail: async ({ world, call }) => {
    const email = newEmail("stuck");
    await newPerson(world, email);
    await callFor(world, "POST", "/api/auth/reset/request", { json: { email } });
    const { emails, messages } = await call("GET", `/api/admin/mail/messages?to=${encodeURIComponent(email)}`);
    return { params: { emailId: (emails ?? messages)[0].id } };
  },
  getPublisher: async ({ world }) => ({ params: { publisherId: (await newPublisher(world)).id } }),
  removePublisher: async ({ world }) => ({ params: { publisherId: (await newPublisher(world)).id } }),
  addPublisher: () => ({
    json: { type: "github", repository: `acme/${randomUUID()}`, workflow: "release.yml", product: "core" },
  }),

  sendPushMessage: async (kitchen) => ({
    json: { kind: "custom", to: { account: await newOwner(kitchen) }, title: "Ready", body: "Open the app." },
  }),
  showPushMessage: async (kitchen) => ({ params: { messageId: await newMessage(kitchen) } }),
  cancelPushMessage: async (kitchen) => ({ params: { messageId: await newMessage(kitchen) } }),
  endPushPause: async ({ world }) => {
    const pause = { until: new Date(Date.now() + 3_600_000), reason: "TooManyRequests" };
    const where = { environment: "production" as const };
    await world.context.db.pushPause.upsert({ where, create: { ...where, ...pause }, update: pause });
    return { params: { environment: "production" } };
  },

  listReleases: () => ({}),
  publishReleases: async (kitchen) => ({ json: (await draft(kitchen)).body }),
  changeReleases: release(({ filter }) => ({ json: { filter, change: { rollout: 50 } } })),
  approveReleases: async (kitchen) => {
    await kitchen.call("PATCH", `/api/admin/releases/policies/${GUARDED}`, { json: { approvals: 1 } });
    const { filter } = await newRelease(kitchen, { product: GUARDED });
    return { as: await newActor(kitchen.world, "admin"), json: { filter } };
  },
  getFileUrl: release(({ version, fileName }) => ({ query: { ...CORE, channel: "stable", version, fileName } })),
  setReleasePolicy: () => ({ params: { product: GUARDED }, json: { requirements: [], approvals: 1 } }),
  previewReleases: release(({ filter }) => ({ json: { kind: "change", filter, change: { rollout: 10 } } })),
  promoteReleases: release(
    ({ version }) => ({ json: { filter: { product: "core", version }, from: "beta", to: "stable", rollout: 10 } }),
    { channel: "beta" },
  ),
  pruneReleases: () => ({ json: { keep: 5, publishedBefore: "2026-08-20T00:00:00Z", isDryRun: true } }),
  removeReleases: async (kitchen) => {
    const { filter } = await newRelease(kitchen);
    await kitchen.call("PATCH", "/api/admin/releases", { json: { filter, change: { yanked: true } } });
    return { json: { filter, isDryRun: true } };
  },
  rollBackReleases: async (kitchen) => {
    const { filter } = await newRelease(kitchen);
    await newRelease(kitchen);
    return { json: { filter: { ...filter, channel: "stable" } } };
  },
  scheduleRollout: release(({ filter }) => ({ json: { filter, steps: [5, 20, 50, 100], everySeconds: 86_400 } })),
  getRollout: async (kitchen) => ({ params: { rolloutId: await newRollout(kitchen) } }),
  changeRollout: async (kitchen) => ({ params: { rolloutId: await newRollout(kitchen) } }),
  verifyRelease: release(({ id }) => ({ json: { releaseId: id } })),
  getRelease: release(({ id }) => ({ params: { releaseId: id } })),
  changeRelease: release(({ id }) => ({ params: { releaseId: id } })),
  removeRelease: release(({ id }) => ({ params: { releaseId: id }, query: { force: "true" } })),
  createUpload: () => ({
    headers: {
      ...TUS,
      "upload-length": "10",
      "upload-metadata": `filename ${Buffer.from("a.exe").toString("base64")}`,
    },
  }),
  readUpload: async (kitchen) => ({ params: { uploadId: (await newUpload(kitchen)).id }, headers: TUS }),
  appendToUpload: async (kitchen) => ({
    params: { uploadId: (await newUpload(kitchen, null)).id },
    headers: { ...TUS, "upload-offset": "0" },
    body: new Uint8Array(10),
    type: "application/offset+octet-stream",
  }),
  removeUpload: async (kitchen) => ({ params: { uploadId: (await newUpload(kitchen)).id }, headers: TUS }),
  getUpdate: (kitchen) => {
    const channel = `channel-${versions}`;
    return release(() => ({ params: { ...UPDATE, channel } }), { channel })(kitchen);
  },
  getFileOfVersion: release(({ version, fileName }) => ({ params: { ...UPDATE, version, file: fileName } })),
  getFileOfRelease: release(({ version, fileName }) => ({
    params: { ...UPDATE, version, target: "windows-x64", file: fileName },
  })),
  reportUpdate: release(({ version }) => ({
    params: { product: "core" },
    json: { version, from: "1.0.0", outcome: "installed", platform: "windows", architecture: "x64" },
  })),
  download: release(({ version }) => ({
    params: { platform: "windows" },
    query: { product: "core", architecture: "x64", version },
  })),

  createWebhookEndpoint: async (kitchen) => {
    await newEndpoint(kitchen);
    return { json: { url: `${BASE_URL}/${randomUUID()}`, eventTypes: ["account.created"] } };
  },
  getWebhookEndpoint: endpoint,
  changeWebhookEndpoint: endpoint,
  deleteWebhookEndpoint: endpoint,
  listWebhookDeliveries: endpoint,
  getWebhookDelivery: async (kitchen) => ({ params: await newDelivery(kitchen) }),
  retryWebhookDelivery: async (kitchen) => ({ params: await newDelivery(kitchen) }),
  replayWebhookDeliveries: endpoint,
  rotateWebhookSecret: endpoint,
  sendWebhookTestEvent: endpoint,

  logClientError: () => ({ headers: { origin: BASE_URL } }),
  deleteAccount: person(() => ({ json: { confirm: "DELETE", password: PASSWORD } })),
  receiveAppleNotification: () => {
    const event = { type: "email-enabled", sub: randomUUID(), email: newEmail(), event_time: Date.now() };
    const claims = { jti: randomUUID(), events: JSON.stringify({ ...event, is_private_email: "true" }) };
    return { json: { payload: idTokenOf("apple", claims) } };
  },
  signInWithPassword: async ({ world }) => {
    const { email } = await newPerson(world);
    const { csrfToken, headers } = await csrf(world);
    return { form: { csrfToken, email, password: PASSWORD, json: "true" }, headers };
  },
  verifyEmail: async ({ world }) => {
    const { email } = await newPerson(world);
    await callFor(world, "POST", "/api/auth/verification/resend", { json: { email } });
    return { form: { token: "q0Zb6c1mSx3uY8rT2wVhKfDgLpN4aEoJ", password: PASSWORD }, headers: { origin: BASE_URL } };
  },
  requestEmailChange: person(async (who, { world }) => {
    await world.context.db.account.update({ where: { id: who.id }, data: { emailVerifiedAt: new Date() } });
    return { json: { email: newEmail(), password: PASSWORD } };
  }),
  confirmEmailChange: person(async (who, kitchen) => ({
    json: { token: await changeToken(kitchen, await emailChange(kitchen, who)) },
  })),
  getEmailChange: person(async (who, kitchen) => nothingOf(await emailChange(kitchen, who))),
  cancelEmailChange: person(async (who, kitchen) => nothingOf(await emailChange(kitchen, who))),
  undoEmailChange: async (kitchen) => {
    const { world } = kitchen;
    const who = await newPerson(world);
    const token = await changeToken(kitchen, await emailChange(kitchen, who));
    await callFor(world, "POST", "/api/auth/email/change/confirm", { headers: bearerOf(who), json: { token } });
    return { json: { token: await world.emailed(who.email, /\/email-change\/undo#token=([\w-]{43})\b/) } };
  },
  renewRecoveryCodes: person(async (who, { world }) => nothingOf(await withTotp(world, who))),
  startTotp: person(() => ({})),
  removeTotp: person(async (who, { world }) => nothingOf(await withTotp(world, who))),
  confirmTotp: person(async (who, { world }) => {
    const headers = bearerOf(who);
    const { body } = await callFor(world, "POST", "/api/auth/factors/totp", { headers, json: {} });
    const secret = (body.secret ?? new URL(body.uri).searchParams.get("secret")) as string;
    return { json: { id: body.id, code: codeOf(secret) } };
  }),
  unlinkIdentity: person(async (who, kitchen) => ({ params: { identityId: await identity(kitchen, who.id) } })),
  acceptInvitation: async (kitchen) => ({ json: { token: await invitation(kitchen), password: PASSWORD } }),
  createPasskeyInvitationOptions: async (kitchen) => ({ json: { token: await invitation(kitchen) } }),
  logIn: async ({ world }) => ({ json: { email: (await newPerson(world)).email, password: PASSWORD } }),
  completeLogIn: async ({ world }) => {
    const who = await newPerson(world);
    const secret = await withTotp(world, who);
    return { json: { challenge: await challengeOf(world, who), code: codeOf(secret, 1) } };
  },
  createPasskeySecondFactorOptions: async ({ world }) => {
    const who = await newPerson(world);
    await withPasskey(world, who);
    await withTotp(world, who);
    return { json: { challenge: await challengeOf(world, who) } };
  },
  authorize: () => ({ query: AUTHORIZATION }),
  revokeToken: async ({ world }) => ({ form: { token: (await newPerson(world)).token, client_id: "desktop" } }),
  exchangeCode: async ({ world }) => {
    const headers = await cookieOf(world, await newPerson(world));
    const form = { ...AUTHORIZATION, decision: "allow" };
    const answer = await callFor(world, "POST", "/forms/authorize", { headers, form });
    const [, to = ""] = /^0;url=(.*)$/.exec(answer.headers.get("refresh") ?? "") ?? [];
    const code = new URL(to || (answer.headers.get("location") ?? ""), BASE_URL).searchParams.get("code") ?? "";
    const { client_id, redirect_uri } = AUTHORIZATION;
    return { form: { grant_type: "authorization_code", client_id, redirect_uri, code, code_verifier: VERIFIER } };
  },
  addPasskey: person(async (who, { world }) => {
    const { body } = await callFor(world, "POST", "/api/auth/passkeys/options", { headers: bearerOf(who), json: {} });
    return { json: { passkey: new PasskeyAuthenticator().create(body), name: "Phone" } };
  }),
  createPasskeyOptions: person(() => ({})),
  signInWithPasskey: async ({ world }) => {
    const { authenticator } = await withPasskey(world, await newPerson(world));
    const { body } = await callFor(world, "POST", "/api/auth/passkeys/sign-in/options");
    return { json: { passkey: authenticator.get(body) } };
  },
  createPasskeyStepUpOptions: person(async (who, { world }) => nothingOf(await withPasskey(world, who))),
  renamePasskey: person(async (who, { world }) => ({ params: { passkeyId: (await withPasskey(world, who)).id } })),
  removePasskey: person(async (who, { world }) => ({ params: { passkeyId: (await withPasskey(world, who)).id } })),
  changePassword: person(() => ({ json: { password: PASSWORD, newPassword: "a better horse battery staple" } })),
  reauthenticate: person(() => ({ json: { password: PASSWORD } })),
  register: () => ({ json: { email: newEmail(), password: PASSWORD, name: "Ann" } }),
  signUp: () => ({ json: { email: newEmail(), password: PASSWORD, name: "Ann" } }),
  confirmPasswordReset: async ({ world }) => {
    const { email } = await newPerson(world);
    await callFor(world, "POST", "/api/auth/reset/request", { json: { email } });
    return {
      json: { token: await world.emailed(email, /\/reset#token=([\w-]{43})/), password: "another good password" },
    };
  },
  updateSession: async ({ world }) => {
    const { csrfToken, headers } = await csrf(world);
    return { form: { csrfToken }, headers };
  },
  signInWithProvider: async ({ world }) => {
    const { csrfToken, headers } = await csrf(world);
    return { form: { csrfToken, callbackUrl: "/account", json: "true" }, headers };
  },
  signOut: async ({ world }) => {
    const { csrfToken, headers } = await csrf(world);
    return { as: "anonymous", form: { csrfToken, callbackUrl: "/", json: "true" }, headers };
  },
  receiveEmailEvents: () => ({
    headers: { authorization: `Basic ${Buffer.from(`homeport:${EMAIL_EVENTS_PASSWORD}`).toString("base64")}` },
  }),

  listDevices: person(() => ({})),
  removeDevice: device((deviceId) => ({ params: { deviceId } })),
  listLiveActivities: device((deviceId) => ({ params: { deviceId } })),
  registerLiveActivity: device((deviceId) => ({ params: { deviceId, activityId: randomUUID() } })),
  removeLiveActivity: device(async (deviceId, { world }, who) => {
    const activityId = randomUUID();
    const json = { attributesType: "DeliveryAttributes", token: liveToken() };
    const path = `/api/push/devices/${deviceId}/live-activities/${activityId}`;
    await callFor(world, "PUT", path, { headers: bearerOf(who), json });
    return { params: { deviceId, activityId } };
  }),
  registerLiveActivityStartToken: device((deviceId) => ({
    params: { deviceId, attributesType: "DeliveryAttributes" },
  })),
  removeLiveActivityStartToken: device(async (deviceId, { world }, who) => {
    const path = `/api/push/devices/${deviceId}/live-activity-start-tokens/DeliveryAttributes`;
    await callFor(world, "PUT", path, { headers: bearerOf(who), json: { token: liveToken() } });
    return { params: { deviceId, attributesType: "DeliveryAttributes" } };
  }),
  registerDevice: person(() => ({ json: { token: randomBytes(32).toString("hex") } })),
};
