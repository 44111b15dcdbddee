import type { FactorName } from "../emails";

/** A paragraph, a link with its label, a list, or facts with their names. */
export type Block =
  | string
  | { link: string; label: string }
  | { list: readonly string[] }
  | { facts: readonly (readonly [name: string, value: string])[] };

/** `isForOperator`: it is about the service, not about the recipient's account. */
type EmailText = { subject: string; body: Block[]; isForOperator?: true };

/** A link with which the recipient can act if somebody else caused the email. */
type NotMe = { notMeLink: string };

/** What each email says besides its fixed text. */
export type EmailInput = {
  password_reset: { link: string; ttlMinutes: number };
  /** `providers` still work after the change. */
  password_changed: NotMe & { accountUrl: string; providers: { title: string; linkedAt: Date }[] };
  email_verification: { link: string; ttlHours: number };
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
  identity_unlinked: NotMe & { provider: string | null };
  account_deleted: Record<never, never>;
  rollout_halted: { product: string; version: string; reason: string };
  webhook_disabled: { url: string; reason: "gone" | "failing" };
};

/** All texts of one language. A missing text is a compile error. */
export type EmailTexts = {
  greeting: string;
  /** Below the text. `host` is the service's. */
  footer: (brand: string, host: string) => string;
  operatorFooter: (host: string) => string;
  support: (contact: string) => string;
  imprint: (url: string) => string;
  emails: { [Kind in keyof EmailInput]: (to: string, input: EmailInput[Kind]) => EmailText };
};
