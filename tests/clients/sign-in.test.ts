import { describe, expect, test } from "vitest";
import {
  beginSignIn,
  completeSecondFactor,
  completeSignIn,
  currentUser,
  getSubscriptionStatus,
  memoryStore,
  register,
  type SessionStore,
  signInPage,
  signInWithDeviceCode,
  signInWithIdToken,
  signInWithPassword,
  signOut,
} from "@/clients/js/src/index";
import { signInWithBrowser } from "@/clients/js/src/node";
import { newAccount } from "@/tests/support/accounts";
import { call, post } from "@/tests/support/api";
import { Authenticator } from "@/tests/support/auth/authenticator";
import { newNonce, setUpIssuers } from "@/tests/support/auth/native-app";
import { decide, REDIRECT_URI, signInToBrowser } from "@/tests/support/auth/oauth-client";
import { newClient } from "@/tests/support/clients/client";
import { BASE_URL, clock } from "@/tests/support/context";
import { submit } from "@/tests/support/web/forms";

const { apple } = await setUpIssuers();

describe("a client with a token", () => {
  test("signs in with a password, keeps the token in the app's store, and signs out", async () => {
    const { email, password } = await newAccount();
    const store = memoryStore();
    const { client } = newClient({ session: store });
    expect(await currentUser(client)).toBeNull();
    expect(await signInWithPassword(client, { email, password, deviceName: "Ann's PC" })).toMatchObject({ email });
    expect(await store.load()).toEqual(expect.any(String));
    const { client: restarted } = newClient({ session: store });
    expect(await currentUser(restarted)).toMatchObject({ email, role: "user" });
    await signOut(restarted);
    expect(await store.load()).toBeNull();
    expect(await currentUser(restarted)).toBeNull();
  });

  test("registers, and gets the code and the fields of an error", async () => {
    const { client } = newClient();
    const email = `${crypto.randomUUID()}@example.com`;
    await expect(register(client, { email: "nobody", password: "a good long password" })).rejects.toMatchObject({
      code: "validation_failed",
      status: 422,
      errors: [{ pointer: "/email" }],
      requestId: expect.any(String),
    });
    expect(await register(client, { email, password: "a good long password" })).toMatchObject({ email });
    await expect(register(client, { email, password: "a good long password" })).rejects.toMatchObject({
      code: "email_taken",
    });
  });

  test("completes a sign-in with the second factor", async () => {
    const account = await newAccount();
    const enrolled = await (await post("/api/auth/factors/totp", {}, { token: account.token })).json();
    const { id, secret } = enrolled as { id: string; secret: string };
    const app = new Authenticator(secret);
    await post("/api/auth/factors/totp/confirm", { id, code: app.code() }, { token: account.token });
    const { client } = newClient();
    const error = await signInWithPassword(client, account).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "second_factor_required", body: { challenge: expect.any(String) } });
    clock.advance(30_000);
    const proof = { challenge: error.body.challenge, code: app.code() };
    expect(await completeSecondFactor(client, proof)).toMatchObject({ email: account.email });
    expect(await currentUser(client)).toMatchObject({ email: account.email });
  });

  test("forgets a session that the service has ended, once, and says so to the app", async () => {
    const account = await newAccount();
    let ends = 0;
    const store = memoryStore(account.token);
    const { client } = newClient({ session: store, onSignedOut: () => ends++ });
    await signOut(newClient({ session: memoryStore(account.token) }).client);
    const requests = [getSubscriptionStatus(client), getSubscriptionStatus(client)];
    for (const { reason } of (await Promise.allSettled(requests)) as PromiseRejectedResult[]) {
      expect(reason).toMatchObject({ code: "unauthenticated", status: 401 });
    }
    expect({ ends, stored: await store.load() }).toEqual({ ends: 1, stored: null });
  });

  test("keeps a session that began while a request of the old one was refused", async () => {
    const { token } = await newAccount();
    const store = memoryStore("an old token");
    const refuse = async () => {
      await client.session?.set(token);
      return Response.json({ code: "unauthenticated" }, { status: 401 });
    };
    const { client } = newClient({ session: store, fetch: refuse });
    await expect(getSubscriptionStatus(client)).rejects.toMatchObject({ code: "unauthenticated" });
    expect(await store.load()).toBe(token);
  });

  test("asks a locked keychain again, and a keychain that is open once", async () => {
    const { token, email } = await newAccount();
    const answers = [new Error("locked"), token];
    const session: SessionStore = {
      load: async () => {
        const answer = answers.shift() ?? new Error("asked too often");
        if (answer instanceof Error) throw answer;
        return answer;
      },
      save: () => {},
    };
    const { client } = newClient({ session });
    await expect(getSubscriptionStatus(client)).rejects.toThrow("locked");
    expect(await Promise.all([currentUser(client), currentUser(client)])).toMatchObject([{ email }, { email }]);
  });

  test("forgets the token on signing out even if the service is out of reach", async () => {
    const store = memoryStore("a token");
    const { client } = newClient({ session: store, fetch: () => Promise.reject(new TypeError("offline")) });
    await expect(signOut(client)).rejects.toMatchObject({ code: "network_error", status: 0 });
    expect(await store.load()).toBeNull();
  });
});

