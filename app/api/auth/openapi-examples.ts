export const USER = {
  id: "0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10",
  email: "ann@example.com",
  name: "Ann",
  image: null,
  emailVerified: false,
  createdAt: "2026-11-20T09:00:00.000Z",
};
export const SESSION = { id: "0198d2f4-3c2b-7d40-8a55-2e9c1f7b6d31", expiresAt: "2027-02-18T09:00:00.000Z" };
export const CREDENTIALS = { email: "ann@example.com", password: "correct horse battery staple" };

export const SIGNED_IN = {
  "With a token": {
    user: USER,
    session: { ...SESSION, transport: "token" },
    token: "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..Q2hhbmdl.bWVQbGVhc2U.dGhhbmtz",
    tokenType: "Bearer",
  },
  "With a cookie": { user: USER, session: { ...SESSION, transport: "cookie", expiresAt: "2026-12-20T09:00:00.000Z" } },
};

export const TRANSPORT =
  "Returns the session as a token or sets a cookie, as `transport` requests. By default, browsers get a cookie and other clients a token. Cookies are set only for the service's own origin and trusted ones.";

/** The errors that OAuth's endpoints have in common. */
export const OAUTH_ERRORS =
  "`error` is `invalid_request`, `invalid_client`, `unauthorized_client`, `invalid_grant` or `unsupported_grant_type` (RFC 6749, section 5.2).";
export const OAUTH_ERROR_EXAMPLES = {
  "An unknown client": {
    error: "invalid_client",
    error_description: "The client is not registered",
    error_uri: "https://api.example.com/docs/errors#invalid_client",
  },
};
