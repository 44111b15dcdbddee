import { describe, expect, test } from "vitest";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { Jar } from "@/tests/support/auth/browser";
import { BASE_URL, clock, ctx } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";

const DAY_MS = 24 * 60 * 60 * 1000;
const FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0";
const AT_HOME = "192.0.2.10";

type From = { ip?: string; jar?: Jar; deviceName?: string; locale?: string; headers?: Record<string, string> };

/** Signs in: with a jar as a browser, otherwise as an app. Returns the token of an app. */
async function signIn({ email, password }: TestAccount, { ip, jar, headers, ...body }: From = {}): Promise<string> {
  const own: Record<string, string> = jar ? { origin: BASE_URL, "sec-fetch-site": "same-origin" } : {};
  const options = { ip, cookie: jar?.header, headers: { ...own, "user-agent": FIREFOX, ...headers } };
  const response = await post("/api/auth/login", { email, password, ...body }, options);
  expect(response.status).toBe(200);
  jar?.take(response);
  return (await response.json()).token;
}

/** The emails about sign-ins in English, once every email that is due was sent. */
async function signInEmails({ email }: TestAccount): Promise<string[]> {
  await expect.poll(() => ctx().db.queuedEmail.count({ where: { email } })).toBe(0);
  return mailbox.signInsTo(email);
}

const verify = ({ id }: TestAccount) =>
  ctx().db.account.update({ where: { id }, data: { emailVerifiedAt: ctx().now() } });
const isSignedIn = async (token: string) => (await get("/api/push/devices", { token })).status === 200;
const linkTokenIn = (message = "") => /\/not-me#token=(\S+)/.exec(message)?.[1] ?? "";
const report = (token: string) =>
  call("POST", "/forms/not-me", {
    body: new URLSearchParams({ token }).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", origin: BASE_URL },
  });

describe("a sign-in from an unknown client", () => {
  // ASVS 6.3.5
  test("is reported once, with its time, browser and network", async () => {
    const account = await newAccount();
    await signIn(account, { ip: AT_HOME });
    await signIn(account, { ip: AT_HOME });
    const [message = "", ...others] = await signInEmails(account);
    expect(others).toEqual([]);
    expect(message).toContain("Device: Firefox, Windows");
    expect(message).toContain("Network: 192.0.2.0/24");
    expect(message).toMatch(/Time: \d+ \w+ \d{4} at \d\d:\d\d UTC/);
  });

  test("is a browser without the cookie of an earlier sign-in, also on a known network", async () => {
    const account = await newAccount();
    const jar = new Jar();
    await signIn(account, { ip: AT_HOME, jar });
    await signIn(account, { ip: "198.51.100.7", jar });
    expect(await signInEmails(account)).toHaveLength(1);
    await signIn(account, { ip: AT_HOME, jar: new Jar() });
    expect(await signInEmails(account)).toHaveLength(2);
  });

  test("is reported again after 180 days without a sign-in", async () => {
    const account = await newAccount();
    await signIn(account, { ip: AT_HOME });
    expect(await signInEmails(account)).toHaveLength(1); // before it expires
    clock.advance(181 * DAY_MS);
    await signIn(account, { ip: AT_HOME });
    expect(await signInEmails(account)).toHaveLength(2);
  });

  test("is reported with the name that the client chose only to an owner whose email is verified", async () => {
    const account = await newAccount();
    await signIn(account, { deviceName: "Win a prize at evil.example" });
    await verify(account);
    await signIn(account, { deviceName: "Ann's phone" });
    const [first, second] = await signInEmails(account);
    expect(first).not.toContain("evil.example");
    expect(second).toContain("Ann's phone");
  });

  test("is reported four times an hour at most from one network", async () => {
    const account = await newAccount();
    for (let i = 0; i < 8; i++) await signIn(account, { ip: AT_HOME, jar: new Jar() });
    expect(await signInEmails(account)).toHaveLength(4);
  });

  test("is reported in the account's language", async () => {
    const account = await newAccount();
    await signIn(account, { headers: { "accept-language": "fr, de-AT;q=0.8, en;q=0.5" } });
    await signIn(account, { headers: { "accept-language": "en" } });
    await expect.poll(() => mailbox.to(account.email).length).toBe(2);
    for (const message of mailbox.to(account.email)) expect(message).toContain("Content-Language: de");
    await signIn(account, { locale: "en-GB" });
    await signIn(account, { locale: "tlh" });
    expect(await signInEmails(account)).toHaveLength(1);
  });
});

test("the registration of an account is not reported as a sign-in", async () => {
  const account = await newAccount();
  expect(await signInEmails(account)).toEqual([]);
});

describe("the link of the email", () => {
  // ASVS 6.3.5
  test("signs out every device once, and sends a link to reset the password", async () => {
    const account = await newAccount();
    const thief = await signIn(account, { ip: AT_HOME });
    const [message] = await signInEmails(account);
    expect((await get("/forms/not-me")).status).toBe(405); // a mail scanner that follows the link changes nothing
    expect([await isSignedIn(thief), await isSignedIn(account.token)]).toEqual([true, true]);
    const response = await report(linkTokenIn(message));
    expect([response.status, response.headers.get("location")]).toEqual([303, "/not-me?done"]);
    expect(response.headers.getSetCookie()).toEqual([]);
    expect([await isSignedIn(thief), await isSignedIn(account.token)]).toEqual([false, false]);
    await expect.poll(() => mailbox.to(account.email).at(-1)).toContain("/reset#token=");
    const events = await ctx().db.auditEvent.findMany({ where: { accountId: account.id, type: "reported_not_me" } });
    expect(events).toHaveLength(1);
    expect((await report(linkTokenIn(message))).headers.get("location")).toContain("/not-me?formErrors=");
    await signIn(account, { ip: AT_HOME });
    expect(await signInEmails(account)).toHaveLength(2); // the client is no longer known
  });

  test("is valid for 30 days, for its own account alone", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    await signIn(account);
    const token = linkTokenIn((await signInEmails(account))[0]);
    const [, ...rest] = token.split(".");
    for (const forged of [
      [other.id, ...rest].join("."),
      token.slice(0, -2),
      `${token}A`,
      "x",
      token.replace(".0.", ".1."),
    ])
      expect((await report(forged)).headers.get("location")).toContain("formErrors");
    expect(await isSignedIn(other.token)).toBe(true);
    clock.advance(30 * DAY_MS - 60_000);
    await post("/api/auth/login", { email: account.email, password: account.password });
    clock.advance(2 * 60_000);
    expect((await report(token)).headers.get("location")).toContain("formErrors");
  });

  test("of two reports at the same time, one succeeds", async () => {
    const account = await newAccount();
    await signIn(account);
    const token = linkTokenIn((await signInEmails(account))[0]);
    const responses = await Promise.all([report(token), report(token), report(token)]);
    const locations = responses.map((response) => response.headers.get("location"));
    expect(locations.filter((location) => location === "/not-me?done")).toHaveLength(1);
  });
});
