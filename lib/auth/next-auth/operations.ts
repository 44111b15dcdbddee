import { z } from "zod";
import type { ErrorCode } from "../../errors";
import { type DescribedOperation, type Input, type OperationResponse, operation } from "../../operation";
import { CREDENTIALS, USER } from "../examples";
import { isOwnOriginRequired, toCall } from "./call-from-request";
import { finishNextAuth, respondNextAuth } from "./respond";

// What next-auth/react and pages call, as the documentation lists it: next-auth validates its input itself.

/** The errors of every POST, which may be a form or JSON. */
const POSTED = ["origin_not_allowed", "malformed_json", "unsupported_media_type", "validation_failed"] as const;

const redirect = (description: string): OperationResponse => ({
  status: 302,
  description,
  schema: null,
  headers: ["Location", "Set-Cookie"],
});

const WITHOUT_JSON = { 302: redirect("The redirect to `url`, without `json`.") };

function json(schema: z.ZodType, description: string, examples: Record<string, unknown>): OperationResponse {
  return { description, schema, headers: ["Set-Cookie"], examples };
}

function page(id: string, summary: string, to: string): DescribedOperation {
  return { id, summary, description: `Redirects to \`${to}\`.`, response: redirect("The redirect to the page.") };
}

/** A form, as browsers post it. next-auth/react posts the same fields as JSON too. */
type Posted = Omit<DescribedOperation, "errors" | "body" | "examples"> & {
  body: z.ZodType;
  examples: Record<string, unknown>;
  errors?: ErrorCode[];
};

function post({ body: schema, examples, errors = [], isBodyOptional, ...given }: Posted): DescribedOperation {
  const content = {
    "application/x-www-form-urlencoded": { schema, examples },
    "application/json": { schema, examples },
  };
  const requestBody = { required: !isBodyOptional, content };
  return { ...given, bodyFormat: "raw", errors: [...POSTED, ...errors], requestBody };
}

const params = z.object({
  provider: z.string().meta({ description: "The provider's ID from `/api/auth/providers`.", examples: ["google"] }),
});
const Csrf = z.object({ csrfToken: z.string() }).meta({ id: "Csrf" });
const NextUrl = z
  .object({ url: z.url() })
  .meta({ id: "NextUrl", description: "The URL to open next. Its `error` parameter names an error." });
const Session = z
  .object({
    user: z.object({
      id: z.uuid(),
      email: z.string(),
      name: z.string().nullable(),
      image: z.string().nullable(),
      role: z.enum(["user", "support", "admin"]).describe("What the account may do in the console."),
    }),
    expires: z.date(),
  })
  .partial()
  .meta({ id: "NextAuthSession", description: "Empty if nobody is signed in." });
const Providers = z
  .record(
    z.string(),
    z.object({ id: z.string(), name: z.string(), type: z.string(), signinUrl: z.url(), callbackUrl: z.url() }),
  )
  .meta({ id: "Providers", description: "The enabled sign-in providers by ID." });

const Form = z.object({
  csrfToken: z.string().meta({ description: "The token from `/api/auth/csrf`. Its cookie is required too." }),
  callbackUrl: z
    .string()
    .optional()
    .meta({
      description: "Where to redirect: a path, or a URL of this service or of a trusted origin.",
      examples: ["/account"],
    }),
  json: z.literal("true").optional().meta({ description: "Returns `url` as JSON instead of a redirect." }),
});

const API = "https://api.example.com/api/auth";
const CSRF_TOKEN = "b1946ac92492d2347c6235b4d2611184a0b1c2d3e4f5061728394a5b6c7d8e9f";
const NEXT_URL = { "Next URL": { url: "https://api.example.com/account" } };
const { id, email, name, image } = USER;
const SESSIONS = {
  "Signed in": { user: { id, email, name, image, role: "user" }, expires: "2026-12-20T09:00:00.000Z" },
  "Signed out": {},
};

function exampleProvider(id: string, name: string, type: string) {
  return { id, name, type, signinUrl: `${API}/signin/${id}`, callbackUrl: `${API}/callback/${id}` };
}

