import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { createOperatorKey, parseOperatorName } from "@/lib/auth/local-operator";
import type { OperatorKey } from "@/lib/context";
import { declare } from "@/lib/operation";
import { defineRoute } from "@/lib/platform/http/route";
import { BASE_URL, ctx, withContext } from "@/tests/support/context";

const Caller = z.object({ operator: z.string().nullable() });
const handle = ({ principal }: { principal: object }) => ({
  operator: "operator" in principal ? String(principal.operator) : null,
});
const response = { schema: Caller };
/** What an operator may do: by role, by scope, and after a recent authentication; and what only accounts may. */
const ROUTES = {
  role: declare({ summary: "Role", role: "admin", response, run: handle }),
  scope: declare({ summary: "Scope", scope: "releases:write", response, run: handle }),
  stepUp: declare({ summary: "Step-up", role: "admin", stepUp: true, response, run: handle }),
  account: declare({ summary: "Account", session: true, response, run: handle }),
};

let key: OperatorKey;
beforeEach(() => {
  key = createOperatorKey();
});

type Sent = { headers?: Record<string, string>; from?: string; query?: string; host?: string };

/** Calls a route with the operator's key. */
function send(
  name: keyof typeof ROUTES,
  { headers = {}, from = "127.0.0.1", query = "", host = "0.0.0.0" }: Sent = {},
) {
  const request = new Request(`${BASE_URL}/api/local${query}`, {
    headers: { authorization: `Bearer ${key.text}`, ...headers },
  });
  return withContext({ operatorKey: key, config: { HOST: host } }, async () => {
    const response = await defineRoute("/api/local", { GET: ROUTES[name] }).GET(request, { socketIp: from });
    return { status: response.status, ...((await response.json()) as { operator?: string; code?: string }) };
  });
}

describe("the key of this machine's operator", () => {
  test("opens what a role, a scope or a recent authentication opens, and no account's route", async () => {
    for (const name of ["role", "scope", "stepUp"] as const) {
      expect(await send(name, { headers: { "x-homeport-operator": "ann" } })).toEqual({
        status: 200,
        operator: "operator:ann",
      });
    }
    expect((await send("account")).status).toBe(401);
  });

  test.each(["::1", "::ffff:127.0.0.1", "127.8.8.8"])("is accepted from %s", async (from) => {
    expect((await send("role", { from })).status).toBe(200);
  });

  test("is accepted from the one address that the service listens on, and refused from others", async () => {
    const from = "203.0.113.7";
    expect((await send("role", { from, host: from })).status).toBe(200);
    expect(await send("role", { from, host: "203.0.113.8" })).toMatchObject({ status: 403, code: "forbidden" });
    expect((await send("role", { from: "203.0.113.7, 127.0.0.1" })).status).toBe(403);
  });

  test.each(["Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP"])(
    "is refused behind a proxy that adds %s",
    async (header) => {
      expect((await send("role", { headers: { [header]: "127.0.0.1" } })).status).toBe(403);
    },
  );

  test("is refused in a query string, and of no use after that", async () => {
    const query = `?key=${key.text}`;
    expect(await send("role", { query })).toMatchObject({ status: 400, code: "key_in_url" });
    expect((await send("role")).status).toBe(401);
    const event = await ctx().db.auditEvent.findFirst({ where: { target: "key:operator" }, orderBy: { id: "desc" } });
    expect(event).toMatchObject({ type: "key_leaked", actor: "operator" });
  });

  test("is one of each start, and no API key", async () => {
    const other = createOperatorKey();
    expect(key.matches(other.text)).toBe(false);
    expect((await send("role", { headers: { authorization: `Bearer ${other.text}` } })).status).toBe(401);
  });
});

test.each([
  ["ann", "operator:ann"],
  ["J%C3%B6rg", "operator:Jörg"],
  ["CORP%5Cann", "operator:CORP\\ann"],
  [null, "operator"],
  ["", "operator"],
  ["%", "operator"],
  ["a%0Ab", "operator"],
  ["x".repeat(65), "operator"],
])("the operator named %j is %j in the audit trail", (encoded, name) => {
  expect(parseOperatorName(encoded)).toBe(name);
});

test("a name without the operator's key makes nobody an operator", async () => {
  const headers = { authorization: "Bearer nothing", "x-homeport-operator": "ann" };
  expect((await send("role", { headers })).status).toBe(401);
});
