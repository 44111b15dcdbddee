import { z } from "zod";
import { form, get, type NextAuthAction, page, post, redirect } from "@/scripts/openapi/next-auth";
import { examplesOf } from "@/scripts/openapi/operation";
import { Csrf, Form, NextUrl, ProviderParams, Providers, Session, SignInForm } from "./openapi-schemas";

const CSRF_TOKEN = "b1946ac92492d2347c6235b4d2611184a0b1c2d3e4f5061728394a5b6c7d8e9f";
const GOING_ON = { "Go on here": { url: "https://api.example.com/account" } };
const TRY_AGAIN = "https://api.example.com/api/auth/error?error=CredentialsSignin&provider=credentials";
const USER = { id: "0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10", email: "ann@example.com", name: "Ann", image: null };

function withProvider({ declaration, details }: NextAuthAction): NextAuthAction {
  return { declaration: { ...declaration, params: ProviderParams }, details };
}

const signIn = post(
  "Sign in with a password, by cookie",
  ["invalid_credentials", "unauthenticated", "overloaded"],
  { 200: NextUrl, 302: null, 401: NextUrl },
  {
    operationId: "signInWithPassword",
    description:
      'What next-auth/react\'s `signIn("credentials")` calls. `/api/auth/login` does the same in one step, and gives tokens too.',
    requestBody: form(SignInForm, {
      "From a page": {
        csrfToken: CSRF_TOKEN,
        email: "ann@example.com",
        password: "correct horse battery staple",
        json: "true",
      },
    }),
    responses: {
      200: {
        description: "Signed in; or, with `csrf` in the query of `url`, the token did not hold.",
        headers: ["Set-Cookie"],
        examples: GOING_ON,
      },
      302: redirect("Without `json`: the same as a redirect."),
      401: {
        description: "Not signed in: `error` in the query of `url` says why.",
        headers: ["Set-Cookie"],
        content: {
          "application/json": { schema: NextUrl, examples: examplesOf({ "Wrong password": { url: TRY_AGAIN } }) },
        },
      },
    },
  },
);

const signOut = post(
  "Sign out",
  ["unauthenticated"],
  { 200: NextUrl, 302: null },
  {
    operationId: "signOut",
    description:
      "Ends the session with the devices that it registered. With a bearer token nothing else is needed; with the cookie, the form.",
    security: [{ bearer: [] }, { cookie: [] }, {}],
    requestBody: {
      ...form(Form, { "From a page": { csrfToken: CSRF_TOKEN, callbackUrl: "/", json: "true" } }),
      required: false,
    },
    responses: {
      200: { description: "Signed out.", headers: ["Set-Cookie"], examples: GOING_ON },
      302: redirect("Without `json`: the same as a redirect."),
    },
  },
);

const startProvider = post(
  "Begin a sign-in with a provider",
  ["not_found", "rate_limited"],
  { 200: NextUrl, 302: null },
  {
    operationId: "startProvider",
    description: "Whoever is signed in adds the provider to the account. `prompt` and `login_hint` are passed on.",
    requestBody: form(Form, { "From a page": { csrfToken: CSRF_TOKEN, callbackUrl: "/account", json: "true" } }),
    responses: {
      200: {
        description: "The provider's page.",
        headers: ["Set-Cookie"],
        examples: { Google: { url: "https://accounts.google.com/o/oauth2/v2/auth?client_id=homeport&state=x7" } },
      },
      302: redirect("Without `json`: the same as a redirect."),
    },
  },
);

/** Where providers send people back to. */
function comeBack(operationId: string, summary: string): NextAuthAction {
  return {
    declaration: {
      summary,
      errors: ["invalid_credentials", "unauthenticated", "not_found", "rate_limited"],
      responses: { 302: null },
    },
    details: {
      operationId,
      description: "With `code` and `state`, or with `error`.",
      responses: { 302: redirect("Signed in, or to a page that says why not.") },
    },
  };
}

const confirmAddress = post(
  "Confirm an e-mail address",
  ["invalid_credentials", "unauthenticated", "validation_failed", "rate_limited", "overloaded"],
  { 302: null },
  {
    operationId: "confirmAddress",
    description:
      "Takes the token of the mailed link with the password that the address was registered with, and signs in. After a sign-in at a provider the cookie that it set takes the password's place. A password that is refused leaves the token as it is.",
    requestBody: form(z.object({ token: z.string(), password: z.string().optional() }), {
      "The link's token": { token: "q0Zb6c1mSx3uY8rT2wVhKfDgLpN4aEoJ", password: "correct horse battery staple" },
    }),
    responses: { 302: redirect("Signed in, or to a page that says why not.") },
  },
);

