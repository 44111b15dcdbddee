import { describe, expect, test } from "vitest";
import { z } from "zod";
import { setRole } from "@/lib/accounts/admin/change-account";
import { readStepUpMethods } from "@/lib/auth/step-up";
import { findVisitor } from "@/lib/auth/visitor";
import { operation } from "@/lib/operation";
import type { AccountRole } from "@/lib/platform/db/generated/client";
import { SOCKET_IP_HEADER } from "@/lib/platform/http/pages/page-headers";
import { defineRoute } from "@/lib/platform/http/route";
import type { AccessRule } from "@/lib/principal";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { accountWithRole, OPERATOR } from "@/tests/support/auth/api-keys";
import { BASE_URL, clock, ctx, withContext } from "@/tests/support/context";

/** A route for callers that meet a rule. */
const routeFor = (rule: AccessRule) =>
  defineRoute("/api/guarded", {
    POST: operation({
      id: "guarded",
      summary: "Guarded",
      description: "Does it.",
      ...rule,
      body: z.object({ text: z.string() }),
      response: { description: "Done.", schema: z.object({ role: z.string() }) },
      run: ({ principal }) => ({ role: "account" in principal ? principal.account.role : "" }),
    }),
  });

const BODY = { text: "x" };
const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";

/** Calls a route for callers that meet a rule. Returns the status and the error's code. */
async function call(
  rule: AccessRule,
  { token }: Pick<TestAccount, "token">,
  body: object = BODY,
  { ip, userAgent = FIREFOX }: { ip?: string; userAgent?: string } = {},
) {
  const headers: Record<string, string> = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    "user-agent": userAgent,
  };
  if (ip) headers["x-forwarded-for"] = ip; // read behind a proxy
  const request = new Request(`${BASE_URL}/api/guarded`, { method: "POST", headers, body: JSON.stringify(body) });
  const response = await routeFor(rule).POST(request, { socketIp: ip });
  return [response.status, ((await response.json()) as { code?: string }).code];
}

/** Whether a page takes the session's authentication for recent. */
async function isRecentOnPage({ token }: Pick<TestAccount, "token">, place: { ip: string; userAgent: string }) {
  const from = { "user-agent": place.userAgent, "x-forwarded-for": place.ip, [SOCKET_IP_HEADER]: place.ip };
  const visitor = await findVisitor(new Headers({ authorization: `Bearer ${token}`, ...from }));
  return visitor && (await readStepUpMethods(ctx(), visitor)).isFresh;
}

describe("a route that declares", () => {
  test.each<[AccountRole, AccountRole, number]>([
    ["user", "user", 200],
    ["support", "user", 403],
    ["admin", "user", 403],
    ["support", "support", 200],
    ["admin", "support", 403],
    ["support", "admin", 200],
    ["admin", "admin", 200],
    // ASVS 8.2.1, 8.3.1
  ])("the role %s, called by an account of the role %s, responds with %i", async (role, own, status) => {
    const account = await accountWithRole(own);
    expect(await call({ role }, account)).toEqual([status, status === 200 ? undefined : "forbidden"]);
  });

  // ASVS 8.3.2
  test("a role refuses a session at once when its account loses the role", async () => {
    const account = await accountWithRole("admin");
    await accountWithRole("admin"); // the last one keeps the role
    expect(await call({ role: "admin" }, account)).toEqual([200, undefined]);
    await setRole(ctx(), OPERATOR, account.id, { role: "user" });
    expect(await call({ role: "admin" }, account)).toEqual([403, "forbidden"]);
  });

  // ASVS 10.3.4
  test("an age of the authentication refuses an older one, until the user authenticates again", async () => {
    const account = await newAccount();
    expect(await call({ maxAgeSeconds: 300 }, account)).toEqual([200, undefined]);
    clock.advance(301_000);
    expect(await call({ maxAgeSeconds: 300 }, account)).toEqual([403, "reauthentication_required"]);
    await post("/api/auth/reauthenticate", { password: account.password }, { token: account.token });
    expect(await call({ maxAgeSeconds: 300 }, account)).toEqual([200, undefined]);
  });

  // ASVS 8.1.4, 8.2.4
  test("an age of the authentication refuses a session elsewhere, as pages do, until the user authenticates there", async () => {
    const { token, password } = await newAccount();
    const rule = { maxAgeSeconds: 300 };
    const fromNewPlace = (place: { ip: string; userAgent: string }) =>
      post(
        "/api/auth/reauthenticate",
        { password },
        { token, ip: place.ip, headers: { "user-agent": place.userAgent } },
      );
    const home = { ip: "198.51.100.7", userAgent: FIREFOX };
    await withContext({ config: { AUTH_SESSION_CONTEXT: true } }, async () => {
      await fromNewPlace(home);
      expect(await call(rule, { token }, BODY, home)).toEqual([200, undefined]);
      expect(await call(rule, { token }, BODY, { ...home, ip: "198.51.100.8" })).toEqual([200, undefined]);
      expect(await isRecentOnPage({ token }, { ...home, ip: "198.51.100.8" })).toBe(true);
      for (const elsewhere of [
        { ...home, ip: "203.0.113.7" },
        { ...home, userAgent: "curl/8.5" },
      ]) {
        expect(await call(rule, { token }, BODY, elsewhere)).toEqual([403, "reauthentication_required"]);
        expect(await isRecentOnPage({ token }, elsewhere)).toBe(false);
        expect(await call({ role: "user" }, { token }, BODY, elsewhere)).toEqual([200, undefined]);
      }
      await fromNewPlace({ ...home, ip: "203.0.113.7" });
      expect(await call(rule, { token }, BODY, { ...home, ip: "203.0.113.7" })).toEqual([200, undefined]);
      expect(await call(rule, { token }, BODY, home)).toEqual([403, "reauthentication_required"]);
    });
    expect(await call(rule, { token }, BODY, home)).toEqual([200, undefined]);
  });

  // ASVS 6.3.3, 6.8.4, 10.3.4
  test("two factors refuses a session of one", async () => {
    const account = await newAccount();
    expect(await call({ aal: 2 }, account)).toEqual([403, "reauthentication_required"]);
    await ctx().db.session.update({ where: { id: account.sessionId }, data: { aal: 2 } });
    expect(await call({ aal: 2 }, account)).toEqual([200, undefined]);
  });

  test("a rule tells a caller without the role nothing about the fields that it expects", async () => {
    const account = await newAccount();
    clock.advance(3_600_000);
    const rule = { role: "admin", maxAgeSeconds: 300 } as const;
    expect(await call(rule, account, {})).toEqual([403, "forbidden"]);
    expect(await call(rule, { token: "none" }, {})).toEqual([401, "unauthenticated"]);
  });
});
