import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { changeTokenHashes } from "@/lib/accounts/email-change/tokens";
import { newId } from "@/lib/platform/db/ids";
import type { Locale } from "@/lib/platform/locale";
import { type EmailData, type EmailKind, OPERATOR_EMAILS } from "@/lib/platform/mail/emails";
import { newAccount } from "@/tests/support/accounts";
import { BASE_URL, ctx } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";

const HOSTILE = `<img src=x onerror=alert(1)>"'&`;
const PASSED: { [Kind in EmailKind]: EmailData[Kind] } = {
  password_reset: null,
  invitation: null,
  password_changed: null,
  email_verification: null,
  registered_already: null,
  new_sign_in: { client: HOSTILE, network: "203.0.113.0/24", at: "2026-11-22T19:05:00.000Z" },
  factor_added: { factor: "totp" },
  factor_removed: { factor: "passkey" },
  email_change_confirm: { changeId: "" },
  email_in_use: null,
  email_change_notice: null,
  email_changed: null,
  identity_linked: { provider: "google" },
  identity_unlinked: { provider: HOSTILE },
  account_deleted: null,
  rollout_halted: { product: "core", version: "2.3.0", reason: HOSTILE },
  webhook_disabled: { url: `https://example.com/${HOSTILE}`, reason: "gone" },
  policy_loosened: { product: "core", before: HOSTILE, after: "approvals: 0", at: "2026-11-22T19:05:00.000Z" },
  publisher_added: { publisherId: "1", name: HOSTILE, product: "core", ref: "refs/tags/v*" },
};
const KINDS = Object.keys(PASSED) as EmailKind[];

/** An account for which every kind of email has something to say. */
async function newRecipient(locale: string | null): Promise<string> {
  const { id, email } = await newAccount();
  await ctx().db.account.update({ where: { id }, data: { locale } });
  await ctx().db.identity.create({ data: { accountId: id, provider: "google", subject: id } });
  await ctx().db.verificationToken.create({
    data: { accountId: id, tokenHash: randomUUID(), createdAt: ctx().now(), expiresAt: new Date(Date.now() + 1e9) },
  });
  await newEmailChange(id, email, `new-${email}`);
  return email;
}

/** A change of email that can be confirmed and undone. Returns its id. */
async function newEmailChange(accountId: string, oldEmail: string, newEmail: string): Promise<string> {
  const [id, createdAt] = [newId(), ctx().now()];
  const ends = { confirmExpiresAt: new Date(Date.now() + 1e9), expiresAt: new Date(Date.now() + 1e9) };
  const hashes = changeTokenHashes(ctx().config, id);
  await ctx().db.emailChange.create({ data: { id, accountId, oldEmail, newEmail, createdAt, ...hashes, ...ends } });
  return id;
}

async function send(kind: EmailKind, email: string): Promise<string> {
  if (kind === "email_change_confirm") return sendConfirmation(email);
  if (kind === "invitation") await invite(email);
  await ctx().emails.enqueue(ctx().db, kind, email, PASSED[kind]);
  ctx().emails.wake();
  if (kind !== "new_sign_in") return mailbox.waitFor(email);
  const find = () => mailbox.signInsTo(email).concat(mailbox.to(email))[0] ?? "";
  await expect.poll(find).not.toBe("");
  return find();
}

/** Only an account without a password can have an invitation. */
async function invite(email: string): Promise<void> {
  const { id: accountId } = await ctx().db.account.update({ where: { email }, data: { passwordHash: null } });
  const times = { createdAt: ctx().now(), expiresAt: new Date(Date.now() + 1e9) };
  await ctx().db.invitation.create({ data: { accountId, id: newId(), tokenHash: randomUUID(), ...times } });
}

/** It goes to an email without an account, in the language of the account that asked for it. */
async function sendConfirmation(oldEmail: string): Promise<string> {
  const { id, newEmail, account } = await ctx().db.emailChange.findFirstOrThrow({
    where: { oldEmail },
    include: { account: true },
  });
  await ctx().emails.enqueue(ctx().db, "email_change_confirm", newEmail, { changeId: id }, account.locale);
  ctx().emails.wake();
  return mailbox.waitFor(newEmail);
}

function partOf(message: string, type: string): string {
  const [, part = ""] =
    new RegExp(String.raw`Content-Type: ${type};[\s\S]*?\r\n\r\n([\s\S]*?)\r\n--`).exec(message) ?? [];
  return part.replaceAll("\r\n", "\n");
}

const ENTITIES: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&amp;": "&" };

