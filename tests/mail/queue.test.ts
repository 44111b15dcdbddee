import { createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "@/dev/free-port";
import { accountEmails, EMAIL_TTL_SECONDS } from "@/lib/accounts/emails/account-emails";
import type { Mailer } from "@/lib/platform/adapters/mailers";
import { createSmtpMailer } from "@/lib/platform/adapters/mailers";
import { Prisma } from "@/lib/platform/db/generated/client";
import { createEmailQueue } from "@/lib/platform/mail/queue";
import { newAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { clock, ctx, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";
import { listenForTest } from "@/tests/support/network/listen";

const STEP_MS = 300;
const MINUTE_MS = 60_000;

const rows = (email: string) => ctx().db.queuedEmail.findMany({ where: { email } });
const request = (email: string) => post("/api/auth/reset/request", { email });

/** A mail server that says a line at each step of the conversation; null: it never does, "drop": it hangs up. */
async function mailServer(...lines: (string | null)[]): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    const say = [...lines];
    const next = () => {
      const line = say.shift();
      if (line === "drop") socket.destroy();
      else if (line) socket.write(`${line}\r\n`);
    };
    socket.on("data", next);
    next();
  });
  return `smtp://${await listenForTest(server)}`;
}

/**
 * A queue over another mail server; closed with the test. Its clock may be ahead: then the service's own queue, which may
 * still be busy with emails of the test before, does not claim its emails.
 */
function queueOver(mailer: Mailer, aheadMs = 0) {
  const dbNow = () => Prisma.sql`(${ctx().dbNow()} + interval '1 millisecond' * ${aheadMs}::float8)`;
  const emails = createEmailQueue({ ...ctx(), mailer, dbNow }, EMAIL_TTL_SECONDS, accountEmails(ctx()));
  onTestFinished(async () => {
    await mailer.close();
    await emails.close();
  });
  return emails;
}

const smtp = (url: string) => createSmtpMailer(url, ctx().config.MAIL_FROM, STEP_MS);

describe.each<[string, () => Promise<string>]>([
  ["refuses connections", async () => `smtp://127.0.0.1:${await freePort()}`],
  ["sends no greeting", () => mailServer(null)],
  ["hangs up in the middle", () => mailServer("220 here", "250 hello", "250 sender", "drop")],
  ["rejects the sender", () => mailServer("220 here", "250 hello", "530 authentication required")],
  ["defers the recipient", () => mailServer("220 here", "250 hello", "250 sender", "451 later")],
])("while the mail server %s", (_, start) => {
  // ASVS 6.3.7
  test("the response is 202, and the email arrives once the server is back", async () => {
    const { email } = await newAccount();
    const emails = queueOver(smtp(await start()), MINUTE_MS);
    await withContext({ emails }, async () => expect((await request(email)).status).toBe(202));
    await expect.poll(async () => (await rows(email))[0]).toMatchObject({ attempts: 1 });
    await emails.close(); // that attempt has ended, and put the next one off
    const [row] = await rows(email);
    expect(row?.nextAttemptAt.getTime()).toBeLessThanOrEqual(clock.now().getTime() + MINUTE_MS + 5_000);
    expect(mailbox.to(email)).toEqual([]);
    clock.advance(MINUTE_MS + 6_000);
    ctx().emails.wake();
    expect(await mailbox.waitFor(email)).toContain("#token=");
    await expect.poll(() => rows(email)).toEqual([]);
  });
});

