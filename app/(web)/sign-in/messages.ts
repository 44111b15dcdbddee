import { PROVIDER_NAMES, providerTitle } from "@/lib/auth/oauth/providers";
import { ERRORS, type ErrorCode } from "@/lib/errors";

/** The `error` values of next-auth's redirects (its documentation, "Pages", "Sign-in page" and "Error page"). */
const NEXT_AUTH_ERRORS: Record<string, string> = {
  SessionRequired: "Sign in to continue.",
  CredentialsSignin: "The email or password is incorrect.",
  Verification: "This link has been used or has expired. Sign in to get a new one.",
  OAuthSignin: "The provider cannot be reached. Try again in a few minutes, or sign in another way.",
  OAuthCallback:
    "The sign-in could not be completed. It may have been used already, or started in another browser. Try again.",
  Callback: "The sign-in was canceled, or the provider reported an error.",
};

/** What the user can do about an error of ours. It follows the error's title. */
const ADVICE: Partial<Record<ErrorCode, string>> = {
  email_not_verified: "Open the link in the email that we sent you, then sign in.",
  account_disabled: "Contact us if you think that this is a mistake.",
  identity_unverified: "Sign in to that account the way you usually do. You can then add this provider to it.",
  email_taken: "Sign in to that account the way you usually do.",
  identity_in_use: "Sign out, then sign in with this provider.",
  identity_without_email: "Verify your email with the provider, or create an account with an email and password.",
  reauthentication_required: "Adding a provider requires a recent sign-in.",
  unauthenticated: "Your session ended before the provider could be added. Nothing was changed.",
  rate_limited: "Wait a few minutes, then try again.",
};

const SUCCESS_MESSAGES: Record<string, string> = {
  password_reset: "Your password was changed, and all sessions were signed out. Sign in with the new password.",
  email_restored:
    "Your email was restored, and all sessions were signed out. We have sent you a link to set a new password.",
  signed_out: "You have been signed out.",
};

/** The message for an `error` parameter of next-auth or of ours. Never contains the parameter itself. */
export function errorMessage(error: string): string {
  const known = Object.hasOwn(NEXT_AUTH_ERRORS, error) ? NEXT_AUTH_ERRORS[error] : undefined;
  if (known) return known;
  const advice = Object.hasOwn(ADVICE, error) ? ADVICE[error as ErrorCode] : undefined;
  return advice === undefined ? "The sign-in failed. Try again." : `${ERRORS[error as ErrorCode][1]}. ${advice}`;
}

/** The message for a `done` parameter; undefined for unknown values. */
export function successMessage(done: string): string | undefined {
  return Object.hasOwn(SUCCESS_MESSAGES, done) ? SUCCESS_MESSAGES[done] : undefined;
}

/** Names the providers that can still sign in after a password reset, from the `linked` parameter. */
export function linkedProvidersMessage(linked = ""): string | undefined {
  const linkedIds = linked.split(",");
  const titles = PROVIDER_NAMES.filter((name) => linkedIds.includes(name)).map(providerTitle);
  if (titles.length === 0) return undefined;
  const names = titles.join(" and ");
  return `You can still sign in with ${names}. If you did not add ${titles.length > 1 ? "them" : "it"}, sign in and remove ${titles.length > 1 ? "them" : "it"} on the account page.`;
}
