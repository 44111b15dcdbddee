import type { Locale } from "../locale";

/** The factors that an email can name. */
export type FactorName = "totp" | "recovery_codes" | "passkey";

/**
 * The emails that account holders and operators get, each with the data that is queued with it. null: the email needs none, because its
 * text is made of what the database has when it is sent.
 */
export type EmailData = {
  password_reset: null;
  /** To an account without a password, from an operator. */
  invitation: null;
  password_changed: null;
  email_verification: null;
  registered_already: null;
  /** To an account whose owner signed in from a client that it did not recognize. `at` is an ISO 8601 time. */
  new_sign_in: { client: string | null; network: string | null; at: string };
  factor_added: { factor: FactorName };
  factor_removed: { factor: FactorName };
  /** To the new address. If it has an account by then, `email_in_use` is sent instead. */
  email_change_confirm: { changeId: string };
  email_in_use: null;
  /** To the old address. */
  email_change_notice: null;
  /** To the address that the account has now. */
  email_changed: null;
  identity_linked: { provider: string } | null;
  /** `byProvider`: the owner ended it at the provider. */
  identity_unlinked: { provider: string; byProvider?: true } | null;
  account_deleted: null;
  /** To operators. */
  rollout_halted: { product: string; version: string; reason: string };
  webhook_disabled: { url: string; reason: "gone" | "failing" };
  /** `at` is an ISO 8601 time. */
  policy_loosened: { product: string; before: string; after: string; at: string };
  publisher_added: { publisherId: string; name: string; product: string; ref: string };
};

export type EmailKind = keyof EmailData;

export type Email = { to: string; locale: Locale; subject: string; text: string; html: string };

export type Block =
  | string
  | { link: string; label: string }
  | { list: readonly string[] }
  | { facts: readonly (readonly [name: string, value: string])[] };

type EmailText = readonly [subject: string, ...body: Block[]];

/** The emails about the service, not about the recipient's account. */
export const OPERATOR_EMAILS: readonly EmailKind[] = [
  "rollout_halted",
  "webhook_disabled",
  "policy_loosened",
  "publisher_added",
];

/** What the owner of an account has to know, and has not asked for: devices can show it, too. */
export const SECURITY_NOTICES: readonly EmailKind[] = [
  "password_changed",
  "new_sign_in",
  "factor_added",
  "factor_removed",
  "email_change_notice",
  "email_changed",
  "identity_linked",
  "identity_unlinked",
];

/** A link with which the recipient can act if somebody else caused the email. */
type NotMe = { notMeLink: string };

/** What each email says besides its fixed text. */
export type EmailInput = {
  password_reset: { link: string; ttlMinutes: number };
  invitation: { brand: string; link: string; expiresAt: Date };
  /** `providers` still work after the change. */
  password_changed: NotMe & { accountUrl: string; providers: { title: string; linkedAt: Date }[] };
  /** `isAgain`: the email was verified, and emails did not reach it since. */
  email_verification: { link: string; ttlHours: number; isAgain: boolean };
  registered_already: { forgotUrl: string };
  new_sign_in: NotMe & { client: string | null; network: string | null; at: Date };
  factor_added: NotMe & { factor: FactorName };
  factor_removed: NotMe & { factor: FactorName };
  email_change_confirm: { link: string; ttlHours: number };
  email_in_use: { forgotUrl: string };
  email_change_notice: { newEmail: string; undoLink: string; undoDays: number };
  email_changed: NotMe;
  /** Without `hasPassword` the email says that the password no longer works. `provider` is its display name. */
  identity_linked: NotMe & { provider: string; hasPassword: boolean };
  /** `provider` is null in emails that the previous release queued. */
  identity_unlinked: NotMe & { provider: string | null; byProvider: boolean };
  account_deleted: Record<never, never>;
  rollout_halted: { product: string; version: string; reason: string };
  webhook_disabled: { url: string; reason: "gone" | "failing" };
  policy_loosened: { product: string; before: string; after: string; at: Date; auditUrl: string };
  publisher_added: { name: string; product: string; ref: string; publisherUrl: string };
};

/** All texts of one language. A missing text is a compile error. */
export type EmailTexts = {
  greeting: string;
  /** Below the text. `host` is the service's. */
  footer: (brand: string, host: string) => string;
  operatorFooter: (host: string) => string;
  support: (contact: string) => string;
  imprint: (url: string) => string;
  /** What a device shows below the subject of a notice. */
  onDevice: string;
  emails: { [Kind in keyof EmailInput]: (to: string, input: EmailInput[Kind]) => EmailText };
};
