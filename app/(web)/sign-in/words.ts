import { ERRORS } from "@/lib/errors";

/** The errors with which next-auth sends people here (its documentation, "Pages", "Sign-in page" and "Error page"). */
const ERRORS_IN_WORDS: Record<string, string> = {
  SessionRequired: "Sign in to go on.",
  CredentialsSignin: "The e-mail address or the password is wrong.",
  AccessDenied: "You may not sign in with this account.",
  Verification: "This link is no longer valid: it has been used or has expired. Sign in to get a new one.",
  OAuthSignin: "The provider cannot be reached. Try again in a moment.",
  OAuthCallback: "The provider did not confirm the sign-in. Try again.",
  OAuthAccountNotLinked: "There is an account with this e-mail address already. Sign in the way you did before.",
};

const DONE_IN_WORDS: Record<string, string> = {
  password_reset: "Your password is changed, and you are signed out everywhere. Sign in with the new one.",
  signed_out: "You are signed out.",
};

/** What an `error` parameter means, be it next-auth's or one of our codes; nothing of it is repeated. */
export function errorInWords(error: string): string {
  if (Object.hasOwn(ERRORS_IN_WORDS, error)) return ERRORS_IN_WORDS[error] as string;
  if (Object.hasOwn(ERRORS, error)) return `${ERRORS[error as keyof typeof ERRORS][1]}.`;
  return "You could not be signed in. Try again.";
}

/** What a `done` parameter means; null for what is none. */
export function doneInWords(done: string): string | null {
  return Object.hasOwn(DONE_IN_WORDS, done) ? (DONE_IN_WORDS[done] as string) : null;
}
