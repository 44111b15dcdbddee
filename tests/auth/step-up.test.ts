import { describe, expect, test } from "vitest";
import { eventsOf, newAccount, type TestAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { clock, ctx } from "@/tests/support/context";
import { cookiesOf, flashOf, submit } from "@/tests/support/web/forms";

const MINUTE_MS = 60_000;
const REAUTHENTICATE = "/api/auth/reauthenticate";

const remove = ({ password, token }: TestAccount) =>
  post("/api/auth/account/delete", { confirm: "DELETE", password }, { token });
const sessionOf = ({ sessionId }: TestAccount) => ctx().db.session.findUniqueOrThrow({ where: { id: sessionId } });

/** An account whose session is older than ten minutes. */
async function staleAccount(): Promise<TestAccount> {
  const account = await newAccount();
  clock.advance(11 * MINUTE_MS);
  return account;
}

describe("POST /api/auth/reauthenticate", () => {
  test("makes the session's authentication recent, and is in the audit trail", async () => {
    const account = await staleAccount();
    const at = ctx().now();
    const response = await post(REAUTHENTICATE, { password: account.password }, { token: account.token });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ aal: 1, amr: ["pwd"] });
    expect((await sessionOf(account)).authenticatedAt.getTime()).toBeGreaterThanOrEqual(at.getTime());
    expect(await eventsOf(account.id)).toEqual(["registered", "reauthenticated"]);
  });

  test("requires a proof even after a recent sign-in, and names the field that would do", async () => {
    const { token } = await newAccount();
    const refused = await post(REAUTHENTICATE, {}, { token });
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({
      code: "reauthentication_required",
      errors: [{ pointer: "/password", code: "required" }],
    });
    expect((await post(REAUTHENTICATE, { password: "x" })).status).toBe(401);
  });

  test("refuses a wrong password, leaves the session as old as it was, and counts attempts with those of a deletion", async () => {
    const account = await staleAccount();
    const before = await sessionOf(account);
    const guess = () => post(REAUTHENTICATE, { password: "a wrong one" }, { token: account.token });
    for (let i = 0; i < 10; i++) expect((await guess()).status).toBe(403);
    expect((await sessionOf(account)).authenticatedAt).toEqual(before.authenticatedAt);
    expect((await guess()).status).toBe(429);
    expect((await remove(account)).status).toBe(429);
  });

  test("cannot help an account without a password, which has to sign in again", async () => {
    const { id, token } = await newAccount();
    await ctx().db.account.update({ where: { id }, data: { passwordHash: null } });
    const body = await (await post(REAUTHENTICATE, { password: "anything" }, { token })).json();
    expect(body).toMatchObject({ code: "reauthentication_required" });
    expect(body.errors).toBeUndefined();
  });
});

describe("the form of /confirm", () => {
  test("goes on to the page that required it, on this service alone", async () => {
    const { token, password } = await newAccount();
    const cookie = `next-auth.session-token=${token}`;
    const next = async (callbackUrl: string) =>
      (await submit("confirm", { password, callbackUrl }, { cookie })).headers.get("location");
    expect(await next("/account/delete?x=1")).toBe("/account/delete?x=1");
    expect(await next("https://evil.example/account")).toBe("/account");
    expect(await next("//evil.example")).toBe("/account");
  });

  test("shows a wrong password at its field, and keeps the page to go on to", async () => {
    const { token } = await newAccount();
    const cookie = `next-auth.session-token=${token}`;
    const refused = await submit("confirm", { password: "a wrong one", callbackUrl: "/account/delete" }, { cookie });
    expect(refused.headers.get("location")).toMatch(/^\/confirm\?callbackUrl=%2Faccount%2Fdelete&formErrors=/);
    expect(flashOf(refused)?.fields).toEqual({ password: "This is not your password" });
    expect(cookiesOf(refused)).toContain("homeport.form=");
  });
});

describe("a deletion", () => {
  test("requires the password also after a recent sign-in", async () => {
    const account = await newAccount();
    expect((await remove({ ...account, password: "a wrong one" })).status).toBe(403);
    expect((await get("/api/subscription/status", { token: account.token })).status).toBe(200);
    expect((await remove(account)).status).toBe(200);
  });
});
