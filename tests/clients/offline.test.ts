import { expect, test } from "vitest";
import { memoryStore, type OfflineStore, openOfflineEntitlements } from "@/clients/js/src/index";
import { newAccount } from "@/tests/support/accounts";
import { newClient } from "@/tests/support/clients/client";
import { clock } from "@/tests/support/context";
import { billingEvent, DAY_MS, deliverOk } from "@/tests/support/subscriptions/billing";

const audience = "com.example.core";
const now = () => clock.now().getTime();

/** An app whose user has `pro` for 30 days, and what it has stored. */
async function subscribedApp() {
  const { id, token } = await newAccount();
  const expires = { expiration_at_ms: now() + 30 * DAY_MS };
  await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: id, entitlement_ids: ["pro"], ...expires }));
  const { client, sent } = newClient({ session: memoryStore(token) });
  const stored: { text: string | null } = { text: null };
  const store: OfflineStore = {
    load: () => stored.text,
    save: (text) => {
      stored.text = text;
    },
  };
  return { client, sent, stored, store, entitlements: openOfflineEntitlements(client, { audience, store, now }) };
}

test("entitlements hold offline until the token expires, and are forgotten at the sign-out", async () => {
  const { entitlements, sent } = await subscribedApp();
  expect(await entitlements.check()).toBeNull();
  await entitlements.refresh();
  const requests = sent.length;
  expect(await entitlements.check()).toEqual(["pro"]);
  clock.advance(6 * DAY_MS);
  expect(await entitlements.check()).toEqual(["pro"]);
  clock.advance(2 * DAY_MS);
  expect(await entitlements.check()).toBeNull();
  clock.reset();
  await entitlements.clear();
  expect(await entitlements.check()).toBeNull();
  expect(sent).toHaveLength(requests);
});

test("setting the clock back extends nothing, and a new token ends what a clock that was ahead has done", async () => {
  const { entitlements } = await subscribedApp();
  await entitlements.refresh();
  clock.advance(8 * DAY_MS);
  expect(await entitlements.check()).toBeNull();
  clock.reset();
  expect(await entitlements.check()).toBeNull();
  await entitlements.refresh();
  expect(await entitlements.check()).toEqual(["pro"]);
});

test("a token of another app or service, a changed one, and a damaged file give nothing", async () => {
  const { client, stored, store, entitlements } = await subscribedApp();
  await entitlements.refresh();
  expect(await openOfflineEntitlements(client, { audience: "com.example.other", store, now }).check()).toBeNull();
  const elsewhere = { ...client, url: "https://api.example.org" };
  expect(await openOfflineEntitlements(elsewhere, { audience, store, now }).check()).toBeNull();
  const state = JSON.parse(stored.text ?? "") as { token: string; keys: object[] };
  const [header, , signature] = state.token.split(".");
  const forged = Buffer.from(JSON.stringify({ iss: client.url, aud: audience, exp: 9e9, entitlements: [] }));
  const damaged = [
    "",
    "null",
    "5",
    "{}",
    "{",
    "[]",
    JSON.stringify({ ...state, token: `${header}.${forged.toString("base64url")}.${signature}` }),
    JSON.stringify({ ...state, keys: [] }),
    JSON.stringify({ ...state, lastSeen: "never" }),
  ];
  for (const text of damaged) {
    stored.text = text;
    expect([text, await entitlements.check()]).toEqual([text, null]);
  }
});

test("without a connection, the stored token stays", async () => {
  const { entitlements, store } = await subscribedApp();
  await entitlements.refresh();
  const { client } = newClient({ fetch: () => Promise.reject(new TypeError("offline")) });
  const offline = openOfflineEntitlements(client, { audience, store, now });
  await expect(offline.refresh()).rejects.toMatchObject({ code: "network_error" });
  expect(await offline.check()).toEqual(["pro"]);
});
