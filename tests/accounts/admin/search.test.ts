import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { searchAccounts } from "@/lib/accounts/admin/search-accounts";
import { newId } from "@/lib/platform/db/ids";
import { accountWithId, newAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { ctx, emptyTables } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { statementsWithoutIndex } from "@/tests/support/explain";
import { anonymous, billingEvent, deliverOk } from "@/tests/support/subscriptions/billing";

type Page = { accounts: { id: string; email: string; name: string | null }[]; nextCursor: string | null };

let token: string;

beforeAll(async () => {
  token = (await newKey({ scopes: ["accounts:read"] })).key;
});

async function search(query: Record<string, string>) {
  const response = await get(`/api/admin/accounts?${new URLSearchParams(query)}`, { token });
  return { status: response.status, ...((await response.json()) as Page & { code?: string }) };
}

const emailsOf = async (query: Record<string, string>) => (await search(query)).accounts.map(({ email }) => email);

/** Accounts with these names, by their emails. */
async function addNamed(names: Record<string, string | null>): Promise<void> {
  const data = Object.entries(names).map(([email, name]) => ({ email, name }));
  for (const one of data) await ctx().db.account.create({ data: { id: newId(), ...one } });
}

async function readAll(query: Record<string, string>): Promise<string[]> {
  const emails: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page = await search({ ...query, ...(cursor && { cursor }) });
    emails.push(...page.accounts.map(({ email }) => email));
    cursor = page.nextCursor;
  }
  return emails;
}

describe("a search", () => {
  test("finds emails by their beginning, in any case, and nothing else", async () => {
    await addNamed({ "search-a@example.com": null, "search_a@example.com": null, "searchxa@example.com": null });
    expect(await emailsOf({ query: " SEARCH_" })).toEqual(["search_a@example.com"]);
    expect(await emailsOf({ query: "search" })).toEqual(expect.arrayContaining(["search-a@example.com"]));
    expect(await emailsOf({ query: "earch" })).toEqual([]);
    expect(await emailsOf({ query: "search%" })).toEqual([]);
  });

  test("finds names by the beginning of the first, the second and the last word", async () => {
    await addNamed({
      "n1@names.example": "Zenobia Quillfeather",
      "n2@names.example": "Quillfeather",
      "n3@names.example": "Élodie Marie van der Quillfeather",
      "n4@names.example": "Zenobiaquillfeather",
    });
    const found = ["n1@names.example", "n2@names.example", "n3@names.example"];
    expect((await emailsOf({ query: "quillF" })).sort()).toEqual(found);
    expect(await emailsOf({ query: "marie van" })).toEqual(["n3@names.example"]);
    expect(await emailsOf({ query: "élodie" })).toEqual(["n3@names.example"]);
    expect((await emailsOf({ query: "zenobia" })).sort()).toEqual(["n1@names.example", "n4@names.example"]);
  });

  test("finds an account by its id, and by the ids that the billing provider has for its customer", async () => {
    const { id } = await newAccount();
    const alias = anonymous();
    const original = `customer-${randomUUID()}`;
    await deliverOk(
      billingEvent("INITIAL_PURCHASE", { app_user_id: id, original_app_user_id: original, aliases: [alias] }),
    );
    for (const query of [id, id.toUpperCase(), original, alias]) {
      expect((await search({ query })).accounts).toMatchObject([{ id }]);
    }
    expect((await search({ query: randomUUID() })).accounts).toEqual([]);
    expect((await search({ query: alias.slice(0, -1) })).accounts).toEqual([]);
  });

  test("finds each account once, page by page, whatever it matches by", async () => {
    const names = Object.fromEntries(
      Array.from({ length: 25 }, (_, i) => [
        `${i % 2 === 0 ? "twicefound" : "other"}${i}@pages.example`,
        i % 3 === 0 ? "Twicefound Twicefound" : `Person Twicefound${i}`,
      ]),
    );
    await addNamed(names);
    const emails = await readAll({ query: "twicefound", limit: "3" });
    expect(emails).toHaveLength(25);
    expect(new Set(emails)).toEqual(new Set(Object.keys(names)));
  });

  test("takes names of eighty characters of any script as a cursor", async () => {
    const name = "𒀀".repeat(80);
    await addNamed({ "long1@cuneiform.example": name, "long2@cuneiform.example": name });
    expect((await readAll({ query: "𒀀", limit: "1" })).sort()).toEqual([
      "long1@cuneiform.example",
      "long2@cuneiform.example",
    ]);
  });

  test("keeps the filters", async () => {
    await addNamed({ "filter1@filters.example": "Ann", "filter2@filters.example": "Bob" });
    const where = { email: "filter1@filters.example" };
    await ctx().db.account.update({ where, data: { role: "support", disabledAt: ctx().now() } });
    expect(await emailsOf({ query: "filter", role: "support" })).toEqual(["filter1@filters.example"]);
    expect(await emailsOf({ query: "filter", state: "disabled" })).toEqual(["filter1@filters.example"]);
    expect(await emailsOf({ query: "filter", state: "active" })).toEqual(["filter2@filters.example"]);
    expect(await emailsOf({ query: "filter", state: "disabled", role: "user" })).toEqual([]);
    expect(await emailsOf({ role: "support", state: "disabled" })).toContain("filter1@filters.example");
    expect(await emailsOf({ query: "filter", state: "unverified" })).toHaveLength(2);
  });

  test.each([
    [{ query: "x".repeat(10_000) }],
    [{ query: "\0" }],
    [{ role: "root" }],
    [{ state: "gone" }],
    [{ seenFrom: "yesterday" }],
    [{ limit: "0" }],
    [{ cursor: "bm90aGluZw" }],
    [{ cursor: Buffer.from("keys 1").toString("base64url") }],
  ] as Record<string, string>[][])("responds with 400 to %j", async (query = {}) => {
    expect(await search(query)).toMatchObject({ status: 400, code: "invalid_query" });
  });

  test("refuses the cursor of another search, and survives a forged one", async () => {
    await addNamed({ "cursor1@cursors.example": null, "cursor2@cursors.example": null });
    const { nextCursor } = await search({ query: "cursor", limit: "1" });
    expect(await search({ query: "curso", limit: "1", cursor: nextCursor ?? "" })).toMatchObject({ status: 400 });
    const list = Buffer.from(nextCursor ?? "", "base64url")
      .toString()
      .split(" ")[0];
    for (const place of [
      "9 x y",
      `9 ${randomUUID()} x`,
      `1 ${randomUUID()} \0`,
      "",
      `1 ${randomUUID()} ${"x".repeat(300)}`,
    ]) {
      const cursor = Buffer.from(`${list} ${place}`).toString("base64url");
      expect((await search({ query: "cursor", cursor })).status).toBe(200);
    }
  });

  test.each(['\'; DROP TABLE "Account"; --', "\\", "{a,b}", "\u{10FFFF}"])("for %j finds nothing", async (query) => {
    expect(await search({ query })).toMatchObject({ status: 200, accounts: [] });
  });
});

