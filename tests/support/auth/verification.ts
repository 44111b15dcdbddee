import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { call, post } from "@/tests/support/api";
import { Jar } from "@/tests/support/auth/browser";
import { BASE_URL, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";

export const PASSWORD = "a good long password";
export const CALLBACK = "/api/auth/callback/email";

/** Runs `run` where emails have to be verified. */
export const withVerification = <T>(run: () => Promise<T>): Promise<T> =>
  withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, run);

export const newEmail = () => `person-${randomUUID()}@example.com`;
export const register = (email: string, password = PASSWORD) => post("/api/auth/register", { email, password });

/** The token in the n-th email to a person. */
export async function emailedToken(email: string, n = 1): Promise<string> {
  const message = await mailbox.waitFor(email, n);
  const [, token = ""] = /\/verify#token=([A-Za-z0-9_-]{43})\s/.exec(message) ?? [];
  expect(message).toContain(`${BASE_URL}/verify#token=${token}`);
  return token;
}

/** Everything that a caller can see of a response. */
export async function visibleParts(response: Response) {
  const headers = [...response.headers].filter(([name]) => name !== "date");
  return { status: response.status, headers, body: await response.json() };
}

type Confirmation = { password?: string | null; jar?: Jar; origin?: string };

/** Submits the form of the page that an emailed link opens. */
export async function confirm(
  token: string,
  { password = PASSWORD, jar = new Jar(), origin = BASE_URL }: Confirmation = {},
): Promise<Response> {
  const response = await call("POST", CALLBACK, {
    cookie: jar.header,
    body: new URLSearchParams(password === null ? { token } : { token, password }).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", origin },
  });
  jar.take(response);
  return response;
}

/** Creates an account and verifies its email. Returns the email. */
export async function newVerifiedAccount(): Promise<string> {
  const email = newEmail();
  await register(email);
  await confirm(await emailedToken(email));
  return email;
}
