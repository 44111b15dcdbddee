export const USER = {
  id: "0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10",
  email: "ann@example.com",
  name: "Ann",
  image: null,
  emailVerified: false,
  emailProblem: null,
  createdAt: "2026-11-20T09:00:00.000Z",
};
export const SESSION = { id: "0198d2f4-3c2b-7d40-8a55-2e9c1f7b6d31", expiresAt: "2027-02-18T09:00:00.000Z" };
export const CREDENTIALS = { email: "ann@example.com", password: "correct horse battery staple" };
/** A change of email that waits for its confirmation. */
export const PENDING_EMAIL = {
  email: "ann@example.org",
  requestedAt: "2026-11-20T09:00:00.000Z",
  expiresAt: "2026-11-21T09:00:00.000Z",
};

export const SIGNED_IN = {
  "With a token": {
    user: USER,
    session: { ...SESSION, transport: "token" },
    token: "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..Q2hhbmdl.bWVQbGVhc2U.dGhhbmtz",
    tokenType: "Bearer",
  },
  "With a cookie": { user: USER, session: { ...SESSION, transport: "cookie", expiresAt: "2026-12-20T09:00:00.000Z" } },
};

export const RECOVERY_CODES = [
  "7K3M9Q-WX2B4N-0R5T8V-C1D6FG",
  "2B4N7K-3M9QWX-C1D6FG-0R5T8V",
  "9QWX2B-4N7K3M-8VC1D6-FG0R5T",
  "X2B4N7-K3M9QW-T8VC1D-6FG0R5",
  "M9QWX2-B4N7K3-R5T8VC-1D6FG0",
  "4N7K3M-9QWX2B-D6FG0R-5T8VC1",
  "K3M9QW-X2B4N7-VC1D6F-G0R5T8",
  "WX2B4N-7K3M9Q-5T8VC1-D6FG0R",
  "3M9QWX-2B4N7K-1D6FG0-R5T8VC",
  "N7K3M9-QWX2B4-G0R5T8-VC1D6F",
];

export const TRANSPORT =
  "Returns the session as a token or sets a cookie, as `transport` requests. By default, browsers get a cookie and other clients a token. Cookies are set only for the service's own origin and trusted ones.";
