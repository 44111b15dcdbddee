import { z } from "zod";
import type { ErrorCode } from "../../errors";
import { type DescribedOperation, type Input, type OperationResponse, operation } from "../../operation";
import { isOwnOriginRequired, toCall } from "./call-from-request";
import { finishNextAuth, respondNextAuth } from "./respond";

/** What next-auth/react and pages call, as the documentation lists it: next-auth validates its input itself. */
type Details = Pick<DescribedOperation, "description" | "security" | "requestBody"> & {
  responses: Record<number, Omit<OperationResponse, "schema">>;
};

/** The errors of every POST, which may be a form or JSON. */
const POSTED = ["origin_not_allowed", "malformed_json", "unsupported_media_type", "validation_failed"] as const;

const redirect = (description: string): OperationResponse => ({
  status: 302,
  description,
  schema: null,
  headers: ["Location", "Set-Cookie"],
});

/** A form, as browsers post it. next-auth/react posts the same fields as JSON too. */
function form(schema: z.ZodType, examples: Record<string, unknown>) {
  const content = { schema, examples };
  return { required: true, content: { "application/x-www-form-urlencoded": content, "application/json": content } };
}

/** The responses of an action: the schemas of their bodies, and what the documentation says of them. */
function responsesWith(schemas: Record<number, z.ZodType | null>, details: Details["responses"]) {
  const entries = Object.entries(schemas).map(([status, schema]): [string, OperationResponse] => [
    status,
    { ...details[Number(status)], schema },
  ]);
  return { otherResponses: Object.fromEntries(entries) };
}

function get(id: string, summary: string, schema: z.ZodType, { responses, ...details }: Details): DescribedOperation {
  return { id, summary, ...details, ...responsesWith({ 200: schema }, responses) };
}

/** A redirect to one of the service's pages. */
function page(id: string, summary: string, to: string, errors: ErrorCode[] = []): DescribedOperation {
  return {
    id,
    summary,
    errors,
    description: `Redirects to \`${to}\`.`,
    response: redirect("The redirect to the page."),
  };
}

function post(
  summary: string,
  errors: ErrorCode[],
  schemas: Record<number, z.ZodType | null>,
  { responses, ...details }: Details & { id: string },
): DescribedOperation {
  const all = [...POSTED, ...errors];
  return { summary, bodyFormat: "raw", errors: all, ...details, ...responsesWith(schemas, responses) };
}

const ProviderParams = z.object({
  provider: z.string().meta({ description: "The provider's ID from `/api/auth/providers`.", examples: ["google"] }),
});
const CallbackUrl = z
  .string()
  .optional()
  .meta({
    description: "Where to redirect: a path, or a URL of this service or of a trusted origin.",
    examples: ["/account"],
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
  callbackUrl: CallbackUrl,
  json: z.literal("true").optional().meta({ description: "Returns `url` as JSON instead of a redirect." }),
});
const SignInForm = Form.extend({ email: z.string(), password: z.string() });

const CSRF_TOKEN = "b1946ac92492d2347c6235b4d2611184a0b1c2d3e4f5061728394a5b6c7d8e9f";
const NEXT_URL = { "Next URL": { url: "https://api.example.com/account" } };
const TRY_AGAIN = "https://api.example.com/api/auth/error?error=CredentialsSignin&provider=credentials";
const USER = {
  id: "0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10",
  email: "ann@example.com",
  name: "Ann",
  image: null,
  role: "user",
};

const withProvider = (action: DescribedOperation): DescribedOperation => ({ ...action, params: ProviderParams });

const signInWithPassword = post(
  "Sign in with a password (cookie)",
  ["invalid_credentials", "unauthenticated", "overloaded"],
  { 200: NextUrl, 302: null, 401: NextUrl },
  {
    id: "signInWithPassword",
    description:
      'Called by next-auth/react\'s `signIn("credentials")`. `/api/auth/login` does the same in one request and also issues tokens.',
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
        description:
          "Signed in. If the query of `url` contains `csrf`, the CSRF token was invalid and nobody is signed in.",
        headers: ["Set-Cookie"],
        examples: NEXT_URL,
      },
      302: redirect("The redirect to `url`, without `json`."),
      401: {
        description: "Not signed in. The `error` parameter of `url` names the error.",
        headers: ["Set-Cookie"],
        content: { "application/json": { schema: NextUrl, examples: { "Wrong password": { url: TRY_AGAIN } } } },
      },
    },
  },
);

const signOut = post(
  "Sign out",
  ["unauthenticated"],
  { 200: NextUrl, 302: null },
  {
    id: "signOut",
    description:
      "Ends the session and removes the devices that it registered. With the cookie, the form with the CSRF token is required. A bearer token needs no form.",
    security: [{ bearer: [] }, { cookie: [] }, {}],
    requestBody: {
      ...form(Form, { "From a page": { csrfToken: CSRF_TOKEN, callbackUrl: "/", json: "true" } }),
      required: false,
    },
    responses: {
      200: { description: "Signed out.", headers: ["Set-Cookie"], examples: NEXT_URL },
      302: redirect("The redirect to `url`, without `json`."),
    },
  },
);