/** The redirect URL of a provider. */
const providerCallback: Omit<DescribedOperation, "id" | "summary"> = {
  description: "The provider redirects here with `code` and `state`, or with `error`.",
  errors: ["invalid_credentials", "unauthenticated", "not_found", "rate_limited"],
  response: redirect("Signed in, or redirected to a page that explains the error."),
};

/** By method and path. */
const NEXT_AUTH_ACTIONS: Record<string, DescribedOperation> = {
  "GET /api/auth/csrf": {
    id: "getCsrfToken",
    summary: "Get a CSRF token",
    description: "Every next-auth POST requires the token and its cookie, except requests with a bearer token.",
    response: json(Csrf, "The token that belongs to the cookie.", { Token: { csrfToken: CSRF_TOKEN } }),
  },
  "GET /api/auth/session": {
    id: "getSession",
    summary: "Get the session",
    description: "Accepts the cookie, which it renews, or a bearer token.",
    security: [{ bearer: [] }, { cookie: [] }, {}],
    response: json(Session, "The session.", SESSIONS),
  },
  "POST /api/auth/session": post({
    id: "updateSession",
    summary: "Reload the session",
    description: "Called by next-auth/react's `update()`. Data in the request is ignored.",
    body: Form.pick({ csrfToken: true }),
    examples: { "From a page": { csrfToken: CSRF_TOKEN } },
    response: json(Session, "The session.", { "Signed out": {} }),
    otherResponses: {
      400: {
        description: "The CSRF token is invalid.",
        schema: null,
        headers: ["Set-Cookie"],
        content: { "application/json": { schema: { type: "object" } } },
      },
    },
  }),
  "GET /api/auth/providers": {
    id: "listProviders",
    summary: "List the sign-in providers",
    description: "Lists the enabled sign-in providers.",
    response: json(Providers, "The providers by ID.", {
      "Password and Google": {
        credentials: exampleProvider("credentials", "Email and password", "credentials"),
        google: exampleProvider("google", "Google", "oauth"),
      },
    }),
  },
  "POST /api/auth/callback/credentials": post({
    id: "signInWithPassword",
    summary: "Sign in with a password (cookie)",
    description:
      'Called by next-auth/react\'s `signIn("credentials")`. `/api/auth/login` does the same in one request and also issues tokens.',
    body: Form.extend({ email: z.string(), password: z.string() }),
    errors: ["invalid_credentials", "unauthenticated", "overloaded"],
    examples: { "From a page": { csrfToken: CSRF_TOKEN, ...CREDENTIALS, json: "true" } },
    response: json(
      NextUrl,
      "Signed in. If the query of `url` contains `csrf`, the CSRF token was invalid and nobody is signed in.",
      NEXT_URL,
    ),
    otherResponses: {
      ...WITHOUT_JSON,
      401: json(NextUrl, "Not signed in. The `error` parameter of `url` names the error.", {
        "Wrong password": { url: `${API}/error?error=CredentialsSignin&provider=credentials` },
      }),
    },
  }),
  "POST /api/auth/signout": post({
    id: "signOut",
    summary: "Sign out",
    description:
      "Ends the session and removes the devices that it registered. With the cookie, the form with the CSRF token is required. A bearer token needs no form.",
    security: [{ bearer: [] }, { cookie: [] }, {}],
    body: Form,
    isBodyOptional: true,
    errors: ["unauthenticated"],
    examples: { "From a page": { csrfToken: CSRF_TOKEN, callbackUrl: "/", json: "true" } },
    response: json(NextUrl, "Signed out.", NEXT_URL),
    otherResponses: WITHOUT_JSON,
  }),
  "POST /api/auth/signin/{provider}": post({
    id: "signInWithProvider",
    summary: "Start a sign-in with a provider",
    description: "If the caller is signed in, adds the provider to the account. Forwards `prompt` and `login_hint`.",
    params,
    body: Form,
    errors: ["not_found", "rate_limited"],
    examples: { "From a page": { csrfToken: CSRF_TOKEN, callbackUrl: "/account", json: "true" } },
    response: json(NextUrl, "The URL of the provider's sign-in page.", {
      Google: { url: "https://accounts.google.com/o/oauth2/v2/auth?client_id=homeport&state=x7" },
    }),
    otherResponses: WITHOUT_JSON,
  }),
  "GET /api/auth/callback/{provider}": {
    ...providerCallback,
    id: "handleProviderCallback",
    summary: "Handle a provider's redirect",
    params,
  },
  "GET /api/auth/callback/apple": {
    ...providerCallback,
    id: "handleAppleCallback",
    summary: "Handle Apple's redirect",
  },
  "GET /api/auth/callback/email": page("verifyEmailPage", "Email verification page", "/verify"),
  "POST /api/auth/callback/email": post({
    id: "verifyEmail",
    summary: "Verify an email",
    description:
      "Verifies an email with the token of the emailed link and the password of the registration, and signs in. After a sign-in with a provider, its cookie replaces the password. A rejected password does not use up the token.",
    body: z.object({ token: z.string(), password: z.string().optional() }),
    errors: ["invalid_credentials", "unauthenticated", "validation_failed", "rate_limited", "overloaded"],
    examples: { "The link's token": { token: "q0Zb6c1mSx3uY8rT2wVhKfDgLpN4aEoJ", password: CREDENTIALS.password } },
    response: redirect("Signed in, or redirected to a page that explains the error."),
  }),
  "POST /api/auth/callback/apple": post({
    id: "handleAppleFormPost",
    summary: "Handle Apple's form post",
    description: "Apple posts the result from its own site. Redirects to the same path with GET and changes nothing.",
    body: z.object({ code: z.string(), state: z.string() }).partial(),
    errors: ["not_found"],
    examples: { "From Apple": { code: "c1d2e3", state: "s4t5u6" } },
    response: {
      status: 303,
      description: "A redirect to the same path with GET.",
      schema: null,
      headers: ["Location"],
    },
  }),
  "GET /api/auth/signin": page("signInPage", "Sign-in page", "/sign-in"),
  "GET /api/auth/signin/{provider}": {
    ...page("providerSignInPage", "Sign-in page for a provider", "/sign-in"),
    params,
    errors: ["not_found"],
  },
  "GET /api/auth/signout": page("signOutPage", "Sign-out page", "/account"),
  "GET /api/auth/verify-request": page("verifyRequestPage", "Page after a verification email was sent", "/verify"),
  "GET /api/auth/error": page("signInErrorPage", "Sign-in error page", "/sign-in"),
  "POST /api/auth/_log": post({
    id: "logClientError",
    summary: "Log a client error",
    description: "Called by next-auth/react after an error.",
    body: z.looseObject({ code: z.string().optional() }),
    isBodyOptional: true,
    examples: { "A client error": { code: "CLIENT_FETCH_ERROR" } },
    response: { status: 200, description: "The error was logged.", schema: null },
  }),
};

const Params = z.object({ nextauth: z.array(z.string()) });

const shared = {
  description: "See each action.",
  writes: "raw",
  params: Params,
  response: { status: 200, schema: null },
  run: async (input: Input<z.infer<typeof Params>>) =>
    finishNextAuth(input.ctx, input.request, await respondNextAuth(input.ctx, toCall(input))),
} as const;

export const nextAuthOperations = {
  readNextAuth: operation({
    ...shared,
    id: "readNextAuth",
    summary: "next-auth: session, csrf, providers and pages",
    describedAs: NEXT_AUTH_ACTIONS,
  }),

  postNextAuth: operation({
    ...shared,
    id: "postNextAuth",
    summary: "next-auth: sign in, sign out",
    isInPerson: true,
    bodyFormat: ["form", "json"],
    body: z.record(z.string(), z.unknown()),
    isBodyOptional: true,
    isOwnOriginRequired,
    describedAs: {},
  }),
};