test("a list of accounts has each once, newest first, also while accounts are added", async () => {
  await emptyTables();
  await addNamed(Object.fromEntries(Array.from({ length: 7 }, (_, i) => [`list${i}@list.example`, null])));
  const first = await search({ limit: "3" });
  await addNamed({ "late@list.example": null });
  const second = await search({ limit: "3", cursor: first.nextCursor ?? "" });
  const third = await search({ limit: "3", cursor: second.nextCursor ?? "" });
  const emails = [first, second, third].flatMap(({ accounts }) => accounts.map(({ email }) => email));
  expect(emails).toEqual([6, 5, 4, 3, 2, 1, 0].map((i) => `list${i}@list.example`));
  expect(third.nextCursor).toBeNull();
});

describe.runIf(postgresUrl)("on PostgreSQL an index serves", () => {
  beforeAll(async () => void (await accountWithId(newId())));

  const twoPages = (query: Parameters<typeof searchAccounts>[1]) => async (db: ReturnType<typeof ctx>["db"]) => {
    const { nextCursor } = await searchAccounts({ db, now: ctx().now }, { ...query, limit: 1 });
    if (nextCursor) await searchAccounts({ db, now: ctx().now }, { ...query, limit: 1, cursor: nextCursor });
  };

  test.each([
    [{}],
    [{ role: "admin" as const }],
    [{ state: "disabled" as const }],
    [{ state: "unverified" as const }],
    [{ query: "person" }],
    [{ query: randomUUID() }],
    [{ createdFrom: new Date(0) }],
    [{ seenFrom: new Date(0) }],
  ])("the first pages of %j", async (query) => {
    expect(await statementsWithoutIndex(twoPages(query))).toEqual([]);
  });

  test.each([
    [{}],
    [{ role: "user" as const }],
    [{ state: "active" as const }],
    [{ state: "disabled" as const }],
    [{ state: "unverified" as const }],
    [{ query: "person" }],
  ])("the first pages of %j in their order", async (query) => {
    const statements = await statementsWithoutIndex(twoPages(query), { inOrder: true });
    // The ids of the billing provider are found by indexes of another kind, which have no order.
    expect(statements.filter((statement) => !statement.includes('"appUserIds" @>'))).toEqual([]);
  });
});
