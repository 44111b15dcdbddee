/**
 * The types of events in the audit trail, with the text that the account page shows. A type is stored as text and never
 * renamed: rows of a year have it.
 */
export const EVENT_LABELS = {
  // Sign-in
  registered: "Account created",
  email_verified: "Email verified",
  signed_in: "Signed in",
  sign_in_failed: "Failed sign-in: wrong password",
  signed_out: "Signed out",
  reauthenticated: "Identity confirmed",
  reported_not_me: "Reported by email: signed out everywhere",
  // Ways to sign in
  password_reset: "Password reset",
  password_changed: "Password changed",
  email_change_requested: "Change of email requested",
  email_change_canceled: "Change of email canceled",
  email_changed: "Email changed",
  email_change_undone: "Change of email undone",
  identity_linked: "Sign-in provider added",
  identity_unlinked: "Sign-in provider removed",
  totp_added: "Authenticator app added",
  totp_removed: "Authenticator app removed",
  recovery_codes_renewed: "New recovery codes",
  recovery_code_used: "Recovery code used",
  second_factor_failed: "Failed sign-in: wrong code",
  factors_reset: "Second factors removed by support",
  passkey_added: "Passkey added",
  passkey_removed: "Passkey removed",
  passkey_refused: "Failed attempt with a passkey",
  passkey_copied: "Passkey refused: it may have been copied",
  device_verified: "Device verified",
  // The account
  exported: "Data exported",
  role_changed: "Role changed",
  account_disabled: "Account disabled",
  account_enabled: "Account enabled",
  account_deleted: "Account deleted",
  // What operators do
  key_created: "API key created",
  key_revoked: "API key revoked",
  key_leaked: "API key revoked: it was in a URL",
  rollout_started: "Rollout scheduled",
  rollout_advanced: "Rollout advanced",
  rollout_halted: "Rollout halted",
  rollout_resumed: "Rollout resumed",
  rollout_completed: "Rollout completed",
  release_published: "Release published",
  release_changed: "Release changed",
  release_removed: "Release removed",
} as const;

/** The type of an event in the audit trail. */
export type AuditEventType = keyof typeof EVENT_LABELS;
