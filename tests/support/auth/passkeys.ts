import type { Passkey, PasskeyCreationOptions, PasskeyRequestOptions } from "@/lib/auth/passkeys/schema";
import { post } from "@/tests/support/api";
import { PasskeyAuthenticator } from "./passkey-authenticator";

type Signed = { token: string };

/** The body of a response that has to be a success. */
async function bodyOf<T>(response: Response): Promise<T> {
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

/** The options of a new passkey of a signed-in account. */
export const creationOptions = async ({ token }: Signed, json: { conditional?: boolean } = {}) =>
  bodyOf<PasskeyCreationOptions>(await post("/api/auth/passkeys/options", json, { token }));

/** The options of a sign-in with a passkey. */
export const signInOptions = async () =>
  bodyOf<PasskeyRequestOptions>(await post("/api/auth/passkeys/sign-in/options"));

/** The options of a step-up by a passkey. */
export const stepUpOptions = async ({ token }: Signed) =>
  bodyOf<PasskeyRequestOptions>(await post("/api/auth/passkeys/step-up/options", undefined, { token }));

/** Adds a passkey to a signed-in account. */
export async function addPasskey(
  account: Signed,
  authenticator = new PasskeyAuthenticator(),
  name?: string,
): Promise<{ authenticator: PasskeyAuthenticator; passkey: Passkey }> {
  const created = authenticator.create(await creationOptions(account));
  const response = await post("/api/auth/passkeys", { passkey: created, name }, { token: account.token });
  return { authenticator, passkey: await bodyOf<Passkey>(response) };
}