/** What a person reads of HTML. */
const textOf = (html: string) =>
  html
    .replace(/<(style|title)>[\s\S]*?<\/\1>/g, "")
    .replace(/<[^>]+>/g, " ")
    .replace(/\s+/g, " ")
    .replace(/&(lt|gt|quot|#39|amp);/g, (entity) => ENTITIES[entity] ?? entity);

describe.each<[Locale, string, string, string]>([
  ["en", "Hello,", "about your account at", "You operate the service at"],
  ["de", "Guten Tag,", "betrifft Ihr Konto bei", "Sie betreiben den Dienst unter"],
])("in the language %s", (locale, greeting, footer, operatorFooter) => {
  test.each(KINDS)("%s says the same in plain text and in HTML, which loads nothing and runs nothing", async (kind) => {
    const message = await send(kind, await newRecipient(locale));
    const [text, html] = [partOf(message, "text/plain"), partOf(message, "text/html")];
    expect(text.startsWith(`${greeting}\n\n`)).toBe(true);
    expect(text).toContain(OPERATOR_EMAILS.includes(kind) ? operatorFooter : footer);
    expect(html).toContain(`<html lang="${locale}">`);
    const sentences = text
      .split("\n\n")
      .filter((block) => !/^(http|- |Hello|Guten|Time|Zeit|Publisher|Reason|Grund|URL)/.test(block));
    expect(sentences.length).toBeGreaterThan(0);
    for (const sentence of sentences) expect(textOf(html)).toContain(sentence.replaceAll("\n", " "));
    const links = [...html.matchAll(/href="([^"]*)"/g)].map(([, link = ""]) => link.replaceAll("&amp;", "&"));
    for (const link of links) expect(text.split("\n")).toContain(link);
    for (const link of links) expect(link.startsWith(`${BASE_URL}/`)).toBe(true);
    expect(html).not.toMatch(/<(img|script|link|iframe|form|object|svg)\b|<[^>]*\s(src|on\w+)=|url\(|@import/i);
  });

  test("its headers name the language and say that a program sent it", async () => {
    const message = await send("email_changed", await newRecipient(locale));
    const [headers = ""] = message.split("\r\n\r\n", 1);
    expect(headers).toMatch(new RegExp(`^Content-Language: ${locale}\r?$`, "m"));
    expect(headers).toMatch(/^Auto-Submitted: auto-generated\r?$/m);
    expect(headers).toMatch(/^Message-ID: <[0-9a-f-]{36}\.\d+@localhost>\r?$/m);
    expect(headers).toMatch(/^Content-Type: multipart\/alternative;/m);
    expect(headers).toMatch(/^Date: /m);
  });
});

test("without a known language, an email is in English", async () => {
  expect(await send("email_changed", await newRecipient(null))).toContain("Your email address was changed");
  expect(await send("email_changed", await newRecipient("tlh"))).toContain("Content-Language: en");
});

test("an email to an address without an account is in the language that is given", async () => {
  expect(await sendConfirmation(await newRecipient("de"))).toContain("Neue Adresse best");
});

test("emails with data are sent one by one, also to one recipient", async () => {
  const email = await newRecipient("en");
  const { db, emails } = ctx();
  await emails.enqueue(db, "factor_added", email, { factor: "totp" });
  await emails.enqueue(db, "factor_added", email, { factor: "passkey" });
  emails.wake();
  await mailbox.waitFor(email, 2);
  const all = mailbox.to(email).join();
  expect(all).toContain("use an authenticator app");
  expect(all).toContain("use a passkey");
});

describe("during an upgrade", () => {
  const queue = async (kind: string, email: string) => {
    const at = ctx().now();
    const data = { kind, email, createdAt: at, nextAttemptAt: at, expiresAt: new Date(at.getTime() + 60_000) };
    await ctx().db.queuedEmail.create({ data });
    ctx().emails.wake();
  };

  test.each(["identity_linked", "identity_unlinked", "password_changed"])(
    "%s that the previous release queued, without data, is sent",
    async (kind) => {
      const email = await newRecipient("en");
      await queue(kind, email);
      expect(await mailbox.waitFor(email)).toContain(`(${email})`);
    },
  );

  test("an email of a kind that only a later release knows stays in the queue", async () => {
    const email = await newRecipient("en");
    await queue("a_later_kind", email);
    await queue("a_later_kind:with-data", email);
    await send("email_changed", email);
    await expect.poll(() => ctx().db.queuedEmail.count({ where: { email } })).toBe(2);
    expect(mailbox.to(email)).toHaveLength(1);
  });
});
