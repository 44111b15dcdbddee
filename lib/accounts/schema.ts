import { z } from "zod";
import { Email } from "../auth/email";

const Transport = z.enum(["cookie", "token"]);
const Sender = {
  transport: Transport.optional().describe("How the session is to come. Without it, as suits the caller."),
  deviceName: z
    .string()
    .trim()
    .min(1)
    .max(64)
    .optional()
    .describe("What its owner calls the device, for the list of sessions."),
};

export const User = z.object({
  id: z.uuid(),
  email: z.string(),
  name: z.string().nullable(),
  image: z.string().nullable(),
  emailVerified: z.boolean(),
  createdAt: z.date(),
});
export type User = z.infer<typeof User>;

export const Auth = z.object({
  user: User,
  session: z.object({ id: z.uuid(), transport: Transport, expiresAt: z.date() }),
  token: z.string().optional().describe("Left out where a cookie carries it."),
  tokenType: z.literal("Bearer").optional(),
});
export type Auth = z.infer<typeof Auth>;

export const Login = z.object({ email: Email, password: z.string().min(1).max(1024), ...Sender });
export type Login = z.infer<typeof Login>;

export const Register = z.object({
  email: Email,
  password: z.string().min(1).max(1024),
  name: z.string().trim().min(1).max(80).optional(),
  ...Sender,
});
export type Register = z.infer<typeof Register>;

/** What registering answers where addresses have to be verified, whoever has one. */
export const VerificationRequired = z.object({ status: z.literal("verification_required") });

export const RequestReset = z.object({ email: Email });
export const ResetAccepted = z.object({ status: z.literal("accepted") });

export const ConfirmReset = z.object({
  token: z.string().min(1).max(256).describe("As the mailed link has it."),
  password: z.string().min(1).max(1024),
});
export type ConfirmReset = z.infer<typeof ConfirmReset>;
/** A mailed token as a page's form takes it: alone, or in the whole link, as people paste it. */
export const MailedToken = z
  .string()
  .trim()
  .transform((pasted) => pasted.split("#token=").at(-1) ?? "")
  .pipe(ConfirmReset.shape.token);
/** The password says which registration of the address is confirmed; a sign-in at a provider has none. */
export const ConfirmAddress = z.object({ token: MailedToken, password: z.string().max(1024).optional() });
export const PasswordReset = z.object({
  status: z.literal("password_reset"),
  identities: z
    .array(z.object({ provider: z.string(), linkedAt: z.date() }))
    .describe("The providers that sign in to the account, which the new password does not change."),
});

export const DeleteAccount = z.object({
  confirm: z.literal("DELETE", "Must be DELETE"),
  password: z.string().max(1024).optional(),
});
export type DeleteAccount = z.infer<typeof DeleteAccount>;

/** A store's subscription cannot be cancelled from a server: each is named with where its owner can. */
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
  createdAt: Date;
};

/** What others may see of an account's row. */
export function toUser({ id, email, name, image, emailVerifiedAt, createdAt }: AccountRow): User {
  return { id, email, name, image, emailVerified: emailVerifiedAt !== null, createdAt };
}

const Rows = z.array(z.record(z.string(), z.unknown()));

/** Everything kept about an account. Rows are as the tables have them, without secrets. */
export const AccountExport = z.object({
  schema: z.literal("account-export"),
  schemaVersion: z.literal(1),
  exportedAt: z.date(),
  account: User.extend({ updatedAt: z.date() }),
  identities: Rows,
  sessions: Rows,
  devices: Rows,
  subscriptions: Rows,
  billingEvents: Rows,
  securityEvents: Rows,
});
