import { describe, expect, test } from "vitest";
import { authenticate } from "@/lib/auth/authenticate";
import { readKeptForm } from "@/lib/platform/http/pages/kept-form";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { newKey, statusOf } from "@/tests/support/auth/api-keys";
import { addAuthenticator } from "@/tests/support/auth/authenticator";
import { addPasskey } from "@/tests/support/auth/passkeys";
import { operatorWithRole } from "@/tests/support/console/operators";
import { BASE_URL, clock, ctx } from "@/tests/support/context";
import { cookiesOf, submit, submitByScript } from "@/tests/support/web/forms";

const MINUTE_MS = 60_000;

const signIn = async ({ email, password }: Pick<TestAccount, "email" | "password">) =>
  cookiesOf(await submit("sign-in", { email, password }));

/** The page that follows the sign-in or the confirmation to which a response leads. */
function nextPage(response: Response): URL {
  const { searchParams } = new URL(response.headers.get("location") ?? "", BASE_URL);
  return new URL(searchParams.get("callbackUrl") ?? "", BASE_URL);
}

/** What the page after the sign-in shows to whom a session's cookie signs in. */
async function keptFor(session: string, response: Response) {
  const visitor = await authenticate(ctx(), new Headers({ cookie: session }));
  const id = nextPage(response).searchParams.get("formErrors") ?? undefined;
  return readKeptForm(ctx(), visitor, cookiesOf(response), id);
}

describe("a form that is sent after its session has ended", () => {
  const sendName = (signedInAs: string, headers = {}) =>
    submit("account/name", { name: "Ann of the long name", signedInAs }, { headers });

  test("is kept for an hour over the sign-in, encrypted, and for its account alone", async () => {
    const account = await newAccount();
    const response = await sendName(account.id);
    expect(response.headers.get("location")).toMatch(/^\/sign-in\?/);
    expect(nextPage(response).pathname).toBe("/account/name");
    expect(Buffer.from(cookiesOf(response), "base64url").toString()).not.toContain("Ann");
    const [session, other] = [await signIn(account), await signIn(await newAccount())];
    expect(await keptFor(session, response)).toMatchObject({ values: { name: "Ann of the long name" } });
    expect(await keptFor(session, response)).not.toHaveProperty("resume");
    expect(await keptFor(other, response)).toBeNull();
    clock.advance(61 * MINUTE_MS);
    expect(await keptFor(session, response)).toBeNull();
  });

  test("keeps no password, and nothing for another site's page or a page without an account", async () => {
    const { id } = await newAccount();
    const secret = { currentPassword: "old password here", newPassword: "new password here", signedInAs: id };
    const named = { name: "Ann" };
    for (const response of [
      await submit("account/password", secret),
      await submit("account/name", named),
      await sendName(id, { origin: "https://evil.example" }),
    ]) {
      expect(cookiesOf(response)).not.toContain("kept-form");
      expect(response.headers.get("location") ?? "").not.toContain("formErrors");
    }
  });

  test("stays in its page if it is too long to be kept, and the page has a script", async () => {
    const { id } = await newAccount();
    const fields = { name: "n".repeat(4_000), signedInAs: id };
    expect((await submit("account/name", fields)).headers.get("location")).not.toContain("formErrors");
    const response = await submitByScript("account/name", fields);
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ detail: "Sign in again in another tab, and then send this here." });
  });

  test("of the console can be sent as it was, by its operator's decision", async () => {
    const operator = await operatorWithRole("admin");
    const fields = { accountId: operator.id, reason: "Asked by telephone", signedInAs: operator.id };
    const response = await submit("console/disableAccount", fields);
    expect(await keptFor(operator.cookie, response)).toMatchObject({
      form: "/forms/console/disableAccount",
      values: { accountId: operator.id, reason: "Asked by telephone" },
      resume: "ask",
      summary: "Disable an account",
    });
  });
});

describe("a form that needs a confirmation first", () => {
  test("is sent at once after it, and is then forgotten", async () => {
    const { id, cookie, password } = await operatorWithRole("admin");
    const { id: keyId } = await newKey();
    clock.advance(11 * MINUTE_MS);
    const refused = await submit("console/revokeApiKey", { keyId, signedInAs: id }, { cookie });
    expect(await keptFor(cookie, refused)).toMatchObject({ resume: "ask" });
    const next = nextPage(refused);
    const confirmed = await submit("confirm", { password, callbackUrl: next.pathname + next.search }, { cookie });
    expect(confirmed.headers.get("location")).toBe(next.pathname + next.search);
    const kept = await keptFor(cookie, refused);
    expect(kept).toMatchObject({ form: "/forms/console/revokeApiKey", values: { keyId }, resume: "now" });
    const cookies = `${cookie}; ${cookiesOf(refused)}`;
    const sent = await submit("console/revokeApiKey", { ...kept?.values, isResumed: "1" }, { cookie: cookies });
    expect(await statusOf(keyId)).toBe("revoked");
    expect(sent.headers.getSetCookie()).toContainEqual(expect.stringMatching(/^homeport\.kept-form=; .*1970/));
  });

  test.each(["totp", "recovery-codes", "remove"])("/forms/account/factors/%s is sent after it", async (form) => {
    const account = await newAccount();
    const cookie = await signIn(account);
    const { recoveryCodes } = await addAuthenticator(account.id); // by another session: this one has not proved it
    const refused = await submit(`account/factors/${form}`, { signedInAs: account.id }, { cookie });
    await submit("confirm", { recoveryCode: recoveryCodes[0] ?? "" }, { cookie });
    expect(await keptFor(cookie, refused)).toMatchObject({ form: `/forms/account/factors/${form}`, resume: "now" });
  });

  test("that removes a passkey is sent after it", async () => {
    const account = await newAccount();
    const { passkey } = await addPasskey(account);
    const cookie = await signIn(account);
    clock.advance(11 * MINUTE_MS);
    const fields = { id: passkey.id, signedInAs: account.id };
    const refused = await submit("account/passkey/remove", fields, { cookie });
    expect(await keptFor(cookie, refused)).toMatchObject({ values: { id: passkey.id }, resume: "ask" });
  });

  test("and has a password, but no field for what is missing, leads to it and has to be filled in again", async () => {
    const account = await newAccount();
    const cookie = await signIn(account);
    await addAuthenticator(account.id);
    const fields = { confirm: "DELETE", password: account.password, signedInAs: account.id };
    const refused = await submit("account/delete", fields, { cookie });
    expect(refused.headers.get("location")).toBe("/confirm?callbackUrl=%2Faccount%2Fdelete");
    expect(cookiesOf(refused)).toBe("");
    const byScript = await submitByScript("account/delete", fields, { cookie });
    expect(await byScript.json()).toEqual({ location: "/confirm?callbackUrl=%2Faccount%2Fdelete" });
    expect(await ctx().db.account.count({ where: { id: account.id } })).toBe(1);
  });

  test("waits for a decision if it was confirmed a while ago, or needs a second confirmation", async () => {
    const { id, cookie, password } = await operatorWithRole("admin");
    const { id: keyId } = await newKey();
    clock.advance(11 * MINUTE_MS);
    const refused = await submit("console/revokeApiKey", { keyId, signedInAs: id }, { cookie });
    const again = await submit("console/revokeApiKey", { keyId, signedInAs: id, isResumed: "1" }, { cookie });
    await submit("confirm", { password }, { cookie });
    expect(await keptFor(cookie, again)).toMatchObject({ values: { keyId }, resume: "ask" });
    clock.advance(2 * MINUTE_MS);
    expect(await keptFor(cookie, refused)).toMatchObject({ resume: "ask" });
  });
});
