import { z } from "zod";

/** A credential's id has at most 1,023 bytes (Web Authentication Level 3, section 7.1). */
const MAX_CREDENTIAL_ID_LENGTH = 1364;

const base64Url = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .regex(/^[\w-]+$/, "Must be base64url without padding");
const CredentialId = base64Url(MAX_CREDENTIAL_ID_LENGTH);
const Transport = z.string().max(32);

/** What both responses have (section 5.1, "PublicKeyCredential"). */
const credential = {
  id: CredentialId,
  rawId: CredentialId,
  type: z.literal("public-key"),
  authenticatorAttachment: z.string().max(32).nullish(),
};

/** Section 5.1, "RegistrationResponseJSON". The attestation statement is ignored. */
export const PasskeyRegistration = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64Url(4096),
    attestationObject: base64Url(12_000),
    transports: z.array(Transport).max(10).default([]),
  }),
});
export type PasskeyRegistration = z.infer<typeof PasskeyRegistration>;

/** Section 5.1, "AuthenticationResponseJSON". */
export const PasskeyAssertion = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64Url(4096),
    authenticatorData: base64Url(4096),
    signature: base64Url(1024),
    userHandle: base64Url(88).nullish(),
  }),
});
export type PasskeyAssertion = z.infer<typeof PasskeyAssertion>;

const JsonText = z.string().transform((text, ctx): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    ctx.addIssue("Must be JSON");
    return z.NEVER;
  }
});

/** The same in forms, which have text only. */
export const PasskeyRegistrationField = JsonText.pipe(PasskeyRegistration);
export const PasskeyAssertionField = JsonText.pipe(PasskeyAssertion);

const PasskeyName = z.string().trim().min(1).max(64).describe("The name of the passkey in its owner's list.");

export const conditional = z
  .boolean()
  .default(false)
  .describe('Whether the browser creates the passkey without asking (`mediation: "conditional"`).');

export const RegisterPasskey = z.object({
  passkey: PasskeyRegistration.describe("`PublicKeyCredential.toJSON()` of the new passkey."),
  name: PasskeyName.optional(),
  conditional,
});
export type RegisterPasskey = z.infer<typeof RegisterPasskey>;

export const RenamePasskey = z.object({ name: PasskeyName });

export const Passkey = z.object({
  id: z.uuid(),
  name: z.string(),
  credentialId: z.string().describe("The WebAuthn credential ID, in base64url."),
  transports: z.array(z.string()),
  isSynced: z.boolean().describe("Whether the passkey is backed up, so that the owner's other devices have it, too."),
  createdAt: z.date(),
  lastUsedAt: z.date().nullable(),
});
export type Passkey = z.infer<typeof Passkey>;
export const Passkeys = z.object({ passkeys: z.array(Passkey) });
export const PasskeyParams = z.object({ passkeyId: z.uuid() });

const Descriptors = z.array(z.object({ id: z.string(), type: z.string(), transports: z.array(z.string()).optional() }));
const UserVerification = z.enum(["required", "preferred"]);
const challenge = z.string().describe("Valid once, for five minutes.");
const timeout = z.int().describe("Milliseconds.");

/** Section 5.1, "PublicKeyCredentialCreationOptionsJSON". */
export const PasskeyCreationOptions = z.object({
  challenge,
  rp: z.object({ id: z.string(), name: z.string() }),
  user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
  pubKeyCredParams: z.array(z.object({ type: z.literal("public-key"), alg: z.int() })),
  timeout,
  attestation: z.literal("none"),
  excludeCredentials: Descriptors,
  authenticatorSelection: z.object({
    residentKey: z.literal("required"),
    requireResidentKey: z.literal(true),
    userVerification: UserVerification,
  }),
});
export type PasskeyCreationOptions = z.infer<typeof PasskeyCreationOptions>;

/** Section 5.1, "PublicKeyCredentialRequestOptionsJSON". */
export const PasskeyRequestOptions = z.object({
  challenge,
  rpId: z.string(),
  timeout,
  allowCredentials: Descriptors,
  userVerification: UserVerification,
});
export type PasskeyRequestOptions = z.infer<typeof PasskeyRequestOptions>;

/** W3C, "A Well-Known URL for Relying Party Passkey Endpoints". */
export const PasskeyEndpoints = z.object({ enroll: z.url(), manage: z.url() });

/** Web Authentication Level 3, section 5.11, "Using Web Authentication across related origins". */
export const RelatedOrigins = z.object({ origins: z.array(z.url()) });

/** Apple, "Supporting associated domains". */
export const AppleAppSiteAssociation = z.object({ webcredentials: z.object({ apps: z.array(z.string()) }) });

/** Google, "Digital Asset Links", "Statement list syntax". */
export const DigitalAssetLinks = z.array(
  z.object({
    relation: z.array(z.string()),
    target: z.object({
      namespace: z.literal("android_app"),
      package_name: z.string(),
      sha256_cert_fingerprints: z.array(z.string()),
    }),
  }),
);