const startProviderSignIn = post(
  "Start a sign-in with a provider",
  ["not_found", "rate_limited"],
  { 200: NextUrl, 302: null },
  {
    id: "signInWithProvider",
    description: "If the caller is signed in, adds the provider to the account. Forwards `prompt` and `login_hint`.",
    requestBody: form(Form, { "From a page": { csrfToken: CSRF_TOKEN, callbackUrl: "/account", json: "true" } }),
    responses: {
      200: {
        description: "The URL of the provider's sign-in page.",
        headers: ["Set-Cookie"],
        examples: { Google: { url: "https://accounts.google.com/o/oauth2/v2/auth?client_id=homeport&state=x7" } },
      },
      302: redirect("The redirect to `url`, without `json`."),
    },
  },
);

/** The redirect URL of a provider. */
function providerCallback(id: string, summary: string): DescribedOperation {
  return {
    id,
    summary,
    description: "The provider redirects here with `code` and `state`, or with `error`.",
    errors: ["invalid_credentials", "unauthenticated", "not_found", "rate_limited"],
    response: redirect("Signed in, or redirected to a page that explains the error."),
  };
}

const verifyEmail = post(
  "Verify an email",
  ["invalid_credentials", "unauthenticated", "validation_failed", "rate_limited", "overloaded"],
  { 302: null },
  {
    id: "verifyEmail",
    description:
      "Verifies an email with the token of the emailed link and the password of the registration, and signs in. After a sign-in with a provider, its cookie replaces the password. A rejected password does not use up the token.",
    requestBody: form(z.object({ token: z.string(), password: z.string().optional() }), {
      "The link's token": { token: "q0Zb6c1mSx3uY8rT2wVhKfDgLpN4aEoJ", password: "correct horse battery staple" },
    }),
    responses: { 302: redirect("Signed in, or redirected to a page that explains the error.") },
  },
);

const appleFormPost = post(
  "Handle Apple's form post",
  ["not_found"],
  { 303: null },
  {
    id: "handleAppleFormPost",
    description: "Apple posts the result from its own site. Redirects to the same path with GET and changes nothing.",
    requestBody: form(z.object({ code: z.string(), state: z.string() }).partial(), {
      "From Apple": { code: "c1d2e3", state: "s4t5u6" },
    }),
    responses: { 303: { description: "A redirect to the same path with GET.", headers: ["Location"] } },
  },
);

const logClientError = post(
  "Log a client error",
  [],
  { 200: null },
  {
    id: "logClientError",
    description: "Called by next-auth/react after an error.",
    requestBody: {
      ...form(z.looseObject({ code: z.string().optional() }), { "A client error": { code: "CLIENT_FETCH_ERROR" } }),
      required: false,
    },
    responses: { 200: { description: "The error was logged." } },
  },
);

/** By method and path. */
const NEXT_AUTH_ACTIONS: Record<string, DescribedOperation> = {
  "GET /api/auth/csrf": get("getCsrfToken", "Get a CSRF token", Csrf, {
    description: "Every next-auth POST requires the token and its cookie, except requests with a bearer token.",
    responses: {
      200: {
        description: "The token that belongs to the cookie.",
        headers: ["Set-Cookie"],
        examples: { Token: { csrfToken: CSRF_TOKEN } },
      },
    },
  }),
  "GET /api/auth/session": get("getSession", "Get the session", Session, {
    description: "Accepts the cookie, which it renews, or a bearer token.",
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
    "Reload the session",
    [],
    { 200: Session, 400: null },
    {
      id: "updateSession",
      description: "Called by next-auth/react's `update()`. Data in the request is ignored.",
      requestBody: form(Form.pick({ csrfToken: true }), { "From a page": { csrfToken: CSRF_TOKEN } }),
      responses: {
        200: { description: "The session.", headers: ["Set-Cookie"], examples: { "Signed out": {} } },
        400: {
          description: "The CSRF token is invalid.",
          headers: ["Set-Cookie"],
          content: { "application/json": { schema: { type: "object" } } },
        },
      },
    },
  ),
  "GET /api/auth/providers": get("listProviders", "List the sign-in providers", Providers, {
    description: "Lists the enabled sign-in providers.",
    responses: {
      200: {
        description: "The providers by ID.",
        headers: ["Set-Cookie"],
        examples: {
          "Password and Google": {
            credentials: {
              id: "credentials",
              name: "Email and password",
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
  "POST /api/auth/callback/credentials": signInWithPassword,
  "POST /api/auth/signout": signOut,
  "POST /api/auth/signin/{provider}": withProvider(startProviderSignIn),
  "GET /api/auth/callback/{provider}": withProvider(
    providerCallback("handleProviderCallback", "Handle a provider's redirect"),
  ),
  "GET /api/auth/callback/apple": providerCallback("handleAppleCallback", "Handle Apple's redirect"),
  "GET /api/auth/callback/email": page("verifyEmailPage", "Email verification page", "/verify"),
  "POST /api/auth/callback/email": verifyEmail,
  "POST /api/auth/callback/apple": appleFormPost,
  "GET /api/auth/signin": page("signInPage", "Sign-in page", "/sign-in"),
  "GET /api/auth/signin/{provider}": withProvider(
    page("providerSignInPage", "Sign-in page for a provider", "/sign-in", ["not_found"]),
  ),
  "GET /api/auth/signout": page("signOutPage", "Sign-out page", "/account"),
  "GET /api/auth/verify-request": page("verifyRequestPage", "Page after a verification email was sent", "/verify"),
  "GET /api/auth/error": page("signInErrorPage", "Sign-in error page", "/sign-in"),
  "POST /api/auth/_log": logClientError,
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
    bodyFormat: ["form", "json"],
    body: z.record(z.string(), z.unknown()),
    isBodyOptional: true,
    isOwnOriginRequired,
    describedAs: {},
  }),
};
