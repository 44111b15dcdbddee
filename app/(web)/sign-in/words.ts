import { PROVIDER_NAMES, providerTitle } from "@/lib/auth/oauth/providers";
import { ERRORS, type ErrorCode } from "@/lib/errors";

/** The errors with which next-auth sends people here (its documentation, "Pages", "Sign-in page" and "Error page"). */
const NEXT_AUTH_IN_WORDS: Record<string, string> = {
  SessionRequired: "Sign in to go on.",
  CredentialsSignin: "The e-mail address or the password is wrong.",
  Verification: "This link is no longer valid: it was used, or is too old. Sign in to get a new one.",
  OAuthSignin: "The provider cannot be reached. Try again in a few minutes, or sign in another way.",
  OAuthCallback: "The provider's answer was used already, or is not from where you began. Begin again.",
  Callback: "Signing in was broken off: the provider reported an error, or you cancelled there.",
};

/** What to do about our own, after what the code means. */
const ADVICE: Partial<Record<ErrorCode, string>> = {
  email_not_verified: "We have sent you a mail: confirm the address with its link, then sign in.",
  identity_unverified: "Sign in to that account the way you did before. Signed in, you can add this provider to it.",
  identity_in_use: "Sign out first, then sign in with it.",
  identity_without_email: "Confirm your address there, or register here with an e-mail address and a password.",
  reauthentication_required: "Before another way to sign in is added, sign in once more.",
  unauthenticated: "Your session ended while you were with the provider. Nothing was changed.",
  rate_limited: "Wait a few minutes, then try again.",
};

const DONE_IN_WORDS: Record<string, string> = {
  password_reset: "Your password is changed, and you are signed out everywhere. Sign in with the new one.",
  signed_out: "You are signed out.",
};

/** What an `error` parameter means, be it next-auth's or one of our codes; nothing of it is repeated. */
export function errorInWords(error: string): string {
  const known = Object.hasOwn(NEXT_AUTH_IN_WORDS, error) ? NEXT_AUTH_IN_WORDS[error] : undefined;
  if (known) return known;
  const advice = Object.hasOwn(ADVICE, error) ? ADVICE[error as ErrorCode] : undefined;
  return advice === undefined ? "Signing in did not work. Begin again." : `${ERRORS[error as ErrorCode][1]}. ${advice}`;
}

/** What a `done` parameter means; undefined for what is none. */
export function doneInWords(done: string): string | undefined {
  return Object.hasOwn(DONE_IN_WORDS, done) ? DONE_IN_WORDS[done] : undefined;
}

/** What a `linked` parameter means: the providers that still sign in after a reset. Undefined for none. */
export function linkedInWords(linked = ""): string | undefined {
  const given = linked.split(",");
  const titles = PROVIDER_NAMES.filter((name) => given.includes(name)).map(providerTitle);
  if (titles.length === 0) return undefined;
  const names = titles.join(" and ");
  return `${names} can still sign in to this account. If that is not yours, sign in and remove it on the account page.`;
}
