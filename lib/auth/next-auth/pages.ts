import { createHash } from "node:crypto";
import { ERRORS, type ErrorCode } from "../../errors";
import type { NextAuthAnswer } from "./answer";

const AGAIN = "Please begin again.";
/** next-auth's own codes, in words: a heading, and what to do. */
const NEXT_AUTH_ERRORS: Record<string, readonly [title: string, advice: string]> = {
  Verification: [
    "This link is no longer valid",
    "It was used already, or is older than a day. Sign in to get a new one.",
  ],
  CredentialsSignin: [ERRORS.invalid_credentials[1], "Check both and try again."],
  SessionRequired: [ERRORS.unauthenticated[1], "The page that you came from needs it."],
  OAuthSignin: ["The provider cannot be reached", "Try again in a few minutes, or sign in another way."],
  OAuthCallback: [
    "The provider's answer does not hold",
    `It was used already, or is not from where you began. ${AGAIN}`,
  ],
  Callback: ["Signing in was broken off", `The provider reported an error, or you cancelled there. ${AGAIN}`],
};
/** What to do about our own, whose heading is the problem document's title. */
const ADVICE: Partial<Record<ErrorCode, string>> = {
  email_not_verified: "We have sent you a mail: confirm the address with its link, then sign in.",
  identity_unverified: "Sign in to that account the way you did before. Signed in, you can add this provider to it.",
  identity_in_use: "Sign out first, then sign in with it.",
  identity_without_email: "Confirm your address there, or register here with an e-mail address and a password.",
  reauthentication_required: "Before another way to sign in is added, please sign in once more.",
  unauthenticated: "Your session ended while you were with the provider. Nothing was changed.",
  rate_limited: "Wait a few minutes, then try again.",
};

/** The page that says in words why signing in did not work. What the code is, anybody may have written. */
export function errorPage(code = ""): NextAuthAnswer {
  const [title, advice] = inWords(code);
  return page(400, title, `<p>${advice}</p><p><a href="/api/auth/signin">Sign in</a></p>`);
}

/** The token stands in the fragment, which no server, no log and no scanner that fetches links gets to see. */
const TAKE_TOKEN = 'document.forms[0].token.value = new URLSearchParams(location.hash.slice(1)).get("token");';

/**
 * The page behind a mailed link. It changes nothing: mail scanners open links too, and must neither use the token
 * up nor prove an address for somebody. Its button posts, from our own origin.
 */
export function confirmPage(): NextAuthAnswer {
  const content = `<p>Confirm only if it was you who made an account with it.</p>
<form method="post" action="/api/auth/callback/email"><input type="hidden" name="token"><button>Confirm</button></form>
<noscript><p>Confirming needs JavaScript.</p></noscript><script>${TAKE_TOKEN}</script>`;
  return page(200, "Is this e-mail address yours?", content);
}

function inWords(code: string): readonly [title: string, advice: string] {
  const words = Object.hasOwn(NEXT_AUTH_ERRORS, code) ? NEXT_AUTH_ERRORS[code] : undefined;
  if (words) return words;
  const advice = Object.hasOwn(ADVICE, code) ? ADVICE[code as ErrorCode] : undefined;
  return advice === undefined ? ["Signing in did not work", AGAIN] : [ERRORS[code as ErrorCode][1], advice];
}

const STYLE = `body{font:1rem/1.5 system-ui,sans-serif;max-width:26rem;margin:15vh auto;padding:0 1rem;color-scheme:light dark}
button{font:inherit;padding:.5rem 1.5rem}`;
const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src ${hashOf(STYLE)}`,
  `script-src ${hashOf(TAKE_TOKEN)}`,
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

function page(status: number, title: string, content: string): NextAuthAnswer {
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>`;
  return {
    status,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    },
    cookies: [],
    body: `<!doctype html><html lang="en"><head>${head}<style>${STYLE}</style></head><body><h1>${title}</h1>${content}</body></html>`,
  };
}