describe("queued email", () => {
  const failing: Mailer = {
    mode: "smtp",
    send: () => Promise.reject(Object.assign(new Error("down"), { code: "ECONNECTION" })),
    close: async () => {},
  };

  /** Sends nothing, and says so only when it is closed. */
  function hangingMailer(): { mailer: Mailer; open: (() => void)[] } {
    const open: (() => void)[] = [];
    const send = () => new Promise<void>((resolve) => open.push(resolve));
    const close = async () => {
      for (const release of open) release();
    };
    return { mailer: { ...failing, send, close }, open };
  }

  test("is retried after 5 and 15 seconds, 1, 5 and 10 minutes, and discarded when it has expired", async () => {
    const { email } = await newAccount();
    let at = new Date();
    const dbNow = () => Prisma.sql`${at}::timestamptz`;
    const emails = createEmailQueue({ ...ctx(), mailer: failing, dbNow }, EMAIL_TTL_SECONDS, accountEmails(ctx()));
    onTestFinished(emails.close);
    await emails.enqueue(ctx().db, "password_reset", email);
    const leased = 120;
    const waits: number[] = [];
    for (let attempts = 1; attempts <= 6; attempts++) {
      emails.wake();
      const seconds = async () => {
        const [row] = await rows(email);
        return row?.attempts === attempts ? (row.nextAttemptAt.getTime() - at.getTime()) / 1000 : leased;
      };
      await expect.poll(seconds).not.toBe(leased);
      waits.push(await seconds());
      at = new Date(at.getTime() + (waits.at(-1) ?? 0) * 1000);
    }
    expect(waits).toEqual([5, 15, 60, 300, 600, 600]);
    at = new Date(at.getTime() + 10 * MINUTE_MS); // past the half hour that its link would live
    emails.wake();
    await expect.poll(() => rows(email)).toEqual([]);
  });

  test("to a recipient that the server rejects permanently is discarded at once", async () => {
    const { email } = await newAccount();
    const emails = queueOver(smtp(await mailServer("220 here", "250 hello", "250 sender", "550 nobody here")));
    await emails.enqueue(ctx().db, "password_changed", email);
    emails.wake();
    await expect.poll(() => rows(email)).toEqual([]);
    expect(mailbox.to(email)).toEqual([]);
  });

  test("of a process that was killed while sending is sent by another", async () => {
    const { email } = await newAccount();
    const { mailer } = hangingMailer();
    const hung = queueOver(mailer);
    await hung.enqueue(ctx().db, "password_changed", email);
    hung.wake();
    await expect.poll(async () => (await rows(email))[0]?.attempts).toBe(1);
    ctx().emails.wake();
    clock.advance(2 * MINUTE_MS + 1_000);
    ctx().emails.wake();
    expect(await mailbox.waitFor(email)).toContain("was changed");
    expect(mailbox.to(email)).toHaveLength(1);
  });

  test.each([60 * MINUTE_MS, -60 * MINUTE_MS])(
    "is not claimed twice by a process whose clock is %d ms wrong",
    async (ms) => {
      const { email } = await newAccount();
      const { mailer, open } = hangingMailer();
      const first = queueOver(mailer);
      await first.enqueue(ctx().db, "password_changed", email);
      first.wake();
      await expect.poll(() => open.length).toBe(1);
      const sent: string[] = [];
      const counting: Mailer = { ...failing, send: async ({ to }) => void sent.push(to) };
      const deps = { ...ctx(), mailer: counting, now: () => new Date(clock.now().getTime() + ms) };
      const wrong = createEmailQueue(deps, EMAIL_TTL_SECONDS, accountEmails(ctx()));
      wrong.wake();
      await wrong.close();
      expect(sent).toEqual([]);
    },
  );

  test("is not sent twice by two processes", async () => {
    const { email } = await newAccount();
    const sent: string[] = [];
    const counting = (): Mailer => ({ ...failing, send: async ({ to }) => void sent.push(to) });
    const queues = Array.from({ length: 4 }, () => queueOver(counting()));
    await queues[0]?.enqueue(ctx().db, "password_changed", email);
    for (const { wake } of queues) wake();
    await expect.poll(() => rows(email)).toEqual([]);
    expect(sent.filter((to) => to === email)).toHaveLength(1);
  });

  test("of one kind is queued once for a recipient, however often it is requested", async () => {
    const { email } = await newAccount();
    const emails = queueOver(failing);
    await withContext({ emails }, async () => {
      for (let i = 0; i < 3; i++) expect((await request(email)).status).toBe(202);
    });
    expect(await rows(email)).toHaveLength(1);
    await emails.close();
    clock.advance(6_000);
    ctx().emails.wake();
    await mailbox.waitFor(email);
    await expect.poll(() => rows(email)).toEqual([]);
    expect(mailbox.to(email)).toHaveLength(1);
  });

  test("that is requested again while it is being sent is sent again", async () => {
    const { email } = await newAccount();
    const releases: (() => void)[] = [];
    const slow = queueOver({ ...failing, send: () => new Promise((resolve) => releases.push(resolve)) });
    await slow.enqueue(ctx().db, "password_changed", email);
    slow.wake();
    await expect.poll(() => releases.length).toBe(1);
    await slow.enqueue(ctx().db, "password_changed", email);
    releases[0]?.();
    await expect.poll(() => releases.length).toBe(2);
    releases[1]?.();
    await expect.poll(() => rows(email)).toEqual([]);
  });

  test("of a transaction that is rolled back is not sent", async () => {
    const { email } = await newAccount();
    const failed = ctx().db.$transaction(async (tx) => {
      await ctx().emails.enqueue(tx, "password_changed", email);
      throw new Error("rolled back");
    });
    await expect(failed).rejects.toThrow("rolled back");
    expect(await rows(email)).toEqual([]);
  });

  // ASVS 13.2.6, 16.5.2, 16.5.3
  test("a mail server that hangs blocks at most four connections and no request", async () => {
    const { mailer, open } = hangingMailer();
    const hung = queueOver(mailer);
    const accounts = await Promise.all(Array.from({ length: 12 }, newAccount));
    await withContext({ emails: hung }, async () => {
      for (const { email } of accounts) expect((await request(email)).status).toBe(202);
    });
    await expect.poll(() => open.length).toBe(4);
    await ctx().db.queuedEmail.deleteMany();
  });
});
