import type { Locale } from "../locale";

/** The factors that an email can name. */
export type FactorName = "totp" | "recovery_codes" | "passkey";

/**
 * The emails that account holders and operators get, each with the data that is queued with it. null: the email needs none, because its
 * text is made of what the database has when it is sent.
 */
export type EmailData = {
  password_reset: null;
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
  identity_unlinked: { provider: string } | null;
  account_deleted: null;
  /** To operators. */
  rollout_halted: { product: string; version: string; reason: string };
  webhook_disabled: { url: string; reason: "gone" | "failing" };
};

export type EmailKind = keyof EmailData;

/** A composed email. */
export type Email = { to: string; locale: Locale; subject: string; text: string; html: string };
