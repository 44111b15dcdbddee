import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { readEvents } from "@/lib/platform/audit/list-events";
import { COMMAND_LINE, recordOperatorEvent } from "@/lib/platform/audit/operator-events";
import type { AuditEntry, AuditFilter, AuditPage } from "@/lib/platform/audit/schema";
import type { Actor } from "@/lib/principal";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { accountWithRole, newKey } from "@/tests/support/auth/api-keys";
import { ctx } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { statementsWithoutIndex } from "@/tests/support/explain";

let admin: TestAccount;

beforeAll(async () => {
  admin = await accountWithRole("admin");
});

async function list(query: Record<string, string>, token = admin.token): Promise<AuditPage> {
  const response = await get(`/api/admin/audit?${new URLSearchParams(query)}`, { token });
  expect(response.status).toBe(200);
  return (await response.json()) as AuditPage;
}

/** Records what an operator with a name of their own did, so that no other test's events have the same actor. */
async function record(count: number, details: Record<string, string> = {}): Promise<Actor> {
  const actor: Actor = `operator:${randomUUID()}`;
  for (let i = 0; i < count; i++) {
    const event = { type: "key_created", target: `key:${actor}:${i}`, details: { ...details, i } } as const;
    await recordOperatorEvent(ctx().db, ctx().now(), { actor, accountId: null, source: COMMAND_LINE }, event);
  }
  return actor;
}

const csv = (query: Record<string, string>, token = admin.token) =>
  get(`/api/admin/audit.csv?${new URLSearchParams(query)}`, { token });

describe("the audit trail", () => {
  test("is listed newest first, a page at a time, each event once", async () => {
    const actor = await record(5);
    const found: AuditEntry[] = [];
    let cursor: string | null = null;
    do {
      const page: AuditPage = await list({ actor, limit: "2", ...(cursor ? { cursor } : {}) });
      expect(page.events.length).toBeLessThanOrEqual(2);
      found.push(...page.events);
      cursor = page.nextCursor;
    } while (cursor);
    expect(found.map(({ details }) => details)).toEqual([4, 3, 2, 1, 0].map((i) => ({ i })));
  });

  test("is filtered by each of its fields, and by several at once", async () => {
    const actor = await record(2);
    const target = `key:${actor}:1`;
    const before = new Date(Date.now() + 60_000).toISOString();
    expect((await list({ target })).events).toMatchObject([{ actor, target, type: "key_created", email: null }]);
    expect((await list({ actor, type: "key_created" })).events).toHaveLength(2);
    expect((await list({ actor, type: "key_revoked" })).events).toEqual([]);
    expect((await list({ actor, from: before })).events).toEqual([]);
    expect((await list({ actor, from: "2020-01-01", to: before })).events).toHaveLength(2);
    const { events } = await list({ account: admin.id, type: "registered" });
    expect(events).toMatchObject([{ accountId: admin.id, email: admin.email, actor: "account" }]);
  });

  test("has the events of a deleted account, by its former id", async () => {
    const { id, email, token, password } = await newAccount();
    await post("/api/auth/account/delete", { confirm: "DELETE", password }, { token });
    const { events } = await list({ account: id });
    expect(events.map(({ type }) => type)).toEqual(["account_deleted", "registered"]);
    expect(JSON.stringify(events)).not.toContain(email);
    expect(JSON.stringify(events)).not.toContain(id);
  });

  test("is for admins and for keys with the scope", async () => {
    const statusOf = async (token?: string) => (await get("/api/admin/audit", { token })).status;
    expect(await statusOf()).toBe(401);
    expect(await statusOf((await newAccount()).token)).toBe(403);
    expect(await statusOf((await accountWithRole("support")).token)).toBe(403);
    expect(await statusOf((await newKey({ scopes: ["releases:read"] })).key)).toBe(403);
    expect(await statusOf((await newKey({ scopes: ["audit:read"] })).key)).toBe(200);
    expect((await csv({}, (await accountWithRole("support")).token)).status).toBe(403);
  });

  test.each([
    { cursor: Buffer.from("keys 1").toString("base64url") },
    { type: "nothing" },
    { from: "yesterday" },
    { account: "1" },
    { actor: "a\0b" },
    { target: "x".repeat(10_000) },
    { limit: "0" },
  ] as Record<string, string>[])("refuses %o", async (query) => {
    const response = await get(`/api/admin/audit?${new URLSearchParams(query)}`, { token: admin.token });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "invalid_query" });
  });

  test("has no page after an event that is gone", async () => {
    const cursor = Buffer.from(`audit ${randomUUID()}`).toString("base64url");
    expect(await list({ cursor })).toEqual({ events: [], nextCursor: null });
  });
});

describe("the audit trail as CSV", () => {
  test("has every event that matches, in more than one batch", async () => {
    const actor: Actor = `operator:${randomUUID()}`;
    const at = ctx().now();
    const rows = Array.from({ length: 1_201 }, () => ({ actor, type: "key_created", at }));
    await ctx().db.auditEvent.createMany({ data: rows });
    const response = await csv({ actor });
    expect(response.headers.get("content-type")).toContain("text/csv");
    expect(response.headers.get("content-disposition")).toMatch(/filename="audit-\d{4}-\d\d-\d\d\.csv"/);
    const [header, ...lines] = (await response.text()).trim().split("\r\n");
    expect(header).toBe('"id","at","type","actor","accountId","email","target","network","userAgent","details"');
    expect(new Set(lines.map((line) => line.split(",")[0])).size).toBe(1_201);
  });

  // ASVS 1.2.10
  test("runs no formula in a spreadsheet, whatever separates its lists, and quotes every cell", async () => {
    const actor: Actor = `operator:${randomUUID()}`;
    const formulas = [
      '=HYPERLINK("https://evil.example")',
      "+1+1",
      "-1",
      "@SUM(A1)",
      "\t=1",
      "x;=1+1;y",
      "x\t@a",
      'x" =1',
      'plain, "quoted"\n',
    ];
    const rows = formulas.map((userAgent, i) => ({ actor, type: "signed_in", at: new Date(1e12 - i), userAgent }));
    await ctx().db.auditEvent.createMany({ data: rows });
    const text = await (await csv({ actor })).text();
    expect(text).toContain(`,"'=HYPERLINK(""https://evil.example"")",`);
    for (const cell of ["'+1+1", "'-1", "'@SUM(A1)", "'\t'=1", "x;'=1+1;y", "x\t'@a", `x""' =1`]) {
      expect(text).toContain(`,"${cell}",`);
    }
    expect(text).toContain(`,"plain, ""quoted""\n",`);
  });

  test("without a match is a header row", async () => {
    const response = await csv({ actor: `operator:${randomUUID()}` });
    expect((await response.text()).split("\r\n")).toEqual([expect.stringMatching(/^"id","at",/), ""]);
  });
});

describe.runIf(postgresUrl)("on PostgreSQL an index serves", () => {
  const time = new Date();
  const last = { at: time, id: randomUUID() };
  const filters: AuditFilter[] = [
    { type: "key_created" },
    { actor: "operator:ann" },
    { target: "key:1" },
    { from: time },
    { type: "signed_in", from: time },
  ];

  test.each(filters)("the pages of %o, in their order", async (filter) => {
    const run = async (db: ReturnType<typeof ctx>["db"]) => {
      await readEvents({ ...ctx(), db }, filter, last, 50);
      await readEvents({ ...ctx(), db }, filter, null, 50);
    };
    const found = await statementsWithoutIndex(run);
    expect(found.filter((statement) => !statement.startsWith("Account"))).toEqual([]);
  });
});
