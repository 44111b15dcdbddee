import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { Context } from "@/lib/context";
import { eventsOf } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { exchange, newNonce, setUpIssuers } from "@/tests/support/auth/native-app";
import { clock, ctx, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";

const PATH = "/api/auth/apple/notifications";
const { apple, google } = await setUpIssuers();

/** Somebody who has signed in with Apple, at a private address. */
async function newPerson() {
  const [sub, email, nonce] = [randomUUID(), `${randomUUID()}@privaterelay.appleid.com`, newNonce()];
  const response = await exchange(apple.token(nonce, { sub, email, email_verified: true }), nonce);
  const { access_token: token } = (await response.json()) as { access_token: string };
  const { id } = await ctx().db.account.findUniqueOrThrow({ where: { email } });
  clock.advance(1_000);
  return { sub, email, token, id };
}
type Person = Awaited<ReturnType<typeof newPerson>>;

type Event = { type: string; event_time?: unknown; email?: unknown; sub?: unknown };

/** The body of a notification about a person. */
function about({ sub, email }: Pick<Person, "sub" | "email">, event: Event, claims: object = {}, signing = {}) {
  const events = JSON.stringify({ sub, email, is_private_email: "true", event_time: clock.now().getTime(), ...event });
  return { payload: apple.token("", { sub: undefined, nonce: undefined, events, ...claims }, signing) };
}

const notify = async (...of: Parameters<typeof about>) => (await post(PATH, about(...of))).status;
const isSignedIn = async ({ token }: Person) => (await get("/api/auth/account/export", { token })).status === 200;
const identitiesOf = ({ id }: Person) => ctx().db.identity.count({ where: { accountId: id } });
const problemOf = async ({ id }: Person) => {
  const { emailProblem } = await ctx().db.account.findUniqueOrThrow({ where: { id } });
  return emailProblem;
};

test.each(["consent-revoked", "account-delete", "account-deleted"])(
  "%s unlinks Apple and ends its sessions; an account without another way to sign in is kept, without an email",
  async (type) => {
    const person = await newPerson();
    expect([await isSignedIn(person), await notify(person, { type }), await notify(person, { type })]).toEqual([
      true,
      204,
      204,
    ]);
    expect([await isSignedIn(person), await identitiesOf(person)]).toEqual([false, 0]);
    expect((await eventsOf(person.id)).slice(-2)).toEqual(["identity_unlinked", "signed_out"]);
    const where = { email: person.email, kind: { startsWith: "identity_unlinked" } };
    expect([await ctx().db.queuedEmail.count({ where }), mailbox.to(person.email)]).toEqual([0, []]);
  },
);

test("what Apple has unlinked while it signs in to an app gives no session", async () => {
  const person = await newPerson();
  const nonce = newNonce();
  const token = apple.token(nonce, { sub: person.sub });
  const pending = [() => notify(person, { type: "consent-revoked" })];
  const findFirst = async <A, R>({ args, query }: { args: A; query: (args: A) => Promise<R> }) => {
    expect([undefined, 204]).toContain(await pending.pop()?.());
    return query(args);
  };
  const db = ctx().db.$extends({ query: { totpFactor: { findFirst } } }) as unknown as Context["db"];
  const refused = await withContext({ db }, () => exchange(token, nonce));
  expect([refused.status, pending, await identitiesOf(person)]).toEqual([400, [], 0]);
  expect(await ctx().db.session.count({ where: { accountId: person.id, revokedAt: null } })).toBe(0);
});

test("with a password, the owner is told, and a session of the password stays", async () => {
  const person = await newPerson();
  await ctx().db.account.update({ where: { id: person.id }, data: { passwordHash: "$2b$10$" } });
  const { id: fed } = await ctx().db.session.findFirstOrThrow({ where: { accountId: person.id } });
  const { id: _, ...session } = await ctx().db.session.findUniqueOrThrow({ where: { id: fed } });
  const own = await ctx().db.session.create({ data: { ...session, amr: ["pwd"] } });
  expect(await notify(person, { type: "consent-revoked" })).toBe(204);
  const live = await ctx().db.session.findMany({
    where: { accountId: person.id, revokedAt: null },
    select: { id: true },
  });
  expect(live).toEqual([{ id: own.id }]);
  expect(await mailbox.waitFor(person.email)).toContain("no longer signs you in");
});

test("an event from before the identity was linked changes nothing, and one about a stranger neither", async () => {
  const person = await newPerson();
  const before = clock.now().getTime() - 60_000;
  expect(await notify(person, { type: "consent-revoked", event_time: before })).toBe(204);
  expect(await notify(person, { type: "consent-revoked", event_time: Math.floor(before / 1_000) })).toBe(204);
  expect(await notify({ ...person, sub: randomUUID() }, { type: "account-delete" })).toBe(204);
  expect(await notify(person, { type: "new-in-2027" })).toBe(204);
  expect([await isSignedIn(person), await identitiesOf(person)]).toEqual([true, 1]);
});

test("the forwarding of emails is what the latest event says, in whatever order they arrive", async () => {
  const person = await newPerson();
  const at = clock.now().getTime();
  const send = async (type: string, afterMs: number, email = person.email) => {
    expect(await notify(person, { type, event_time: at + afterMs, email })).toBe(204);
    return problemOf(person);
  };
  expect(await send("email-disabled", 1_000, "other@privaterelay.appleid.com")).toBeNull();
  expect(await send("email-disabled", 2_000)).toBe("forwarding_off");
  expect(await send("email-enabled", 1_500)).toBe("forwarding_off");
  expect(await send("email-enabled", 3_000)).toBeNull();
  expect(await send("email-disabled", 2_000)).toBeNull();
});

test("what Apple has not signed for this service is refused, and malformed events are", async () => {
  const person = await newPerson();
  const event = { type: "consent-revoked" };
  const refused = [
    about(person, event, { aud: "com.example.other" }),
    about(person, event, { iss: google.origin }),
    about(person, event, {}, { header: { alg: "none" }, sign: () => Buffer.alloc(0) }),
    about(person, event, {}, { sign: () => Buffer.alloc(256) }),
    about(person, event, { exp: 1 }),
    { payload: "x" },
  ];
  for (const body of refused) {
    const response = await post(PATH, body);
    expect([response.status, (await response.json()).code]).toEqual([401, "webhook_unauthorized"]);
  }
  const malformed = [
    about(person, event, { events: "{" }),
    about(person, event, { events: undefined }),
    about(person, { ...event, event_time: "yesterday" }),
    about(person, { ...event, event_time: 1e300 }),
    about(person, { ...event, sub: 7 }),
    { payload: "x".repeat(8_193) },
    { payload: 7 },
    {},
  ];
  for (const body of malformed) expect((await post(PATH, body)).status).toBe(422);
  expect([await isSignedIn(person), await identitiesOf(person)]).toEqual([true, 1]);
  await withContext({ config: { AUTH_APPLE_NATIVE_IDS: [] } }, async () => {
    expect((await post(PATH, about(person, event))).status).toBe(503);
  });
});