describe("through the browser, a client", () => {
  test("signs in, with PKCE", async () => {
    const account = await newAccount();
    const { client } = newClient();
    const pending = JSON.parse(JSON.stringify(await beginSignIn(client, REDIRECT_URI)));
    const callback = await decide(new URL(pending.url), { cookie: await signInToBrowser(account) });
    await completeSignIn(client, pending, callback.href);
    expect(await currentUser(client)).toMatchObject({ email: account.email });
  });

  test("refuses the callback of another sign-in, of another service, and of a user who cancels", async () => {
    const { client } = newClient();
    const pending = await beginSignIn(client, REDIRECT_URI);
    const url = (change: Record<string, string>, from = REDIRECT_URI) =>
      `${from}?${new URLSearchParams({ code: "stolen", state: pending.state, iss: BASE_URL, ...change })}`;
    const invalid = [url({ state: "another" }), url({ iss: "https://evil.example.com" }), url({}, `${REDIRECT_URI}2`)];
    for (const callback of invalid) {
      await expect(completeSignIn(client, pending, callback)).rejects.toMatchObject({ code: "invalid_callback" });
    }
    const cookie = await signInToBrowser(await newAccount());
    const cancelled = await decide(new URL(pending.url), { cookie, decision: "deny" });
    await expect(completeSignIn(client, pending, cancelled.href)).rejects.toMatchObject({ code: "access_denied" });
    await expect(completeSignIn(client, pending, url({}))).rejects.toMatchObject({ code: "invalid_grant" });
  });

  test("waits for it on a port of its own, which responds to no other program", async () => {
    const account = await newAccount();
    const cookie = await signInToBrowser(account);
    const { client } = newClient();
    const shown: string[] = [];
    const open = async (url: string) => {
      const callback = await decide(new URL(url), { cookie });
      const forged = new URL(callback);
      forged.searchParams.set("state", "guessed");
      expect((await fetch(forged)).status).toBe(404);
      shown.push(await (await fetch(callback)).text());
    };
    await signInWithBrowser(client, { open, page: "<p>Back to Acme." });
    expect(shown).toEqual(["<p>Back to Acme."]);
    expect(await currentUser(client)).toMatchObject({ email: account.email });
  });

  test("stops waiting, and listening, when the app gives up or no browser opens", async () => {
    const { client } = newClient();
    const stop = new AbortController();
    let redirectUri = "";
    const open = (url: string) => {
      redirectUri = new URL(url).searchParams.get("redirect_uri") ?? "";
      stop.abort(new Error("closed"));
    };
    await expect(signInWithBrowser(client, { open, signal: stop.signal })).rejects.toThrow("closed");
    await expect(fetch(redirectUri)).rejects.toThrow("fetch failed");
    const failed = signInWithBrowser(client, { open: () => Promise.reject(new Error("no browser")) });
    await expect(failed).rejects.toThrow("no browser");
  });
});

test("a command line signs in with the code that its user enters, and polls as slowly as the service requires", async () => {
  const account = await newAccount();
  const cookie = await signInToBrowser(account);
  const { client, waitsMs, sent } = newClient({ clientId: "cli" });
  let userCode = "";
  const wait = async (ms: number) => {
    waitsMs.push(ms);
    clock.advance(ms);
    if (waitsMs.length === 2) await submit("device", { user_code: userCode, decision: "allow" }, { cookie });
  };
  await signInWithDeviceCode({ ...client, wait }, (code) => {
    userCode = code.userCode;
    expect(code.verificationUri).toBe(`${BASE_URL}/device`);
  });
  expect(waitsMs).toEqual([5000, 5000]);
  expect(sent.filter((one) => one === "POST /api/auth/oauth/token")).toHaveLength(2);
  expect(await currentUser(client)).toMatchObject({ email: account.email });
});

test("an app exchanges an ID token of Apple for a session", async () => {
  const nonce = newNonce();
  const email = `${crypto.randomUUID()}@privaterelay.appleid.com`;
  const { client } = newClient();
  await signInWithIdToken(client, { idToken: apple.token(nonce, { email }), nonce, name: "Ann" });
  expect(await currentUser(client)).toMatchObject({ email, name: "Ann" });
  const replayed = signInWithIdToken(client, { idToken: "not.a.token", nonce });
  await expect(replayed).rejects.toMatchObject({ code: "invalid_request", status: 400 });
});

test("a web app keeps the session in the browser's cookies alone", async () => {
  const { email, password } = await newAccount();
  const cookies = new Map<string, string>();
  const credentials = new Set<unknown>();
  let ends = 0;
  const { client } = newClient({
    session: "cookie",
    onSignedOut: () => ends++,
    fetch: async (input, init) => {
      credentials.add(init?.credentials);
      const headers = Object.fromEntries(new Headers(init?.headers));
      if (init?.body instanceof URLSearchParams) headers["content-type"] = "application/x-www-form-urlencoded";
      headers["sec-fetch-site"] = "same-origin";
      const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
      const { pathname } = new URL(String(input));
      const response = await call(init?.method ?? "GET", pathname, { headers, cookie, body: init?.body?.toString() });
      for (const line of response.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        cookies.set(name, value);
      }
      return response;
    },
  });
  await signInWithPassword(client, { email, password });
  expect(await currentUser(client)).toMatchObject({ email });
  await signOut(client);
  expect(await currentUser(client)).toBeNull();
  await expect(getSubscriptionStatus(client)).rejects.toMatchObject({ code: "unauthenticated" });
  expect({ ends, credentials: [...credentials] }).toEqual({ ends: 1, credentials: ["include"] });
});

test("a web app's link to the sign-in page returns to the app", () => {
  const { client } = newClient({ session: "cookie" });
  expect(signInPage(client, "https://app.example.com/?a=b&c")).toBe(
    `${BASE_URL}/sign-in?callbackUrl=https%3A%2F%2Fapp.example.com%2F%3Fa%3Db%26c`,
  );
});
