import type { Details } from "../operation";

const USER = {
  id: "0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10",
  email: "ann@example.com",
  name: "Ann",
  image: null,
  emailVerified: false,
  createdAt: "2026-11-20T09:00:00.000Z",
};
const SESSION = { id: "0198d2f4-3c2b-7d40-8a55-2e9c1f7b6d31", expiresAt: "2027-02-18T09:00:00.000Z" };
const CREDENTIALS = { email: "ann@example.com", password: "correct horse battery staple" };

const SIGNED_IN = {
  "With a token": {
    user: USER,
    session: { ...SESSION, transport: "token" },
    token: "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..Q2hhbmdl.bWVQbGVhc2U.dGhhbmtz",
    tokenType: "Bearer",
  },
  "With a cookie": { user: USER, session: { ...SESSION, transport: "cookie", expiresAt: "2026-12-20T09:00:00.000Z" } },
};

const TRANSPORT =
  "The session comes as a token in the body, or as a cookie: as `transport` asks, else as a cookie for what looks like a browser. A cookie is set only for the service's own origin and trusted ones.";

const registering = (operationId: string, note: string): Details => ({
  operationId,
  description: `${note}${TRANSPORT} Where the service requires verified addresses, it mails a link instead and answers 202, whether the address has an account or not.`,
  requests: {
    "A native app": { ...CREDENTIALS, name: "Ann", transport: "token", deviceName: "Ann's iPhone" },
    "A web app": { ...CREDENTIALS, name: "Ann" },
  },
  responses: {
    201: { description: "Registered, and signed in.", headers: ["Set-Cookie"], examples: SIGNED_IN },
    202: {
      description: "The link in the mail goes on from here.",
      examples: { "Look into the mailbox": { status: "verification_required" } },
    },
  },
});

export const ACCOUNTS: Record<string, Details> = {
  "POST /api/auth/login": {
    operationId: "logIn",
    description: `${TRANSPORT} After several wrong passwords for an address, each further try has to wait; those of strangers do not hold a client that the account has signed in from, and a reset lets the owner in at once.`,
    requests: {
      "A native app": { ...CREDENTIALS, transport: "token", deviceName: "Ann's iPhone" },
      "A web app": CREDENTIALS,
    },
    responses: { 200: { description: "Signed in.", headers: ["Set-Cookie"], examples: SIGNED_IN } },
  },
  "POST /api/auth/register": registering("register", ""),
  "POST /api/auth/signup": registering("signUp", "Another name of `/api/auth/register`. "),
  "POST /api/auth/reset/request": {
    operationId: "requestPasswordReset",
    description:
      "Mails a link that sets a new password, once, within 30 minutes. The answer is the same whether the address has an account or not, and where it has had its share of mails: three an hour for each client network. The link in the latest mail works then.",
    requests: { "An address": { email: "ann@example.com" } },
    responses: {
      202: {
        description: "If there is such an account, the mail is on its way.",
        examples: { Accepted: { status: "accepted" } },
      },
    },
  },
  "POST /api/auth/reset/confirm": {
    operationId: "confirmPasswordReset",
    description:
      "Takes the token of the mailed link. Ends every session of the account, and does not sign in. `identities` are the providers that still sign in to the account: show them to its owner. A password that is refused leaves the token as it is.",
    requests: {
      "The link's token": { token: "q0Zb6c1mSx3uY8rT2wVhKfDgLpN4aEoJ", password: "a better horse battery staple" },
    },
    responses: {
      200: {
        description: "The new password counts.",
        examples: {
          Done: { status: "password_reset", identities: [{ provider: "google", linkedAt: USER.createdAt }] },
        },
      },
    },
  },
  "POST /api/auth/account/delete": {
    operationId: "deleteAccount",
    description:
      "Deletes the account with its sessions, devices and identities, and mails its owner. It needs the password, and after several wrong ones each further try has to wait; of an account that has none, a sign-in within the last ten minutes. Subscriptions of a store go on until they are cancelled there.",
    requests: {
      "With a password": { confirm: "DELETE", password: CREDENTIALS.password },
      "Of an account without one": { confirm: "DELETE" },
    },
    responses: {
      200: {
        description: "Deleted. What the stores still charge for is named, with where to cancel it.",
        headers: ["Set-Cookie"],
        examples: {
          "With a subscription": {
            status: "deleted",
            subscriptions: [
              {
                store: "APP_STORE",
                status: "active",
                expiresAt: "2026-12-20T09:00:00.000Z",
                managementUrl: "https://apps.apple.com/account/subscriptions",
              },
            ],
            storeSubscriptionsCancelled: false,
          },
          "Without one": { status: "deleted", subscriptions: [], storeSubscriptionsCancelled: false },
        },
      },
    },
  },
  "GET /api/auth/account/export": {
    operationId: "exportAccount",
    description:
      "Everything kept about the account, as a file: never a hash, a session's token or a whole device token.",
    responses: {
      200: {
        description: "The account's data.",
        headers: ["Content-Disposition"],
        examples: {
          "A new account": {
            schema: "account-export",
            schemaVersion: 1,
            exportedAt: "2026-11-20T09:30:00.000Z",
            account: { ...USER, updatedAt: USER.createdAt },
            identities: [],
            sessions: [{ id: SESSION.id, transport: "token", createdAt: USER.createdAt, expiresAt: SESSION.expiresAt }],
            devices: [],
            subscriptions: [],
            billingEvents: [],
            securityEvents: [{ type: "registered", at: USER.createdAt }],
          },
        },
      },
    },
  },
};
