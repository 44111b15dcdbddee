import { createHash, randomBytes } from "node:crypto";
import { z } from "zod";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import type { Config } from "../../platform/config";
import { isStorableText } from "../../platform/storable";

type Deps = Pick<Context, "config">;

/** Why a passkey was refused: the `reason` for programs, with its `detail` for people. */
const PASSKEY_REASONS = {
  malformed: "The passkey's response is malformed.",
  challenge_invalid: "The challenge is unknown, used or expired, or was issued for something else. Request a new one.",
  type_mismatch: "The response has the wrong type: a registration instead of an assertion, or vice versa.",
  origin_not_allowed: "The response was made for another origin.",
  rp_id_mismatch: "The response was made for another relying party ID.",
  user_not_verified: "The device did not verify the user, for example by a fingerprint or a PIN.",
  credential_unknown: "The passkey is not known to this account.",
  user_handle_mismatch: "The passkey was created for another account.",
  backup_eligibility_changed: "The passkey's backup eligibility has changed since it was added.",
  signature_invalid: "The signature does not match the passkey's public key.",
  counter_replayed: "The passkey's counter has not increased: the passkey may have been copied.",
} as const;

export type PasskeyReason = keyof typeof PASSKEY_REASONS;

/** The error for a refused passkey, with its `reason`. */
export function passkeyInvalid(reason: PasskeyReason, cause?: unknown): AppError {
  return new AppError("passkey_invalid", { detail: PASSKEY_REASONS[reason], fields: { reason }, cause });
}

/** What a challenge is for. A response to it is accepted for nothing else. */
export type PasskeyPurpose =
  | "registration"
  | "conditional-registration"
  | "invitation"
  | "sign-in"
  | "second-factor"
  | "step-up";

/** What a new passkey is for. */
export type RegistrationPurpose = Extract<PasskeyPurpose, "registration" | "conditional-registration" | "invitation">;

export const registrationPurpose = (isConditional: boolean) =>
  isConditional ? "conditional-registration" : "registration";

/** Whether the browser creates the passkey without a gesture (Web Authentication Level 3, section 5.1.3, "conditional"). */
export const isConditional = (purpose: RegistrationPurpose): boolean => purpose === "conditional-registration";

/** `accountId` is null for a sign-in, whose passkey names the account. */
type Binding = { purpose: PasskeyPurpose; accountId: string | null };

/** The lower end of the recommended range (Web Authentication Level 3, section 15.1). */
export const CHALLENGE_TTL_MS = 5 * 60 * 1000;

/** Issues a challenge of 256 random bits, in base64url. It works once, within five minutes. */
export async function issueChallenge({ db, now }: Pick<Context, "db" | "now">, binding: Binding): Promise<string> {
  const challenge = randomBytes(32).toString("base64url");
  const expiresAt = new Date(now().getTime() + CHALLENGE_TTL_MS);
  await db.passkeyChallenge.create({ data: { challenge, ...binding, expiresAt } });
  return challenge;
}

/** Uses up a challenge for this purpose: of concurrent calls, one succeeds. @throws AppError passkey_invalid */
export async function consumePasskeyChallenge(
  { db, now }: Pick<Context, "db" | "now">,
  challenge: string,
  binding: Binding,
) {
  const where = { challenge, ...binding, expiresAt: { gt: now() } };
  const { count } = await db.passkeyChallenge.deleteMany({ where });
  if (count === 0) throw passkeyInvalid("challenge_invalid");
}

type PasskeyConfig = Pick<
  Config,
  | "baseUrl"
  | "AUTH_TRUSTED_ORIGINS"
  | "AUTH_PASSKEY_RP_ID"
  | "PASSKEY_RELATED_ORIGINS"
  | "AUTH_PASSKEY_APPLE_APPS"
  | "AUTH_PASSKEY_ANDROID_APPS"
>;