const takeApplesForm = post(
  "Take what Apple posts",
  ["not_found"],
  { 303: null },
  {
    operationId: "takeApplesForm",
    description: "Apple posts its answer from its own site. It is sent on to the same path by GET, and nothing else.",
    requestBody: form(z.object({ code: z.string(), state: z.string() }).partial(), {
      "From Apple": { code: "c1d2e3", state: "s4t5u6" },
    }),
    responses: { 303: { description: "To the same path, by GET.", headers: ["Location"] } },
  },
);

const logFromBrowser = post(
  "Write down what went wrong in a browser",
  [],
  { 200: null },
  {
    operationId: "logFromBrowser",
    description: "What next-auth/react calls when it fails.",
    requestBody: {
      ...form(z.looseObject({ code: z.string().optional() }), { "A failure": { code: "CLIENT_FETCH_ERROR" } }),
      required: false,
    },
    responses: { 200: { description: "Taken note of." } },
  },
);

/** The actions that there are, by method and path. */
export const actions: Record<string, NextAuthAction> = {
  "GET /api/auth/csrf": get("getCsrfToken", "The token that next-auth's forms need", Csrf, {
    description: "Each POST here needs it beside its cookie, but for those that bear a token.",
    responses: {
      200: {
        description: "It fits the cookie.",
        headers: ["Set-Cookie"],
        examples: { Token: { csrfToken: CSRF_TOKEN } },
      },
    },
  }),
  "GET /api/auth/session": get("getSession", "Who is signed in", Session, {
    description: "By cookie, whose time it renews, or by bearer token.",
    security: [{ bearer: [] }, { cookie: [] }, {}],
    responses: {
      200: {
        description: "The session.",
        headers: ["Set-Cookie"],
        examples: { "Signed in": { user: USER, expires: "2026-12-20T09:00:00.000Z" }, "Signed out": {} },
      },
    },
  }),
  "POST /api/auth/session": post(
    "Read the session anew",
    [],
    { 200: Session, 400: null },
    {
      operationId: "updateSession",
      description: "What next-auth/react's `update()` calls. Nothing of it can be changed.",
      requestBody: form(Form.pick({ csrfToken: true }), { "From a page": { csrfToken: CSRF_TOKEN } }),
      responses: {
        200: { description: "The session.", headers: ["Set-Cookie"], examples: { "Signed out": {} } },
        400: {
          description: "The token does not hold.",
          headers: ["Set-Cookie"],
          content: { "application/json": { schema: { type: "object" } } },
        },
      },
    },
  ),
  "GET /api/auth/providers": get("listProviders", "The ways to sign in", Providers, {
    description: "Those that are configured.",
    responses: {
      200: {
        description: "By their ids.",
        headers: ["Set-Cookie"],
        examples: {
          "Password and Google": {
            credentials: {
              id: "credentials",
              name: "E-mail and password",
              type: "credentials",
              signinUrl: "https://api.example.com/api/auth/signin/credentials",
              callbackUrl: "https://api.example.com/api/auth/callback/credentials",
            },
            google: {
              id: "google",
              name: "Google",
              type: "oauth",
              signinUrl: "https://api.example.com/api/auth/signin/google",
              callbackUrl: "https://api.example.com/api/auth/callback/google",
            },
          },
        },
      },
    },
  }),
  "POST /api/auth/callback/credentials": signIn,
  "POST /api/auth/signout": signOut,
  "POST /api/auth/signin/{provider}": withProvider(startProvider),
  "GET /api/auth/callback/{provider}": withProvider(comeBack("finishProvider", "Come back from a provider")),
  "GET /api/auth/callback/apple": comeBack("finishApple", "Come back from Apple"),
  "GET /api/auth/callback/email": page("confirmAddressPage", "The way of older mails' links", "/verify"),
  "POST /api/auth/callback/email": confirmAddress,
  "POST /api/auth/callback/apple": takeApplesForm,
  "GET /api/auth/signin": page("signInPage", "The page to sign in", "/sign-in"),
  "GET /api/auth/signin/{provider}": withProvider(
    page("signInPageOf", "The same, for a provider", "/sign-in", ["not_found"]),
  ),
  "GET /api/auth/signout": page("signOutPage", "The page to sign out", "/account"),
  "GET /api/auth/verify-request": page("verifyRequestPage", "The page that says that there is mail", "/verify"),
  "GET /api/auth/error": page("signInErrorPage", "The page that says in words why signing in did not work", "/sign-in"),
  "POST /api/auth/_log": logFromBrowser,
};
