import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { POST } from "@/app/api/admin/first-operator-link/route";
import { createFirstOperatorLink } from "@/lib/accounts/first-operator";
import { createOperatorKey } from "@/lib/auth/local-operator";
import { removeExpiredRows } from "@/lib/auth/remove-expired-rows";
import { eventsOf, newAccount } from "@/tests/support/accounts";
import { call, get } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { BASE_URL, clock, ctx, emptyTables, withContext } from "@/tests/support/context";
import { cookiesOf, flashOf, submit } from "@/tests/support/web/forms";

const MINUTE_MS = 60_000;
const PASSWORD = "a password for the first operator";
const newPerson = () => ({ name: "", email: `operator-${randomUUID()}@example.com`, password: PASSWORD });

beforeEach(async () => {
  await emptyTables();
  await ctx().db.firstOperatorLink.deleteMany();
});

async function newLink(): Promise<string> {
  return (await createFirstOperatorLink(ctx())) ?? expect.fail("there is an admin");
}

async function open(link: string): Promise<string> {
  const response = await submit("first-operator/open", { token: link });
  expect([response.status, response.headers.get("location")]).toEqual([303, "/first-operator"]);
  return cookiesOf(response);
}

const roleOf = async (email: string) => (await ctx().db.account.findUnique({ where: { email } }))?.role;
const isAdmin = async (cookie: string) => (await get("/api/admin/keys", { cookie })).status === 200;

const LINK = "/api/admin/first-operator-link";

describe("the link for the first operator", () => {
  test("is made for commands on the service's machine, until there is an admin", async () => {
    expect((await call("POST", LINK)).status).toBe(401);
    const operatorKey = createOperatorKey();
    const request = () =>
      new Request(`${BASE_URL}${LINK}`, { method: "POST", headers: { authorization: `Bearer ${operatorKey.text}` } });
    const ask = () => withContext({ operatorKey }, () => POST(request(), { socketIp: "127.0.0.1" }));
    const { url } = (await (await ask()).json()) as { url: string };
    await open(url.replace(/.*#token=/, ""));
    const { token } = await accountWithRole("admin");
    expect([(await ask()).status, (await call("POST", LINK, { token })).status]).toEqual([409, 403]);
  });

  test("creates an account that is signed in, is an admin, and needs no email to be sent", async () => {
    await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, async () => {
      const cookie = await open(await newLink());
      const person = newPerson();
      const response = await submit("first-operator/register", person, { cookie });
      expect(response.headers.get("location")).toBe("/console");
      expect(await isAdmin(cookiesOf(response))).toBe(true);
      expect(await ctx().db.queuedEmail.count()).toBe(0);
      const { id } = await ctx().db.account.findUniqueOrThrow({ where: { email: person.email } });
      expect((await eventsOf(id)).sort()).toEqual(["registered", "role_changed"]);
      expect((await submit("sign-in", person)).headers.get("location")).toBe("/account");
    });
  });

  test("makes an account that exists an admin, once its owner has signed in", async () => {
    const { id, email, password } = await newAccount();
    const link = await open(await newLink());
    const session = cookiesOf(await submit("sign-in", { email, password }));
    const response = await submit("first-operator", {}, { cookie: `${link}; ${session}` });
    expect(response.headers.get("location")).toBe("/console");
    expect(await isAdmin(session)).toBe(true);
    const event = await ctx().db.auditEvent.findFirstOrThrow({ where: { accountId: id, type: "role_changed" } });
    expect(event).toMatchObject({ actor: "account", details: { from: "user", to: "admin" } });
  });

  test("is refused after 30 minutes, after its use, and while there is an admin", async () => {
    const late = await newLink();
    clock.advance(30 * MINUTE_MS);
    expect(flashOf(await submit("first-operator/open", { token: late }))?.message).toContain("no longer valid");

    const cookie = await open(await newLink());
    await submit("first-operator/register", newPerson(), { cookie });
    const again = newPerson();
    expect(flashOf(await submit("first-operator/register", again, { cookie }))?.message).toContain("no longer valid");
    expect(await roleOf(again.email)).toBeUndefined();
    expect(await createFirstOperatorLink(ctx())).toBeNull();
  });

  test("makes one admin of several people who use several links at once", async () => {
    const cookies = [await open(await newLink()), await open(await newLink()), await open(await newLink())];
    const people = cookies.map((cookie) => ({ cookie, ...newPerson() }));
    await Promise.all(people.map(({ cookie, ...fields }) => submit("first-operator/register", fields, { cookie })));
    expect(await ctx().db.account.findMany({ select: { role: true } })).toEqual([{ role: "admin" }]);
  });

  test("still works after a registration with an email that is taken", async () => {
    const { email } = await newAccount();
    const cookie = await open(await newLink());
    const taken = await submit("first-operator/register", { ...newPerson(), email }, { cookie });
    expect(flashOf(taken)?.fields.email).toContain("already exists");
    expect(await roleOf(email)).toBe("user");
    const person = newPerson();
    await submit("first-operator/register", person, { cookie });
    expect(await roleOf(person.email)).toBe("admin");
  });

  test("is needed: without it, with a guess, or with another's cookie nobody becomes admin", async () => {
    await newLink();
    const { email, password } = await newAccount();
    const session = cookiesOf(await submit("sign-in", { email, password }));
    await submit("first-operator", {}, { cookie: session });
    await submit("first-operator", {}, { cookie: `${session}; homeport.first-operator=guess` });
    await submit("first-operator/register", newPerson());
    await submit("first-operator/open", { token: "guess" });
    expect(await ctx().db.account.findMany({ where: { role: "admin" } })).toEqual([]);
    const [stored] = await ctx().db.firstOperatorLink.findMany();
    expect(stored?.tokenHash).toMatch(/^[0-9a-f]{64}$/);
  });

  test("is removed by retention after it has expired", async () => {
    await newLink();
    clock.advance(31 * MINUTE_MS);
    await removeExpiredRows(ctx());
    expect(await ctx().db.firstOperatorLink.count()).toBe(0);
  });
});
