import { describe, expect, test } from "vitest";
import { pageHeaders } from "@/lib/platform/http/pages/page-headers";
import { securityHeaders } from "@/lib/platform/http/security-headers";
import { config as proxyConfig } from "@/proxy";
import { newAccount } from "@/tests/support/accounts";
import { call, get } from "@/tests/support/api";
import { csrfToken, Jar, postForm, signIn } from "@/tests/support/auth/browser";
import { withContext } from "@/tests/support/context";
import { submit, submitByScript } from "@/tests/support/web/forms";

const HTTPS = { baseUrl: "https://home.example", HSTS_INCLUDE_SUBDOMAINS: true };
const HSTS = "strict-transport-security";

/** One response of each kind: success, refusal, not found, form, next-auth, file. */
const KINDS: [method: string, path: string][] = [
  ["GET", "/api/version?platform=windows&product=core&architecture=x64"],
  ["GET", "/api/health"],
  ["OPTIONS", "/api/health"],
  ["POST", "/api/auth/login"],
  ["GET", "/api/push/devices"],
  ["GET", "/api/nothing"],
  ["POST", "/forms/sign-in"],
  ["GET", "/api/auth/csrf"],
  ["GET", "/.well-known/oauth-authorization-server"],
];

describe("every response", () => {
  // ASVS 3.2.1, 3.4.3, 3.4.4, 3.4.6
  test.each(KINDS)("can be neither framed, sniffed, loaded nor run by other sites: %s %s", async (method, path) => {
    const { headers } = await call(method, path);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
    );
    expect(headers.get(HSTS)).toBeNull();
  });

  // ASVS 3.4.1, 12.2.1
  test("asks for https for a year, with subdomains, if the service has https", () =>
    withContext({ config: HTTPS }, async () => {
      for (const [method, path] of KINDS) {
        expect((await call(method, path)).headers.get(HSTS)).toBe("max-age=31536000; includeSubDomains");
      }
    }));

  test("leaves subdomains out if it is configured to", () => {
    const headers = securityHeaders({ ...HTTPS, HSTS_INCLUDE_SUBDOMAINS: false });
    expect(headers["Strict-Transport-Security"]).toBe("max-age=31536000");
  });
});

// ASVS 3.4.1, 3.4.8
test("a page has the same headers, its own policy, and no window that opened it", () => {
  const headers = pageHeaders(HTTPS, "n0nce", false);
  expect(headers["Strict-Transport-Security"]).toBe("max-age=31536000; includeSubDomains");
  expect(headers["Cross-Origin-Opener-Policy"]).toBe("same-origin");
  expect(headers["Content-Security-Policy"]).toContain("script-src 'nonce-n0nce'");
  expect(headers["Content-Security-Policy"]).toContain("object-src 'none'");
  expect(headers["X-Content-Type-Options"]).toBe("nosniff");
});

// ASVS 3.5.7, 3.5.8
test("pages of any site may load a download, and read an API response only by CORS", async () => {
  expect((await get("/api/download/windows")).headers.get("cross-origin-resource-policy")).toBe("cross-origin");
  const CORS_ALLOWED_ORIGINS = ["https://app.example.com"];
  await withContext({ config: { CORS_ALLOWED_ORIGINS } }, async () => {
    const headers = { origin: "https://app.example.com" };
    const response = await get("/api/health", { headers });
    expect(response.headers.get("access-control-allow-origin")).toBe("https://app.example.com");
    expect(response.headers.get("cross-origin-resource-policy")).toBe("same-origin");
  });
});

// ASVS 4.1.1
test("the redirect of a form to another site is not sandboxed, which would stop it", async () => {
  const { email, password } = await newAccount();
  const cookie = (await submit("sign-in", { email, password })).headers.getSetCookie()[0]?.split(";")[0];
  const fields = {
    client_id: "desktop",
    redirect_uri: "com.example.acme:/callback",
    response_type: "code",
    code_challenge: "x".repeat(43),
    code_challenge_method: "S256",
    decision: "allow",
  };
  const { headers } = await submit("authorize", fields, { cookie });
  expect(headers.get("refresh")).toMatch(/^0;url=com\.example\.acme:\/callback\?code=/);
  expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'.*frame-ancestors 'none'$/);
});

describe("a sign-out", () => {
  const CLEARED = '"cache", "storage"';
  const cookieOf = async ({ email, password }: { email: string; password: string }) =>
    (await submit("sign-in", { email, password })).headers
      .getSetCookie()
      .map((line) => line.split(";", 1)[0])
      .join("; ");

  // ASVS 14.3.1
  test("by a form makes the browser forget what it has stored, and keeps the device cookie", async () => {
    for (const send of [submit, submitByScript]) {
      const { headers } = await send("sign-out", {}, { cookie: await cookieOf(await newAccount()) });
      expect(headers.get("clear-site-data")).toBe(CLEARED);
      expect(headers.getSetCookie()).toHaveLength(1);
      expect(headers.getSetCookie()[0]).toMatch(/^next-auth\.session-token=; Path=\/; Expires=Thu, 01 Jan 1970/);
    }
  });

  // ASVS 14.3.1
  test("through next-auth does the same, and only with its CSRF token", async () => {
    const jar = new Jar();
    await signIn(jar, await newAccount());
    const refused = await postForm(jar, "/api/auth/signout", { csrfToken: "wrong" });
    expect(refused.headers.get("clear-site-data")).toBeNull();
    const out = await postForm(jar, "/api/auth/signout", { csrfToken: await csrfToken(jar) });
    expect(out.headers.get("clear-site-data")).toBe(CLEARED);
    expect(jar.has("homeport.device")).toBe(true);
  });

  test("by deleting the account does the same; a bearer token has no browser", async () => {
    const [byForm, byApi, byToken] = [await newAccount(), await newAccount(), await newAccount()];
    const fields = { confirm: "DELETE", password: byForm.password };
    const form = await submit("account/delete", fields, { cookie: await cookieOf(byForm) });
    expect(form.headers.get("clear-site-data")).toBe(CLEARED);
    const remove = (account: typeof byApi, options: object) =>
      call("POST", "/api/auth/account/delete", { json: { confirm: "DELETE", password: account.password }, ...options });
    const own = { "sec-fetch-site": "same-origin" };
    const api = await remove(byApi, { cookie: await cookieOf(byApi), headers: own });
    expect(api.headers.get("clear-site-data")).toBe(CLEARED);
    expect((await remove(byToken, { token: byToken.token })).headers.get("clear-site-data")).toBeNull();
  });
});

test("pages alone get a page's headers from Next: routes, forms and files have their own", () => {
  const matches = (path: string) => new RegExp(`^${proxyConfig.matcher}$`).test(path);
  for (const page of ["/", "/account", "/docs/errors", "/nothing", "/apis"])
    expect([page, matches(page)]).toEqual([page, true]);
  for (const other of [
    "/api",
    "/api/health",
    "/forms/sign-in",
    "/.well-known/oauth-authorization-server",
    "/_next/static/x.js",
    "/icon.svg",
  ]) {
    expect([other, matches(other)]).toEqual([other, false]);
  }
});
