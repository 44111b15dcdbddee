import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "@/dev/free-port";
import { accountEmails, EMAIL_TTL_SECONDS } from "@/lib/accounts/emails/account-emails";
import { createSmtpMailer } from "@/lib/platform/adapters/mailers";
import { newId } from "@/lib/platform/db/ids";
import { createEmailQueue } from "@/lib/platform/mail/queue";
import { newAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { accountWithRole, newKey } from "@/tests/support/auth/api-keys";
import { clock, ctx } from "@/tests/support/context";

type Email = { id: string; to: string; state: string; lastError: string | null; nextAttemptAt: string | null };
type Page = { messages: Email[]; nextCursor: string | null };

const DAY_MS = 24 * 60 * 60 * 1000;
const MESSAGES = "/api/admin/mail/messages";
const RETRIES = "/api/admin/mail/retries";

beforeEach(async () => void (await ctx().db.queuedEmail.deleteMany()));

const writer = async () => (await newKey({ scopes: ["mail:write"] })).key;
const list = async (token: string, query = "") => (await (await get(`${MESSAGES}?${query}`, { token })).json()) as Page;

/** Queues emails that are not due yet, oldest first. */
async function queueEmails(count: number, fields: object = {}): Promise<string[]> {
  const at = clock.now();
  const rows = Array.from({ length: count }, () => ({
    id: newId(),
    kind: "password_reset",
    email: `${randomUUID()}@example.com`,
    createdAt: at,
    nextAttemptAt: new Date(+at + 60_000),
    expiresAt: new Date(+at + DAY_MS),
    ...fields,
  }));
  await ctx().db.queuedEmail.createMany({ data: rows });
  return rows.map(({ id }) => id).sort();
}

/** Queues an email that a mail server does not take. Returns its recipient. */
async function failOnce(): Promise<string> {
  const mailer = createSmtpMailer(`smtp://127.0.0.1:${await freePort()}`, ctx().config.MAIL_FROM, 1_000);
  const queue = createEmailQueue({ ...ctx(), mailer }, EMAIL_TTL_SECONDS, accountEmails(ctx()));
  onTestFinished(() => queue.close());
  const { email } = await newAccount();
  await ctx().db.queuedEmail.deleteMany();
  await ctx().db.$transaction((tx) => queue.enqueue(tx, "password_changed", email));
  queue.wake();
  await expect.poll(async () => (await ctx().db.queuedEmail.findFirst({ where: { email } }))?.lastError).toBeTruthy();
  return email;
}

describe("the mail queue", () => {
  test("is listed with why an email was not sent, and never with its data or a link", async () => {
    const email = await failOnce();
    await queueEmails(1, { kind: `email_change_confirm:${randomUUID()}`, data: { changeId: "between-us" } });
    const token = await writer();
    const [queued, failed] = (await list(token)).messages.toSorted((a, b) => (a.state < b.state ? -1 : 1));
    expect(failed).toMatchObject({
      to: email,
      state: "retrying",
      attempts: 1,
      lastError: expect.stringMatching(/^E[A-Z]+ CONN$/),
    });
    expect(queued).toMatchObject({ kind: "email_change_confirm", state: "queued", attempts: 0, lastError: null });
    expect(JSON.stringify([queued, failed])).not.toMatch(/between-us|http/);
    const ids = async (query: string) => (await list(token, query)).messages.map(({ id }) => id);
    expect(await ids("state=retrying")).toEqual([failed?.id]);
    expect(await ids(`to=${email.toUpperCase()}`)).toEqual([failed?.id]);
    expect(await ids("state=sending")).toEqual([]);
  });

  test("is read page by page from either end, and a cursor of one order does not fit the other", async () => {
    const ids = await queueEmails(5);
    const token = await writer();
    for (const [order, expected] of [
      ["oldest", ids],
      ["newest", ids.toReversed()],
    ] as const) {
      const found: string[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const page = await list(token, `limit=2&order=${order}${cursor && `&cursor=${cursor}`}`);
        found.push(...page.messages.map(({ id }) => id));
        cursor = page.nextCursor;
      }
      expect(found).toEqual(expected);
    }
    const { nextCursor } = await list(token, "limit=2");
    expect((await get(`${MESSAGES}?order=oldest&cursor=${nextCursor}`, { token })).status).toBe(400);
  });

  test("sends an email at once that waited for a retry, but not one that is being sent", async () => {
    const email = await failOnce();
    const leased = await queueEmails(1, { attempts: 1, nextAttemptAt: new Date(+clock.now() + 90_000) });
    const token = await writer();
    expect((await list(token, "state=sending")).messages).toMatchObject([{ id: leased[0], nextAttemptAt: null }]);
    expect(await (await post(RETRIES, {}, { token })).json()).toEqual({ retried: 1 });
    await expect.poll(async () => (await list(token, `to=${email}`)).messages).toEqual([]);
    expect((await list(token)).messages).toMatchObject([{ id: leased[0] }]);
    const event = await ctx().db.auditEvent.findFirst({ where: { type: "email_retried" }, orderBy: { id: "desc" } });
    expect(event).toMatchObject({ target: "email:queue", details: { emails: 1 } });
  });

  test("loses an email that is removed, with an event that does not name the recipient", async () => {
    const [id = ""] = await queueEmails(1);
    const token = await writer();
    const email = (await list(token)).messages[0]?.to ?? "";
    const remove = () => call("DELETE", `${MESSAGES}/${id}`, { token });
    expect([(await remove()).status, (await remove()).status]).toEqual([204, 404]);
    expect((await list(token)).messages).toEqual([]);
    const event = await ctx().db.auditEvent.findFirst({ where: { target: `email:${id}` } });
    expect(event).toMatchObject({ type: "email_removed", details: { kind: "password_reset" } });
    expect(JSON.stringify(event)).not.toContain(email);
  });

  test("is read by support, changed by admins and keys with the scope, and closed to others", async () => {
    const [id = ""] = await queueEmails(1);
    const statuses = async (token?: string) => [
      (await get(MESSAGES, { token })).status,
      (await post(RETRIES, { ids: [randomUUID()] }, { token })).status,
      (await call("DELETE", `${MESSAGES}/${randomUUID()}`, { token })).status,
    ];
    expect(await statuses((await accountWithRole("support")).token)).toEqual([200, 403, 403]);
    expect(await statuses((await newKey({ scopes: ["mail:read"] })).key)).toEqual([200, 403, 403]);
    expect(await statuses((await newKey({ scopes: ["push:send"] })).key)).toEqual([403, 403, 403]);
    expect(await statuses((await newAccount()).token)).toEqual([403, 403, 403]);
    expect(await statuses()).toEqual([401, 401, 401]);
    const admin = await accountWithRole("admin");
    expect(await statuses(admin.token)).toEqual([200, 200, 404]);
    clock.advance(11 * 60_000);
    expect(await statuses(admin.token)).toEqual([200, 403, 403]);
    expect((await ctx().db.queuedEmail.findMany()).map((row) => row.id)).toEqual([id]);
  });
});
