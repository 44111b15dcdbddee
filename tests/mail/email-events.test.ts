import { createHmac, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { expect, test } from "vitest";
import { issue, pemOf } from "@/dev/app-attest/certificates";
import { eventsOf, newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { signInToBrowser } from "@/tests/support/auth/oauth-client";
import { emailedToken } from "@/tests/support/auth/verification";
import { clock, ctx, setUpContext, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";
import { deliveriesOf } from "@/tests/support/push/deliveries";
import { accountWithDevices } from "@/tests/support/push/push";
import { submit } from "@/tests/support/web/forms";

const PATH = "/api/email/events";
const PASSWORD = "a-password-for-webhooks";
const SIGNING_SECRET = `whsec_${Buffer.from("the signing secret of Resend").toString("base64")}`;
const fetched: string[] = [];
const amazon = issue({ name: "sns.amazonaws.com", keys: generateKeyPairSync("rsa", { modulusLength: 2048 }) });
setUpContext({
  config: { EMAIL_EVENTS_SECRET: [PASSWORD, SIGNING_SECRET] },
  fetchText: async (url) => {
    fetched.push(url);
    if (url.includes("down")) throw new Error("no response");
    return url.endsWith(".pem") ? pemOf(amazon) : "<ConfirmSubscriptionResponse/>";
  },
});

const basic = (password = PASSWORD, user = "homeport") =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
const at = (afterMs = 0) => new Date(clock.now().getTime() + afterMs).toISOString();
const problemOf = async ({ id }: Pick<TestAccount, "id">) =>
  (await ctx().db.account.findUniqueOrThrow({ where: { id } })).emailProblem;

const postmark = (event: object, headers: Record<string, string> = { authorization: basic() }) =>
  post(PATH, event, { headers });
const bounce = ({ email }: { email: string }, change = {}) => ({
  RecordType: "Bounce",
  ID: 42,
  Type: "HardBounce",
  TypeCode: 1,
  Email: email,
  BouncedAt: at(),
  Inactive: true,
  Metadata: {},
  ...change,
});

async function resend(event: object, key = SIGNING_SECRET, sentAt = clock.now()) {
  const [id, timestamp, body] = [
    `msg_${randomUUID()}`,
    String(Math.floor(sentAt.getTime() / 1000)),
    JSON.stringify(event),
  ];
  const hmac = createHmac("sha256", Buffer.from(key.slice(6), "base64")).update(`${id}.${timestamp}.${body}`);
  const signature = `v1,AAAA v1,${hmac.digest("base64")}`;
  const headers = { "svix-id": id, "svix-timestamp": timestamp, "svix-signature": signature };
  return call("POST", PATH, { body, headers });
}

type Sns = Record<string, string>;
const newCertificateUrl = () => `https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-${randomUUID()}.pem`;
const snsMessage = (message: string | object, change: Sns = {}): Sns => ({
  Type: "Notification",
  MessageId: randomUUID(),
  TopicArn: "arn:aws:sns:eu-central-1:123456789012:ses",
  Message: typeof message === "string" ? message : JSON.stringify(message),
  Timestamp: at(),
  SignatureVersion: "2",
  SigningCertURL: newCertificateUrl(),
  ...change,
});

/** Sends a message as Amazon SNS does, as text. `forge` changes what was signed. */
function sns(message: Sns, forge: Sns = {}, authorization = basic()) {
  const signed = ["Message", "MessageId", "Subject", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]
    .filter((name) => message[name] !== undefined)
    .map((name) => `${name}\n${message[name]}\n`)
    .join("");
  const hash = message.SignatureVersion === "1" ? "sha1" : "sha256";
  const Signature = sign(hash, Buffer.from(signed), amazon.privateKey).toString("base64");
  return call("POST", PATH, {
    body: JSON.stringify({ ...message, Signature, ...forge }),
    headers: {
      "content-type": "text/plain; charset=UTF-8",
      "x-amz-sns-message-type": message.Type ?? "",
      authorization,
    },
  });
}
const sesBounce = ({ email }: { email: string }, change = {}) => ({
  notificationType: "Bounce",
  bounce: {
    bounceType: "Permanent",
    bounceSubType: "General",
    bouncedRecipients: [{ emailAddress: email, status: "5.1.1" }],
    timestamp: at(),
    ...change,
  },
  mail: { destination: [email] },
});

const codeOf = async (response: Response) => [response.status, (await response.json()).code];

test("each provider's hard bounces and complaints mark the account, and what passes does not", async () => {
  const cases: [string | null, (person: TestAccount) => Promise<Response>][] = [
    ["bounced", (ann) => postmark(bounce(ann))],
    ["bounced", (ann) => postmark(bounce(ann, { Type: "BadEmailAddress", Email: ann.email.toUpperCase() }))],
    ["complained", (ann) => postmark(bounce(ann, { RecordType: "SpamComplaint", Type: "SpamComplaint" }))],
    [null, (ann) => postmark(bounce(ann, { Type: "SoftBounce" }))],
    [null, (ann) => postmark({ RecordType: "Open", Recipient: ann.email })],
    ["bounced", (ann) => sns(snsMessage(sesBounce(ann)))],
    ["bounced", (ann) => sns(snsMessage(sesBounce(ann), { SignatureVersion: "1", Subject: "Amazon SES" }))],
    [null, (ann) => sns(snsMessage(sesBounce(ann, { bounceType: "Transient" })))],
    [
      "complained",
      ({ email: emailAddress }) =>
        sns(
          snsMessage({
            eventType: "Complaint",
            complaint: { complainedRecipients: [{ emailAddress }], timestamp: at() },
          }),
        ),
    ],
    [null, () => sns(snsMessage("Successfully validated SNS topic for Amazon SES event publishing."))],
    ["bounced", ({ email }) => resend({ type: "email.bounced", created_at: at(), data: { to: [email] } })],
    [
      null,
      ({ email }) =>
        resend({ type: "email.bounced", created_at: at(), data: { to: [email], bounce: { type: "Transient" } } }),
    ],
    ["complained", ({ email }) => resend({ type: "email.complained", created_at: at(), data: { to: [email] } })],
    [null, ({ email }) => resend({ type: "email.opened", created_at: at(), data: { to: email } })],
  ];
  for (const [i, [expected, send]] of cases.entries()) {
    const ann = await newAccount();
    const response = await send(ann);
    expect([i, response.status, await response.json()]).toEqual([i, 200, { status: "accepted" }]);
    expect([i, await problemOf(ann)]).toEqual([i, expected]);
  }
});

test("the latest report counts, twice and in any order, and a mail server does not undo what the owner said", async () => {
  const ann = await newAccount();
  const send = async (report: object) => {
    expect((await postmark(report)).status).toBe(200);
    return problemOf(ann);
  };
  const delivery = (ms: number) => ({ RecordType: "Delivery", Recipient: ann.email, DeliveredAt: at(ms) });
  const change = (ms: number, SuppressSending: boolean, SuppressionReason: string | null = null) => ({
    RecordType: "SubscriptionChange",
    Recipient: ann.email,
    ChangedAt: at(ms),
    SuppressSending,
    SuppressionReason,
  });
  clock.advance(60_000);
  const first = bounce(ann, { BouncedAt: at(-50_000) });
  expect(await send(first)).toBe("bounced");
  expect(await send(first)).toBe("bounced");
  expect(await send(delivery(-40_000))).toBeNull();
  expect(await send(bounce(ann, { BouncedAt: at(-45_000) }))).toBeNull();
  expect(await send(change(-30_000, true, "SpamComplaint"))).toBe("complained");
  expect(await send(delivery(-20_000))).toBe("complained");
  expect(await send(bounce(ann, { BouncedAt: at(-20_000) }))).toBe("complained");
  expect(await send(change(-10_000, false))).toBeNull();
  expect(await send(change(-9_000, true, "ManualSuppression"))).toBeNull();
  expect(await send(bounce(ann, { BouncedAt: "in 2027" }))).toBe("bounced");
  expect((await eventsOf(ann.id)).filter((type) => type.startsWith("email_"))).toEqual([
    "email_bounced",
    "email_reachable",
    "email_complained",
    "email_reachable",
    "email_bounced",
  ]);
  const future = await newAccount();
  await postmark(bounce(future, { BouncedAt: "9999-01-01T00:00:00Z" }));
  clock.advance(1_000);
  await postmark({ RecordType: "Delivery", Recipient: future.email, DeliveredAt: at() });
  expect(await problemOf(future)).toBeNull();
});

test("reports about nobody, and about an email that the account no longer has, change nothing", async () => {
  const ann = await newAccount();
  const former = ann.email;
  await ctx().db.account.update({ where: { id: ann.id }, data: { email: `new-${former}` } });
  for (const Email of [former, "nobody@example.com", "Ann <ann@", "\u0000", "x".repeat(5_000), 7, null]) {
    expect((await postmark(bounce({ email: "" }, { Email }))).status).toBe(200);
  }
  expect(await problemOf(ann)).toBeNull();
  expect((await postmark(bounce({ email: "nobody@example.com" }, { Type: "constructor" }))).status).toBe(200);
});

test("without the secret nothing is read, and Amazon SNS is asked for it", async () => {
  const ann = await newAccount();
  for (const authorization of ["", "Basic", basic("wrong"), basic(""), `Bearer ${PASSWORD}`, "Basic %%%"]) {
    const response = await postmark(bounce(ann), { authorization });
    expect(response.headers.get("www-authenticate")).toBe('Basic realm="homeport"');
    expect(await codeOf(response)).toEqual([401, "webhook_unauthorized"]);
  }
  expect((await sns(snsMessage(sesBounce(ann)), {}, "")).status).toBe(401);
  const event = { type: "email.bounced", created_at: at(), data: { to: [ann.email] } };
  expect((await resend(event, `whsec_${Buffer.from("another").toString("base64")}`)).status).toBe(401);
  expect((await resend(event, SIGNING_SECRET, new Date(clock.now().getTime() - 301_000))).status).toBe(401);
  await withContext({ config: { EMAIL_EVENTS_SECRET: ["!!!!!!!!!!!!!!!!!!!!"] } }, async () => {
    expect((await resend(event, "whsec_")).status).toBe(401); // which is no empty key
  });
  await withContext({ config: { EMAIL_EVENTS_SECRET: [] } }, async () => {
    expect(await codeOf(await postmark(bounce(ann)))).toEqual([503, "webhook_not_configured"]);
  });
  expect(await problemOf(ann)).toBeNull();
});

test("Amazon's signature is verified by a certificate from Amazon's hosts alone", async () => {
  const ann = await newAccount();
  const message = () => snsMessage(sesBounce(ann));
  const other = { Message: JSON.stringify(sesBounce(await newAccount())) };
  const forged: Sns[] = [
    other,
    { TopicArn: "arn:aws:sns:eu-central-1:1:other" },
    { Signature: "AAAA" },
    { Subject: "x" },
  ];
  for (const forge of forged) expect(await codeOf(await sns(message(), forge))).toEqual([401, "webhook_unauthorized"]);
  fetched.length = 0;
  for (const SigningCertURL of [
    "https://sns.eu-central-1.amazonaws.com.example.com/x.pem",
    "https://example.com/sns.eu-central-1.amazonaws.com/x.pem",
    "https://sns.eu-central-1.amazonaws.com@example.com/x.pem",
    "https://sns.eu-central-1.amazonaws.com:8443/x.pem",
    "http://sns.eu-central-1.amazonaws.com/x.pem",
    "https://s3.eu-central-1.amazonaws.com/bucket/x.pem",
    "file:///etc/x.pem",
    "x.pem",
  ])
    expect((await sns({ ...message(), SigningCertURL })).status).toBe(401);
  expect(fetched).toEqual([]);
  expect((await sns({ ...message(), SigningCertURL: newCertificateUrl().replace("Simple", "down") })).status).toBe(503);
  expect(await codeOf(await sns(message(), { SignatureVersion: "3" }))).toEqual([422, "validation_failed"]);
  const raw = await post(PATH, sesBounce(ann), {
    headers: { authorization: basic(), "x-amz-sns-message-type": "Notification" },
  });
  expect(await codeOf(raw)).toEqual([422, "validation_failed"]);
  expect(await problemOf(ann)).toBeNull();
  const again = message();
  fetched.length = 0;
  for (const one of [again, { ...again, MessageId: randomUUID() }]) expect((await sns(one)).status).toBe(200);
  expect(fetched).toEqual([again.SigningCertURL]);
});

test("a subscription of the topic is confirmed at Amazon's hosts alone", async () => {
  const confirmation = (SubscribeURL: string) =>
    snsMessage("You have chosen to subscribe", { Type: "SubscriptionConfirmation", Token: "2336", SubscribeURL });
  const url = "https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription&Token=2336";
  fetched.length = 0;
  expect((await sns(confirmation(url))).status).toBe(200);
  expect(fetched.at(-1)).toBe(url);
  expect((await sns(confirmation("https://example.com/?Action=ConfirmSubscription"))).status).toBe(401);
  expect((await sns(confirmation(`${url}&down`))).status).toBe(503);
  expect((await sns({ ...confirmation(url), Type: "UnsubscribeConfirmation" })).status).toBe(200);
  expect(fetched.filter((one) => !one.endsWith(".pem"))).toEqual([url, `${url}&down`]);
});

test("bodies that are no event are refused", async () => {
  const headers = { authorization: basic() };
  expect(await codeOf(await call("POST", PATH, { body: "{", headers }))).toEqual([400, "malformed_json"]);
  for (const json of [7, [], null, "text"]) {
    expect(await codeOf(await post(PATH, json, { headers }))).toEqual([422, "validation_failed"]);
  }
  expect(await codeOf(await resend([]))).toEqual([422, "validation_failed"]);
  expect((await sns(snsMessage('"text"'))).status).toBe(422);
  expect((await call("POST", PATH, { body: "x".repeat(256 * 1024 + 1), headers })).status).toBe(413);
});

test("a notice that would bounce goes to the devices instead, once; what its owner asks for is sent", async () => {
  const [ann, device] = await accountWithDevices(1);
  const id = device?.id ?? "";
  await ctx().db.account.update({ where: { id: ann.id }, data: { locale: "de" } });
  await postmark(bounce(ann));
  const notices = async () =>
    (await deliveriesOf({ deviceId: id }))
      .filter(({ kind }) => kind === "security.notice")
      .map(({ payload }) => payload);
  for (const enqueue of [
    () => ctx().emails.enqueue(ctx().db, "factor_added", ann.email, { factor: "passkey" }),
    () => ctx().emails.enqueue(ctx().db, "new_sign_in", ann.email, { client: null, network: null, at: at() }),
  ]) {
    await enqueue();
    ctx().emails.wake();
    await expect.poll(() => ctx().db.queuedEmail.count({ where: { email: ann.email } })).toBe(0);
  }
  const [title, body] = [
    "Neue Anmeldemethode hinzugefügt",
    "Wenn Sie das nicht waren, melden Sie auf Ihrer Kontoseite alle Geräte ab.",
  ];
  expect(await notices()).toMatchObject([
    { aps: { alert: { title, body }, "interruption-level": "time-sensitive" }, data: { link: "security" } },
  ]);
  expect([mailbox.to(ann.email), mailbox.signInsTo(ann.email)]).toEqual([[], []]);
  await post("/api/auth/reset/request", { email: ann.email });
  expect(await mailbox.waitFor(ann.email)).toContain("/reset#token=");
});

test("the owner is told at sign-in, and a link that arrives ends the problem", async () => {
  const ann = await newAccount();
  await ctx().db.account.update({ where: { id: ann.id }, data: { emailVerifiedAt: new Date("2026-01-01") } });
  await postmark(bounce(ann, { RecordType: "SpamComplaint", Type: "SpamComplaint" }));
  const { email, password } = ann;
  const signedIn = await (await post("/api/auth/login", { email, password })).json();
  expect(signedIn.user).toMatchObject({ emailVerified: true, emailProblem: "complained" });
  clock.advance(1_000);
  const cookie = await signInToBrowser(ann);
  await submit("account/verification", {}, { cookie });
  expect(await mailbox.waitFor(email)).toContain("did not reach you lately");
  expect(
    (await submit("account/verify", { token: await emailedToken(email) }, { cookie })).headers.get("location"),
  ).toBe("/account?done=email_verified");
  expect(await problemOf(ann)).toBeNull();
  const { emailVerifiedAt } = await ctx().db.account.findUniqueOrThrow({ where: { id: ann.id } });
  expect(emailVerifiedAt).toEqual(new Date("2026-01-01"));
  expect((await get("/api/subscription/status", { token: ann.token })).status).toBe(200);
});
