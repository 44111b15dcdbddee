import { newAccount, type TestAccount } from "./accounts";
import { get, type Options, post } from "./api";
import { ctx } from "./context";
import { mailbox } from "./mailbox";

/** An account whose email is verified. */
export async function newVerified(): Promise<TestAccount> {
  const account = await newAccount();
  await ctx().db.account.update({ where: { id: account.id }, data: { emailVerifiedAt: ctx().now() } });
  return account;
}

/** Requests a change of an account's email. */
export function requestChange(account: { token: string; password?: string }, email: string): Promise<Response> {
  const { token, password } = account;
  return post("/api/auth/email/change", { email, password }, { token });
}

export const confirmChange = (token: string, options: Options) =>
  post("/api/auth/email/change/confirm", { token }, options);

export const undoChange = (token: string) => post("/api/auth/email/change/undo", { token });

/** The different tokens of the links that an email got so far: those that confirm a change, or those that undo one. */
export function tokensTo(email: string, page: "email-change" | "email-change/undo"): string[] {
  const link = new RegExp(`/${page}#token=([\\w-]{43})\\b`, "g");
  const found = mailbox.to(email).flatMap((message) => [...message.matchAll(link)].map(([, token = ""]) => token));
  return [...new Set(found)];
}

/** Waits for the n-th token. */
export async function tokenTo(email: string, page: "email-change" | "email-change/undo", n = 1): Promise<string> {
  for (let mail = 1; ; mail++) {
    const token = tokensTo(email, page)[n - 1];
    if (token !== undefined) return token;
    await mailbox.waitFor(email, mail);
  }
}

/** Changes a verified account's email, and returns the token that undoes the change. */
export async function changeTo(account: TestAccount, email: string): Promise<string> {
  const { status } = await requestChange(account, email);
  if (status !== 202) throw new Error(`The request of the change returned ${status}`);
  const confirmed = await confirmChange(await tokenTo(email, "email-change"), { token: account.token });
  if (confirmed.status !== 200) throw new Error(`The confirmation returned ${confirmed.status}`);
  return tokenTo(account.email, "email-change/undo");
}

/** The email of the account that a token signs in to; undefined if the session has ended. */
export async function emailOf(token: string): Promise<string | undefined> {
  const { user } = (await (await get("/api/auth/session", { token })).json()) as { user?: { email: string } };
  return user?.email;
}
