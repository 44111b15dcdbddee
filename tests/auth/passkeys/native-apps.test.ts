import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ConfigError, loadConfig } from "@/lib/platform/config";
import { newAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { type Forgery, PasskeyAuthenticator } from "@/tests/support/auth/passkey-authenticator";
import { addPasskey, signInOptions } from "@/tests/support/auth/passkeys";
import { withContext } from "@/tests/support/context";

const APPLE = "/.well-known/apple-app-site-association";
const ANDROID = "/.well-known/assetlinks.json";
const certificate = createHash("sha256").update("certificate").digest();
const fingerprint = (certificate.toString("hex").toUpperCase().match(/../g) ?? []).join(":");
const APPS = {
  AUTH_PASSKEY_APPLE_APPS: "ABCDE12345.com.example.app",
  AUTH_PASSKEY_ANDROID_APPS: `com.example.app=${fingerprint.toLowerCase()}`,
};

/** Runs with variables of passkeys set. */
function withPasskeys<T>(variables: Record<string, string>, run: () => Promise<T>): Promise<T> {
  const given = loadConfig({ NEXTAUTH_URL: "https://api.example.com", ...variables });
  const { baseUrl, AUTH_PASSKEY_RP_ID, AUTH_PASSKEY_APPLE_APPS, AUTH_PASSKEY_ANDROID_APPS } = given;
  const { PASSKEY_RELATED_ORIGINS } = given;
  const apps = { AUTH_PASSKEY_APPLE_APPS, AUTH_PASSKEY_ANDROID_APPS };
  return withContext({ config: { baseUrl, AUTH_PASSKEY_RP_ID, PASSKEY_RELATED_ORIGINS, ...apps } }, run);
}

/** The status of a sign-in whose response comes from an origin. */
async function statusFrom(authenticator: PasskeyAuthenticator, forgery: Forgery): Promise<number> {
  const passkey = authenticator.get(await signInOptions(), forgery);
  return (await post("/api/auth/passkeys/sign-in", { passkey })).status;
}

/** An account's authenticator, whose passkey was created on the service's own page. */
async function authenticatorOf(origin: string): Promise<PasskeyAuthenticator> {
  class OnPage extends PasskeyAuthenticator {
    override create(...[options]: Parameters<PasskeyAuthenticator["create"]>) {
      return super.create(options, { origin });
    }
  }
  return (await addPasskey(await newAccount(), new OnPage())).authenticator;
}

test("the configured apps are listed for Apple and Android, and without any the files do not exist", async () => {
  expect([(await get(APPLE)).status, (await get(ANDROID)).status]).toEqual([404, 404]);
  await withPasskeys(APPS, async () => {
    expect(await (await get(APPLE)).json()).toEqual({ webcredentials: { apps: ["ABCDE12345.com.example.app"] } });
    const [statement] = await (await get(ANDROID)).json();
    expect(statement.relation).toContain("delegate_permission/common.get_login_creds");
    expect(statement.target).toEqual({
      namespace: "android_app",
      package_name: "com.example.app",
      sha256_cert_fingerprints: [fingerprint],
    });
  });
});

test("a passkey of the page signs in to the configured apps, and to no other", async () => {
  const app = { origin: `android:apk-key-hash:${certificate.toString("base64url")}` };
  await withPasskeys(APPS, async () => {
    const authenticator = await authenticatorOf("https://api.example.com");
    expect(await statusFrom(authenticator, app)).toBe(200);
    expect(await statusFrom(authenticator, { origin: "https://api.example.com" })).toBe(200);
    const other = createHash("sha256").update("other").digest("base64url");
    expect(await statusFrom(authenticator, { origin: `android:apk-key-hash:${other}` })).toBe(422);
  });
  await withPasskeys({}, async () => {
    expect(await statusFrom(await authenticatorOf("https://api.example.com"), app)).toBe(422);
  });
});

test("a related domain is listed for browsers, and its pages use the passkeys; no other's do", async () => {
  const LIST = "/.well-known/webauthn";
  expect((await get(LIST)).status).toBe(404);
  await withPasskeys({ PASSKEY_RELATED_ORIGINS: "https://shop.example.org/, https://example.net" }, async () => {
    const origins = ["https://shop.example.org", "https://example.net"];
    expect(await (await get(LIST)).json()).toEqual({ origins });
    const authenticator = await authenticatorOf("https://shop.example.org");
    const statuses = [...origins, "https://example.org"].map((origin) => statusFrom(authenticator, { origin }));
    expect(await Promise.all(statuses)).toEqual([200, 200, 422]);
  });
});

test("password managers learn where passkeys are added and managed", async () => {
  await withPasskeys({}, async () => {
    expect(await (await get("/.well-known/passkey-endpoints")).json()).toEqual({
      enroll: "https://api.example.com/account/passkeys/add",
      manage: "https://api.example.com/account#passkeys",
    });
  });
});

test("with an RP ID above the host, an Apple app signs in with the RP ID as its origin", async () => {
  const origin = "https://example.com";
  await withPasskeys({ ...APPS, AUTH_PASSKEY_RP_ID: "example.com" }, async () => {
    const authenticator = await authenticatorOf("https://api.example.com");
    expect((await signInOptions()).rpId).toBe("example.com");
    expect(await statusFrom(authenticator, { origin })).toBe(200);
    expect(await statusFrom(authenticator, { origin, rpId: "api.example.com" })).toBe(422);
  });
  await withPasskeys({ AUTH_PASSKEY_RP_ID: "example.com" }, async () => {
    expect(await statusFrom(await authenticatorOf("https://api.example.com"), { origin })).toBe(422);
  });
});

describe("the configuration", () => {
  const NEXTAUTH_URL = "https://api.example.com";

  test.each(["example.com", "API.example.com"])("accepts %s as RP ID", (AUTH_PASSKEY_RP_ID) => {
    expect(loadConfig({ NEXTAUTH_URL, AUTH_PASSKEY_RP_ID }).AUTH_PASSKEY_RP_ID).toBe(AUTH_PASSKEY_RP_ID.toLowerCase());
  });

  test.each([
    ["AUTH_PASSKEY_RP_ID", "example.org"],
    ["AUTH_PASSKEY_RP_ID", "ample.com"],
    ["AUTH_PASSKEY_RP_ID", "https://example.com"],
    ["AUTH_PASSKEY_RP_ID", "app.api.example.com"],
    ["PASSKEY_RELATED_ORIGINS", "http://example.org"],
    ["PASSKEY_RELATED_ORIGINS", "example.org"],
    ["AUTH_PASSKEY_APPLE_APPS", "com.example.app"],
    ["AUTH_PASSKEY_ANDROID_APPS", "com.example.app"],
    ["AUTH_PASSKEY_ANDROID_APPS", "com.example.app=14:6D"],
  ])("refuses %s=%s", (name, value) => {
    expect(() => loadConfig({ NEXTAUTH_URL, [name]: value })).toThrow(ConfigError);
  });
});
