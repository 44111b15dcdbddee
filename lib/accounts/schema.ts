import { z } from "zod";
import { PasskeyAssertion, RegisterPasskey } from "../auth/passkeys/schema";
import { Factors } from "../auth/second-factor/schema";
import { StepUpProof } from "../auth/step-up";
import { Email } from "../platform/email";
import { LOCALES, toLocale } from "../platform/locale";
import { Preferences } from "../push/preferences";

const Transport = z.enum(["cookie", "token"]);
const SessionOptions = {
  transport: Transport.optional().describe(
    "How the session is returned. By default a cookie for browsers, a token for other clients.",
  ),
  deviceName: z.string().trim().min(1).max(64).optional().describe("The name of the device in the list of sessions."),
  locale: z
    .string()
    .max(35)
    .transform(toLocale)
    .optional()
    .describe(
      `The language of the user, such as "de-AT". Emails are written in it, if it is one of ${LOCALES.join(", ")}.`,
    ),
};

export const User = z.object({
  id: z.uuid(),
  email: z.string(),
  name: z.string().nullable(),
  image: z.string().nullable(),
  emailVerified: z.boolean(),
  emailProblem: z
    .string()
    .nullable()
    .describe(
      "Why emails do not reach the user: they `bounced`, the user has `complained` of spam, or has Apple's `forwarding_off`. null: no reason is known.",
    ),
  createdAt: z.date(),
});
export type User = z.infer<typeof User>;

export const Auth = z.object({
  user: User,
  session: z.object({ id: z.uuid(), transport: Transport, expiresAt: z.date() }),
  token: z.string().optional().describe("Absent if the session is a cookie."),
  tokenType: z.literal("Bearer").optional(),
});
export type Auth = z.infer<typeof Auth>;

export const Login = z.object({ email: Email, password: z.string().min(1).max(1024), ...SessionOptions });
export type Login = z.infer<typeof Login>;

export const PasskeyLogin = z.object({
  passkey: PasskeyAssertion.describe("`PublicKeyCredential.toJSON()` of the assertion."),
  ...SessionOptions,
});
export type PasskeyLogin = z.infer<typeof PasskeyLogin>;

export const Register = z.object({
  email: Email,
  password: z.string().min(1).max(1024),
  name: z.string().trim().min(1).max(80).optional(),
  ...SessionOptions,
});
export type Register = z.infer<typeof Register>;

/** Without a name, the account's name is removed. */
export const SetName = Register.pick({ name: true });

/** The response to a registration if emails have to be verified, whether or not the email has an account. */
export const VerificationRequired = z.object({ status: z.literal("verification_required") });

export const RequestReset = z.object({ email: Email });
export const ResetAccepted = z.object({ status: z.literal("accepted") });

export const ConfirmReset = z.object({
  token: z.string().min(1).max(256).describe("The token of the emailed link."),
  password: z.string().min(1).max(1024),
  code: z
    .string()
    .max(64)
    .optional()
    .describe(
      "Required with `AUTH_LINKS_NEED_CODE=true`: a code of the authenticator app, a recovery code, or the code that an operator has handed over.",
    ),
});
export type ConfirmReset = z.infer<typeof ConfirmReset>;
/** Either a password or a passkey. */
export const AcceptInvitation = ConfirmReset.partial({ password: true })
  .extend(RegisterPasskey.omit({ conditional: true }).partial({ passkey: true }).shape)
  .refine(({ password, passkey }) => (password === undefined) !== (passkey === undefined), {
    path: ["password"],
    error: "Must be given, unless there is a passkey",
  });
export type AcceptInvitation = z.infer<typeof AcceptInvitation>;
/** An emailed token in a form: the token alone, or the whole link that contains it. */
export const EmailedToken = z
  .string()
  .trim()
  .transform((pasted) => pasted.split("#token=").at(-1) ?? "")
  .pipe(ConfirmReset.shape.token);
/** The password selects the registration to confirm. A sign-in with a provider has none. */
export const ConfirmEmail = z.object({ token: EmailedToken, password: z.string().max(1024).optional() });
export const PasswordReset = z.object({
  status: z.literal("password_reset"),
  identities: z
    .array(z.object({ provider: z.string(), linkedAt: z.date() }))
    .describe("The providers that are still linked to the account."),
});

export const InvitationAccepted = PasswordReset.extend({ status: z.literal("invitation_accepted") });

export const Identities = z.object({
  identities: z.array(z.object({ id: z.uuid(), provider: z.string(), linkedAt: z.date() })),
});
export const IdentityParams = z.object({ identityId: z.uuid() });

export const DeleteAccount = StepUpProof.extend({ confirm: z.literal("DELETE", "Must be DELETE") });
export type DeleteAccount = z.infer<typeof DeleteAccount>;

/** A server cannot cancel a store's subscription: `managementUrl` is where its owner can. */
export const AccountDeleted = z.object({
  status: z.literal("deleted"),
  subscriptions: z.array(
    z.object({
      store: z.string(),
      status: z.string(),
      expiresAt: z.date().nullable(),
      managementUrl: z.string().nullable(),
    }),
  ),
  storeSubscriptionsCancelled: z.literal(false),
});
export type AccountDeleted = z.infer<typeof AccountDeleted>;

type AccountRow = {
  id: string;
  email: string;
  name: string | null;
  image: string | null;
  emailVerifiedAt: Date | null;
  emailProblem: string | null;
  createdAt: Date;
};

/** The public part of an account's row. */
export function toUser({ id, email, name, image, emailVerifiedAt, emailProblem, createdAt }: AccountRow): User {
  return { id, email, name, image, emailVerified: emailVerifiedAt !== null, emailProblem, createdAt };
}

const Rows = z.array(z.record(z.string(), z.unknown()));

/** All data of an account. Rows are exported as stored, without secrets. */
export const AccountExport = z.object({
  schema: z.literal("account-export"),
  schemaVersion: z.literal(1),
  exportedAt: z.date(),
  account: User.extend({
    role: z.enum(["user", "support", "admin"]),
    locale: z.string().nullable(),
    externalId: z.string().nullable(),
    appUserIds: z
      .array(z.string())
      .describe("What an import says that the old system and the billing provider call you."),
    updatedAt: z.date(),
  }),
  identities: Rows,
  emailChanges: Rows,
  sessions: Rows,
  factors: Factors,
  devices: Rows,
  notificationPreferences: Preferences,
  subscriptions: Rows,
  billingEvents: Rows,
  securityEvents: Rows,
});