/** The domain that passkeys belong to (Web Authentication Level 3, section 4, "RP ID"). */
export function relyingPartyId({ baseUrl, AUTH_PASSKEY_RP_ID }: PasskeyConfig): string {
  return AUTH_PASSKEY_RP_ID ?? new URL(baseUrl).hostname;
}

/**
 * The origins whose responses are accepted: the service's own, the trusted and the related ones, and those of the configured
 * apps. iOS sends the RP ID as an https origin; Android sends the hash of the app's signing certificate.
 */
export function passkeyOrigins(config: PasskeyConfig): string[] {
  return [
    config.baseUrl,
    ...config.AUTH_TRUSTED_ORIGINS,
    ...config.PASSKEY_RELATED_ORIGINS,
    ...(config.AUTH_PASSKEY_APPLE_APPS.length > 0 ? [`https://${relyingPartyId(config)}`] : []),
    ...config.AUTH_PASSKEY_ANDROID_APPS.map(({ fingerprint }) => androidOrigin(fingerprint)),
  ];
}

/** Android Developers, "Sign in your user with Credential Manager", "Verify the origin". */
function androidOrigin(fingerprint: string): string {
  return `android:apk-key-hash:${Buffer.from(fingerprint.replaceAll(":", ""), "hex").toString("base64url")}`;
}

/** The user handle of an account's passkeys (Web Authentication Level 3, section 5.4.3): the 16 bytes of its id. */
export function userHandleOf(accountId: string): string {
  return Buffer.from(accountId.replaceAll("-", ""), "hex").toString("base64url");
}

const ClientData = z.object({
  type: z.string(),
  challenge: z.string().refine(isStorableText),
  origin: z.string(),
  crossOrigin: z.boolean().optional(),
});

/** The authenticator data begins with the SHA-256 of the RP ID, the flags and the counter (section 6.1). */
const RP_ID_HASH_BYTES = 32;
const MIN_AUTHENTICATOR_DATA_BYTES = 37;
const USER_VERIFIED = 0x04;

/**
 * Reads what the client signed (Web Authentication Level 3, section 5.8.1), and returns its challenge.
 * @throws AppError passkey_invalid if it is malformed, of the other type, or from an origin that is not ours
 */
export function readChallenge({ config }: Deps, clientDataJson: string, type: "webauthn.create" | "webauthn.get") {
  const given = parseClientData(clientDataJson);
  if (given.type !== type) throw passkeyInvalid("type_mismatch");
  // None of our pages is in another site's frame.
  if (given.crossOrigin || !passkeyOrigins(config).includes(given.origin)) throw passkeyInvalid("origin_not_allowed");
  return given.challenge;
}

function parseClientData(encoded: string): z.infer<typeof ClientData> {
  try {
    return ClientData.parse(JSON.parse(Buffer.from(encoded, "base64url").toString()));
  } catch (error) {
    throw passkeyInvalid("malformed", error);
  }
}

/**
 * Checks what the authenticator signed, as far as the library has no error of its own for it.
 * @throws AppError passkey_invalid if it is malformed, for another RP ID, or without a user verification that is required
 */
export function checkAuthenticatorData(
  { config }: Deps,
  authData: Uint8Array,
  { requireUserVerification }: { requireUserVerification: boolean },
): void {
  if (authData.length < MIN_AUTHENTICATOR_DATA_BYTES) throw passkeyInvalid("malformed");
  const rpIdHash = createHash("sha256").update(relyingPartyId(config)).digest();
  if (rpIdHash.compare(authData.subarray(0, RP_ID_HASH_BYTES)) !== 0) throw passkeyInvalid("rp_id_mismatch");
  if (requireUserVerification && !isUserVerified(authData)) throw passkeyInvalid("user_not_verified");
}

/** Whether the authenticator verified the user, by biometrics, a PIN or a pattern. */
export function isUserVerified(authData: Uint8Array): boolean {
  return ((authData[RP_ID_HASH_BYTES] ?? 0) & USER_VERIFIED) !== 0;
}
