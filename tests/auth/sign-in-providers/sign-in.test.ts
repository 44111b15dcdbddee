import { describe, expect, test } from "vitest";
import { eventsOf } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { followCallback, Jar, postForm, session, signInWith } from "@/tests/support/auth/browser";
import { applePerson, gitHubPerson, googlePerson, newEmail, setUpProviders } from "@/tests/support/auth/providers";
import { BASE_URL, ctx } from "@/tests/support/context";

const { google, apple, github } = await setUpProviders();

describe.each([
  ["Google", () => google, googlePerson, true],
  ["Apple", () => apple, applePerson, false],
  ["GitHub", () => github, gitHubPerson, false],
] as const)("%s", (_, provider, personWith, isAuthoritative) => {
  test("the first sign-in creates an account without a password, and the second one signs in to it", async () => {
    const email = newEmail();
    provider().person = personWith(email.toUpperCase());
    const jar = new Jar();
    expect(await signInWith(provider(), jar, "/welcome")).toBe(`${BASE_URL}/welcome`);
    expect(await session(jar)).toMatchObject({ user: { email } });
    expect((await get("/api/push/devices", { cookie: jar.header })).status).toBe(200);

    const account = await ctx().db.account.findUniqueOrThrow({
      where: { email },
      include: { sessions: true, identities: true },
    });
    const emailVerifiedAt = isAuthoritative ? expect.any(Date) : null;
    expect(account).toMatchObject({ passwordHash: null, emailVerifiedAt });
    expect(account.sessions).toMatchObject([{ transport: "cookie", revokedAt: null }]);
    expect(account.identities).toMatchObject([{ provider: provider().id, subject: provider().person.sub }]);
    expect(await eventsOf(account.id)).toEqual(["registered", "identity_linked", "signed_in"]);

    const other = new Jar();
    await signInWith(provider(), other);
    expect(await session(other)).toMatchObject({ user: { id: account.id } });
    expect(await ctx().db.session.count({ where: { accountId: account.id, revokedAt: null } })).toBe(2);
  });

  // ASVS 10.1.1
  test("neither the browser nor the database gets a token of the provider", async () => {
    const email = newEmail();
    provider().person = personWith(email);
    const jar = new Jar();
    const seen: string[] = [];
    const take = jar.take.bind(jar);
    jar.take = (response) => {
      seen.push(JSON.stringify([...response.headers]));
      take(response);
    };
    await signInWith(provider(), jar);
    seen.push(JSON.stringify(await session(jar)), JSON.stringify(await ctx().db.identity.findMany()));
    seen.push(JSON.stringify(await ctx().db.account.findMany()), JSON.stringify(await ctx().db.session.findMany()));
    expect(seen.join("\n")).toContain(email);
    expect(provider().issued.length).toBeGreaterThan(0);
    for (const token of provider().issued) expect(seen.join("\n")).not.toContain(token);
  });
});

test("a sign-in that starts on the sign-in page ends on the page that was requested", async () => {
  const jar = new Jar();
  google.person = googlePerson(newEmail());
  const started = await postForm(jar, "/forms/provider", { provider: "google", callbackUrl: "/download?file=app" });
  const [, providerPage = ""] = started.headers.get("refresh")?.split("url=") ?? [];
  const callback = await google.approve(providerPage);
  expect((await followCallback(jar, callback)).headers.get("location")).toBe(`${BASE_URL}/download?file=app`);
});
