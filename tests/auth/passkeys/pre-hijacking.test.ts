import { expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { Jar, session, signInWith } from "@/tests/support/auth/browser";
import { addPasskey, signInOptions } from "@/tests/support/auth/passkeys";
import { googlePerson, setUpProviders } from "@/tests/support/auth/providers";
import { mailbox } from "@/tests/support/mailbox";

const { google, withProviders } = await setUpProviders();

type Passkey = Awaited<ReturnType<typeof addPasskey>>["authenticator"];

const statusOf = async (authenticator: Passkey) =>
  (await post("/api/auth/passkeys/sign-in", { passkey: authenticator.get(await signInOptions()) })).status;

test("whoever registered somebody else's email keeps no passkey when its owner signs in with a provider", async () => {
  await withProviders(async () => {
    const squatter = await newAccount();
    const { authenticator } = await addPasskey(squatter);
    expect(await statusOf(authenticator)).toBe(200);
    google.person = googlePerson(squatter.email);
    const owner = new Jar();
    await signInWith(google, owner);
    expect(await session(owner)).toMatchObject({ user: { id: squatter.id } });
    expect(await statusOf(authenticator)).toBe(422);
  });
});

test("an unverified account loses its passkeys when its owner resets the password, and a verified one keeps them", async () => {
  const account = await newAccount();
  const { authenticator } = await addPasskey(account);
  /** Resets the password by the n-th emailed link, and signs in. */
  const reset = async (n: number) => {
    await post("/api/auth/reset/request", { email: account.email });
    const tokens = () => mailbox.to(account.email).flatMap((mail) => /\/reset#token=([\w-]+)/.exec(mail)?.[1] ?? []);
    await expect.poll(() => tokens().length).toBe(n);
    const password = `an entirely new password ${n}`;
    expect((await post("/api/auth/reset/confirm", { token: tokens().at(-1), password })).status).toBe(200);
    return (await post("/api/auth/login", { email: account.email, password })).json();
  };
  const signedIn = await reset(1);
  expect(await statusOf(authenticator)).toBe(422);
  const { authenticator: own } = await addPasskey(signedIn);
  await reset(2);
  expect(await statusOf(own)).toBe(200);
});
