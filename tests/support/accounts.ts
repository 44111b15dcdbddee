import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { auditPseudonym } from "@/lib/platform/audit/retention";
import { type Options, post } from "./api";
import { ctx } from "./context";
import { mailbox } from "./mailbox";

export type TestAccount = { id: string; email: string; password: string; token: string; sessionId: string };

/** Registers a new account over the API. Returns it with its password and a bearer token. */
export async function newAccount({ email = `person-${randomUUID()}@example.com` } = {}): Promise<TestAccount> {
  const password = `correct horse ${randomUUID().slice(0, 8)}`;
  const response = await post("/api/auth/register", { email, password });
  if (response.status !== 201) throw new Error(`register returned ${response.status}: ${await response.text()}`);
  const { user, session, token } = (await response.json()) as {
    user: { id: string };
    session: { id: string };
    token: string;
  };
  return { id: user.id, email, password, token, sessionId: session.id };
}

/** An account with a given id, signed in with a bearer token. */
export async function accountWithId(id: string): Promise<{ id: string; token: string }> {
  const { id: registeredId, email, password } = await newAccount();
  await ctx().db.session.deleteMany({ where: { accountId: registeredId } });
  await ctx().db.auditEvent.deleteMany({ where: { accountId: registeredId } });
  await ctx().db.account.update({ where: { id: registeredId }, data: { id } });
  const { token } = (await (await post("/api/auth/login", { email, password })).json()) as { token: string };
  return { id, token };
}

/** Requests a password reset. Returns the token of the n-th link that the email got. */
export async function requestReset(email: string, n = 1, options: Options = {}): Promise<string> {
  await post("/api/auth/reset/request", { email }, options);
  const tokens = () => mailbox.to(email).flatMap((message) => /\/reset#token=([\w-]{43})/.exec(message)?.[1] ?? []);
  await expect.poll(() => tokens().length).toBeGreaterThanOrEqual(n);
  return tokens()[n - 1] ?? "";
}

/** The types of an account's events in the audit trail, oldest first, also after the account was deleted. */
export async function eventsOf(accountId: string): Promise<string[]> {
  const where = { accountId: { in: [accountId, auditPseudonym(ctx().config, accountId)] } };
  const events = await ctx().db.auditEvent.findMany({ where, orderBy: { id: "asc" } });
  return events.map(({ type }) => type);
}
