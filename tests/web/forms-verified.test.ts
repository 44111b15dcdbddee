import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadConfig } from "@/lib/platform/config";
import { newAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { IdentityProvider } from "@/tests/support/auth/identity-provider";
import { BASE_URL, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";
import { cookiesOf, flashOf, submit, submitByScript } from "@/tests/support/web/forms";

const PASSWORD = "a password for forms";
const newEmail = () => `form-${randomUUID()}@example.com`;
const statusOf = async (cookie: string) => (await get("/api/subscription/status", { cookie })).status;

test("signing in again, or making another account, by the form ends the session whose cookie is replaced", async () => {
  const account = await newAccount();
  const first = cookiesOf(await submit("sign-in", account));
  const second = cookiesOf(await submit("sign-in", account, { cookie: first }));
  expect([await statusOf(first), await statusOf(second)]).toEqual([401, 200]);
  const third = cookiesOf(await submit("register", { email: newEmail(), password: PASSWORD }, { cookie: second }));
  expect([await statusOf(second), await statusOf(third)]).toEqual([401, 200]);
});

test("with required verification, the forms register, confirm by the pasted link and sign in", async () => {
  const before = cookiesOf(await submit("sign-in", await newAccount()));
  await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, async () => {
    const email = newEmail();
    const registered = await submit("register", { email, password: PASSWORD });
    expect(registered.headers.get("location")).toMatch(/^\/verify\?registered=[\w-]+$/);
    expect(cookiesOf(registered)).toMatch(/^homeport\.form=[\w-]+$/); // the email, for the button that sends it again
    const early = flashOf(await submit("sign-in", { email, password: PASSWORD }));
    expect(early?.message).toBe("Verify your email first. We have sent you a link.");
    const [link = ""] = /http\S+\/verify#token=\S+/.exec(await mailbox.waitFor(email)) ?? [];
    const wrong = flashOf(await submit("verify", { token: link, password: "another password" }));
    expect(wrong?.fields).toEqual({ password: "This is not the password you registered with" });
    const confirmed = await submit("verify", { token: link, password: PASSWORD }, { cookie: before });
    expect(confirmed.headers.get("location")).toBe("/account?done=email_verified");
    expect([await statusOf(before), await statusOf(cookiesOf(confirmed))]).toEqual([401, 200]);
    const again = flashOf(await submit("verify", { token: link, password: PASSWORD }));
    expect(again?.message).toBe("This link is no longer valid. Sign in to get a new one.");
  });
});

describe("with a provider", () => {
  let google: IdentityProvider;
  beforeAll(async () => {
    google = await IdentityProvider.start("google", BASE_URL);
  });
  afterAll(() => google.close());

  const configured = <T>(run: () => Promise<T>): Promise<T> => {
    const { AUTH_GOOGLE_ID, AUTH_GOOGLE_SECRET, AUTH_GOOGLE_ISSUER } = loadConfig(google.variables);
    return withContext({ config: { AUTH_GOOGLE_ID, AUTH_GOOGLE_SECRET, AUTH_GOOGLE_ISSUER } }, run);
  };

  test("the form redirects to the provider in a way that no form-action policy blocks", async () => {
    await configured(async () => {
      const posted = await submit("provider", { provider: "google" });
      expect(posted.status).toBe(200);
      expect(posted.headers.get("refresh")).toMatch(/^0;url=https?:\/\/\S+\/authorize\?\S*code_challenge=/);
      expect(cookiesOf(posted)).toMatch(/next-auth\.state=/);
      const byScript = await submitByScript("provider", { provider: "google" });
      const { location } = (await byScript.json()) as { location: string };
      expect(new URL(location).searchParams.get("redirect_uri")).toBe(`${BASE_URL}/api/auth/callback/google`);
    });
  });

  test("an unconfigured provider and any other sign-in method are rejected", async () => {
    await configured(async () => {
      for (const provider of ["github", "credentials", "email", "../csrf"]) {
        expect(flashOf(await submit("provider", { provider }))?.message).toBe("Not found.");
      }
    });
  });
});
