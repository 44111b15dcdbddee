import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";
import { cookiesOf, submit } from "@/tests/support/web/forms";

const PASSWORD = "a password for forms";
const APP = "/authorize?client_id=desktop&state=1";
const newEmail = () => `return-${randomUUID()}@example.com`;
const locationOf = (response: Response) => response.headers.get("location");

async function linkIn(email: string, page: string): Promise<string> {
  return new RegExp(`http\\S+/${page}#token=\\S+`).exec(await mailbox.waitFor(email))?.[0] ?? "";
}

test("a new account continues to the page that it was created for, but to no other site", async () => {
  const register = (callbackUrl: string) => submit("register", { email: newEmail(), password: PASSWORD, callbackUrl });
  expect(locationOf(await register(APP))).toBe(APP);
  for (const url of ["https://evil.example/", "//evil.example", "javascript:alert(1)"]) {
    expect(locationOf(await register(url))).toBe("/account");
  }
});

test("with required verification it continues there once the emailed link is opened in this browser", async () => {
  await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, async () => {
    const email = newEmail();
    const registered = await submit("register", { email, password: PASSWORD, callbackUrl: APP });
    const fields = { token: await linkIn(email, "verify"), password: PASSWORD };
    const confirmed = await submit("verify", fields, { cookie: cookiesOf(registered) });
    expect(locationOf(confirmed)).toBe(APP);
    expect(confirmed.headers.getSetCookie()).toContainEqual(
      expect.stringMatching(/^homeport\.return-to=; .*Max-Age=0/),
    );
  });
});

test("a forgotten password returns there after the sign-in", async () => {
  const { email } = await newAccount();
  const asked = await submit("forgot", { email, callbackUrl: APP });
  expect(locationOf(asked)).toBe(`/forgot?sent&${new URLSearchParams({ callbackUrl: APP })}`);
  const fields = { token: await linkIn(email, "reset"), password: "another good password" };
  const reset = await submit("reset", fields, { cookie: cookiesOf(asked) });
  expect(locationOf(reset)).toBe(`/sign-in?done=password_reset&${new URLSearchParams({ callbackUrl: APP })}`);
});

test("a cookie that somebody else has set leads to no other site", async () => {
  const { email } = await newAccount();
  await submit("forgot", { email });
  const fields = { token: await linkIn(email, "reset"), password: "another good password" };
  const cookie = `homeport.return-to=${Buffer.from("https://evil.example/").toString("base64url")}`;
  expect(locationOf(await submit("reset", fields, { cookie }))).toBe("/sign-in?done=password_reset");
});
