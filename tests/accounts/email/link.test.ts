import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { findMaskedEmail } from "@/lib/accounts/email-change/pending";
import { readLinkCookie } from "@/lib/platform/http/pages/link-cookie";
import { ctx } from "@/tests/support/context";
import { emailOf, newVerified, requestChange, tokenTo } from "@/tests/support/email-change";
import { cookiesOf, flashOf, submit } from "@/tests/support/web/forms";

test("a link to a new email that is opened signed out is kept over the sign-in, and says with which email to sign in", async () => {
  const account = await newVerified();
  const email = `new-${randomUUID()}@example.com`;
  await requestChange(account, email);
  const token = await tokenTo(email, "email-change");
  const opened = await submit("email-change/open", { token });
  expect(opened.headers.get("location")).toBe("/email-change");
  expect(cookiesOf(opened)).not.toContain(token);
  const kept = await readLinkCookie(ctx().config, "emailChange", cookiesOf(opened));
  expect(await findMaskedEmail(ctx(), kept ?? "")).toBe(`${account.email[0]}…@example.com`);

  const session = cookiesOf(await submit("sign-in", account, { cookie: cookiesOf(opened) }));
  const changed = await submit("email-change", { token: kept ?? "" }, { cookie: session });
  expect(changed.headers.get("location")).toBe("/account?done=email_changed");
  expect(changed.headers.getSetCookie()).toContainEqual(expect.stringMatching(/^homeport\.email-change=; .*Expires=/));
  expect(await emailOf(account.token)).toBe(email);
  expect(await findMaskedEmail(ctx(), token)).toBeNull();
});

test("a link that does not work is not kept", async () => {
  const response = await submit("email-change/open", { token: "t".repeat(43) });
  expect(flashOf(response)?.message).toBe("This link is no longer valid.");
  expect(cookiesOf(response)).not.toContain("homeport.email-change");
});
