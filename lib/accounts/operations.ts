import { CREDENTIALS, SESSION, SIGNED_IN, TRANSPORT, USER } from "../auth/examples";
import { ASSERTION, REGISTRATION as NEW_PASSKEY } from "../auth/passkeys/examples";
import { findChallenge, readChallengeCookie } from "../auth/second-factor/challenges";
import { SecondFactor } from "../auth/second-factor/schema";
import {
  chooseTransport,
  renewedSessionResponse,
  sessionResponse,
  signedOutResponse,
} from "../auth/sessions/session-response";
import { Reauthenticated, reauthenticate, STEP_UP_ERRORS, StepUpProof } from "../auth/step-up";
import { type Declared, operation } from "../operation";
import { jsonFile, RouteResponse } from "../platform/http-message";
import { deleteAccount } from "./delete-account";
import { resendVerification } from "./email-verification";
import { NEW_ACCOUNT_EXPORT } from "./examples";
import { exportAccount, exportFileName } from "./export-account";
import { acceptInvitation } from "./invitations";
import { confirmReset, requestReset } from "./password-reset";
import { register } from "./register";
import {
  AcceptInvitation,
  AccountDeleted,
  AccountExport,
  Auth,
  ConfirmReset,
  DeleteAccount,
  Identities,
  IdentityParams,
  InvitationAccepted,
  Login,
  PasswordReset,
  Register,
  RequestReset,
  ResetAccepted,
  VerificationRequired,
} from "./schema";
import { completeSignInWithFactor, SIGN_IN_ERRORS, signIn } from "./sign-in";
import { AppleNotification, receiveAppleNotification } from "./sign-in-methods/apple-notifications";
import { ChangePassword, changePassword, PasswordChanged } from "./sign-in-methods/change-password";
import { listIdentities, unlinkIdentity } from "./sign-in-methods/identities";

const challenge = "0dXJpc3RzIG9mIHRoZSB3b3JsZCwgdW5pdGUgbm93IQ";

const newPassword = "a better horse battery staple";

const EMAILED_TOKEN = "q0Zb6c1mSx3uY8rT2wVhKfDgLpN4aEoJ";

const registration = {
  summary: "Register an account",
  isInPerson: true,
  body: Register,
  errors: ["email_taken", "origin_not_allowed", "rate_limited", "overloaded"],
  examples: {
    "A native app": { ...CREDENTIALS, name: "Ann", transport: "token", deviceName: "Ann's iPhone" },
    "A web app": { ...CREDENTIALS, name: "Ann" },
  },
  response: {
    status: 201,
    description: "The account was created and is signed in.",
    schema: Auth,
    headers: ["Set-Cookie"],
    examples: SIGNED_IN,
  },
  otherResponses: {
    202: {
      description: "A verification link was sent.",
      schema: VerificationRequired,
      examples: { "Verification required": { status: "verification_required" } },
    },
  },
  run: async ({ ctx, request, body, caller }) => {
    const transport = chooseTransport(request, body.transport, ctx);
    const registered = await register(ctx, body, transport, caller);
    return registered
      ? sessionResponse(201, registered, request, ctx)
      : new RouteResponse(202, { status: "verification_required" });
  },
} satisfies Omit<Declared<unknown, unknown, Register, undefined, undefined, undefined>, "id" | "description">;
const REGISTRATION = `${TRANSPORT} If the service requires verified emails, it sends a link instead and returns 202, whether or not the email has an account.`;

export const accountOperations = {
  redirectToChangePassword: operation({
    id: "redirectToChangePassword",
    summary: "Redirect to the page that changes the password",
    description:
      "Password managers open this URL to change a password (W3C, A Well-Known URL for Changing Passwords). The page asks a visitor without a session to sign in first.",
    database: false,
    writes: "raw",
    response: { status: 302, description: "`Location` is the page.", schema: null, headers: ["Location"] },
    run: () => new RouteResponse(302, null, { Location: "/account/password", "Content-Length": "0" }),
  }),

  deleteAccount: operation({
    id: "deleteAccount",
    summary: "Delete the caller's account",
    description:
      "Deletes the account with its sessions, devices and identities, and emails its owner. Requires the password; after several wrong ones, each further attempt must wait. An account without a password requires a sign-in within the last ten minutes instead. Apple is asked to revoke the access that a sign-in with Apple gave. Store subscriptions continue until they are canceled in the store.",
    session: true,
    body: DeleteAccount,
    errors: ["last_admin", ...STEP_UP_ERRORS],
    examples: {
      "With a password": { confirm: "DELETE", password: CREDENTIALS.password },
      "Without a password": { confirm: "DELETE" },
    },
    response: {
      description:
        "The account was deleted. `subscriptions` lists the active store subscriptions with the URLs to cancel them.",
      schema: AccountDeleted,
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
        "Without a subscription": { status: "deleted", subscriptions: [], storeSubscriptionsCancelled: false },
      },
    },
    run: async ({ ctx, principal, caller, body }) => {
      const deleted = await deleteAccount(ctx, principal, body, caller);
      return signedOutResponse(200, deleted, principal, ctx);
    },
  }),

  exportAccount: operation({
    id: "exportAccount",
    summary: "Export the caller's account data",
    description:
      "Requires an authentication within the last ten minutes: call `POST /api/auth/reauthenticate` first. Returns everything stored about the account as a file, without password hashes, tokens and complete device tokens. `isRevokedOnDeletion` marks an identity whose provider is asked to end the app's access when the account is deleted.",
    session: true,
    hasSideEffect: true,
    errors: ["reauthentication_required", "rate_limited"],
    response: {
      description: "The account's data.",
      schema: AccountExport,
      headers: ["Content-Disposition"],
      examples: {
        "A new account": {
          ...NEW_ACCOUNT_EXPORT,
          sessions: [{ id: SESSION.id, transport: "token", createdAt: USER.createdAt, expiresAt: SESSION.expiresAt }],
          securityEvents: [{ type: "registered", at: USER.createdAt, actor: "account" }],
        },
      },
    },
    run: async ({ ctx, principal, caller }) => {
      const data = await exportAccount(ctx, principal, caller);
      return jsonFile(exportFileName(data.exportedAt), data);
    },
  }),

  listIdentities: operation({
    id: "listIdentities",
    summary: "List the caller's linked sign-in providers",
    description: "Lists the providers that can sign in to the account, oldest first.",
    session: true,
    response: {
      description: "The linked providers.",
      schema: Identities,
      examples: {
        "One provider": {
          identities: [{ id: "0198d2f4-3c2b-7d40-8a55-2e9c1f7b6d32", provider: "google", linkedAt: USER.createdAt }],
        },
      },
    },
    run: async ({ ctx, principal }) => ({ identities: await listIdentities(ctx.db, principal.account.id) }),
  }),

  unlinkIdentity: operation({
    id: "unlinkIdentity",
    summary: "Unlink a sign-in provider from the caller's account",
    description:
      "Unlinks a provider, ends all other sessions, which the provider may have created, and emails the owner. Requires a recent authentication: on `reauthentication_required`, call `POST /api/auth/reauthenticate` and repeat the request. The last way to sign in cannot be removed. The provider of another account returns 404, as an unknown one does.",
    session: true,
    params: IdentityParams,
    errors: ["not_found", "last_sign_in_method", "reauthentication_required"],
    response: { description: "The provider can no longer sign in to the account.", schema: null },
    run: ({ ctx, principal, caller, params }) => unlinkIdentity(ctx, principal, { ...params, proof: {} }, caller),
  }),

  receiveAppleNotification: operation({
    id: "receiveAppleNotification",
    summary: "Receive a notification of Sign in with Apple",
    description:
      "Apple calls this when somebody stops using Apple for this service, deletes their Apple account, or turns the forwarding of emails off or on. Register the URL with the app's identifier (Apple, “Enabling server-to-server notifications”).",
    body: AppleNotification,
    errors: ["webhook_unauthorized", "webhook_not_configured", "provider_unavailable"],
    examples: { "Consent revoked": { payload: "eyJraWQiOiJZdXlYb1kiLCJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl" } },
    response: { description: "The notification was applied, or is about nobody here.", schema: null },
    run: ({ ctx, body, caller }) => receiveAppleNotification(ctx, body.payload, caller),
  }),

  logIn: operation({
    id: "logIn",
    summary: "Log in",
    description: `${TRANSPORT} After several wrong passwords for an email, each further attempt must wait. Attempts by strangers do not block a client that has signed in to the account before. A password reset ends the wait. For an account with a second factor, the response is 401 second_factor_required with a challenge, which \`POST /api/auth/login/factor\` completes.`,
    isInPerson: true,
    body: Login,
    errors: [...SIGN_IN_ERRORS, "unauthenticated", "origin_not_allowed"],
    examples: {
      "A native app": { ...CREDENTIALS, transport: "token", deviceName: "Ann's iPhone" },
      "A web app": CREDENTIALS,
    },
    response: { description: "Signed in.", schema: Auth, headers: ["Set-Cookie"], examples: SIGNED_IN },
    run: async ({ ctx, request, body, caller }) => {
      const transport = chooseTransport(request, body.transport, ctx);
      return sessionResponse(200, await signIn(ctx, body, transport, caller), request, ctx);
    },
  }),

  completeLogIn: operation({
    id: "completeLogIn",
    summary: "Complete a login with a second factor",
    description:
      "Completes a sign-in that responded `second_factor_required`. Returns the session in the form that the sign-in requested. A code works once; after several wrong ones, each further attempt must wait. Codes of the app and recovery codes are counted separately, so that one works while the other waits.",
    isInPerson: true,
    body: SecondFactor,
    errors: ["invalid_challenge", "invalid_code", "passkey_invalid", "origin_not_allowed", "rate_limited"],
    examples: {
      "With an authenticator app": { challenge, code: "492039" },
      "With a recovery code": { challenge, recoveryCode: "7K3M9Q-WX2B4N-0R5T8V-C1D6FG" },
      "With a passkey": { challenge, passkey: ASSERTION },
      "In a browser, which has the challenge in a cookie": { code: "492039" },
    },
    response: { description: "Signed in.", schema: Auth, headers: ["Set-Cookie"], examples: SIGNED_IN },
    run: async ({ ctx, request, body, caller }) => {
      const token = body.challenge ?? readChallengeCookie(ctx.config, request.headers);
      const challenge = await findChallenge(ctx, token, caller);
      chooseTransport(request, challenge.transport, ctx);
      return sessionResponse(200, await completeSignInWithFactor(ctx, challenge, body, caller), request, ctx);
    },
  }),

  changePassword: operation({
    id: "changePassword",
    summary: "Change the caller's password, or set the first one",
    description:
      "Changes the password. Requires the current password in `password`; an account without one sets its first password after a recent authentication. Ends all other sessions and their devices, and emails the owner. The bearer token of the request ends too: the response has its successor, and a cookie is replaced. With `keepOtherSessions` nothing ends.",
    session: true,
    body: ChangePassword,
    errors: STEP_UP_ERRORS,
    examples: {
      "With the current password": { password: CREDENTIALS.password, newPassword },
      "Other sessions stay": { password: CREDENTIALS.password, newPassword, keepOtherSessions: true },
      "The first password": { newPassword },
    },
    response: {
      description: "The password was changed.",
      schema: PasswordChanged,
      headers: ["Set-Cookie"],
      examples: {
        "With a bearer token": {
          status: "password_changed",
          token: SIGNED_IN["With a token"].token,
          tokenType: "Bearer",
        },
        "With a cookie, or other sessions kept": { status: "password_changed" },
      },
    },
    run: async ({ ctx, principal, caller, body }) => {
      const token = await changePassword(ctx, principal, body, caller);
      return renewedSessionResponse(200, { status: "password_changed" }, token, { ctx, principal, caller });
    },
  }),

  reauthenticate: operation({
    id: "reauthenticate",
    summary: "Authenticate again",
    description:
      "Authenticates the user of the session again. For the next ten minutes, the session may delete or export the account, change how it signs in, and do whatever else requires a recent authentication. Wrong passwords are limited as in a sign-in. An account without a password and a passkey signs in again instead.",
    session: true,
    body: StepUpProof,
    errors: STEP_UP_ERRORS,
    examples: { "With a password": { password: CREDENTIALS.password }, "With a passkey": { passkey: ASSERTION } },
    response: {
      description: "The session is authenticated as of now.",
      schema: Reauthenticated,
      examples: {
        "With a password": { authenticatedAt: "2026-11-20T09:30:00.000Z", aal: 1, amr: ["pwd"] },
        "With a passkey": { authenticatedAt: "2026-11-20T09:30:00.000Z", aal: 2, amr: ["pwd", "swk", "user", "mfa"] },
      },
    },
    run: ({ ctx, principal, body, caller }) => reauthenticate(ctx, principal, body, caller),
  }),

  confirmPasswordReset: operation({
    id: "confirmPasswordReset",
    summary: "Confirm a password reset",
    description:
      "Sets a new password with the token of the emailed link. Ends every session of the account and does not start a new one. `identities` lists the providers that can still sign in to the account; show them to its owner. A rejected password does not use up the token.",
    isInPerson: true,
    body: ConfirmReset,
    errors: ["invalid_or_expired_token", "invalid_code", "unauthenticated", "rate_limited", "overloaded"],
    examples: { "The link's token": { token: EMAILED_TOKEN, password: newPassword } },
    response: {
      description: "The password was changed.",
      schema: PasswordReset,
      examples: {
        "Password changed": {
          status: "password_reset",
          identities: [{ provider: "google", linkedAt: USER.createdAt }],
        },
      },
    },
    run: async ({ ctx, body, caller }) => ({
      status: "password_reset",
      identities: await confirmReset(ctx, body, caller),
    }),
  }),

  acceptInvitation: operation({
    id: "acceptInvitation",
    summary: "Accept an invitation",
    description:
      "Sets the first password of an account, or its first passkey, with the token of the emailed link. A passkey is created from the options of `POST /api/auth/passkeys/invitation/options`. Verifies the email, and does not start a session. What is rejected does not use up the token.",
    isInPerson: true,
    body: AcceptInvitation,
    errors: [
      "invalid_or_expired_token",
      "invalid_code",
      "passkey_invalid",
      "passkey_registered",
      "unauthenticated",
      "rate_limited",
      "overloaded",
    ],
    examples: {
      "With a password": { token: EMAILED_TOKEN, password: newPassword },
      "With a passkey": { token: EMAILED_TOKEN, passkey: NEW_PASSKEY, name: "Ann's iPhone" },
    },
    response: {
      description: "The account has a password or a passkey.",
      schema: InvitationAccepted,
      examples: { Accepted: { status: "invitation_accepted", identities: [] } },
    },
    run: async ({ ctx, body, caller }) => ({
      status: "invitation_accepted",
      identities: await acceptInvitation(ctx, body, caller),
    }),
  }),

  requestPasswordReset: operation({
    id: "requestPasswordReset",
    summary: "Request a password reset",
    description:
      "Emails a link that sets a new password once within 30 minutes. The response is the same for known and unknown emails, and after the limit of three emails per hour and client network is reached. In that case the latest link still works.",
    isInPerson: true,
    body: RequestReset,
    errors: ["rate_limited"],
    examples: { "An email": { email: "ann@example.com" } },
    response: {
      status: 202,
      description: "If the account exists, an email is sent.",
      schema: ResetAccepted,
      examples: { Accepted: { status: "accepted" } },
    },
    run: async ({ ctx, body, caller }) => {
      await requestReset(ctx, body.email, caller);
      return { status: "accepted" };
    },
  }),

  resendVerification: operation({
    id: "resendVerification",
    summary: "Send the verification email again",
    description:
      "Emails a link that verifies the email within a day. The response is the same for unverified, verified and unknown emails, and after the limit of three emails per hour and client network is reached. In that case the latest link still works.",
    isInPerson: true,
    body: RequestReset,
    errors: ["rate_limited"],
    examples: { "An email": { email: "ann@example.com" } },
    response: {
      status: 202,
      description: "If an account waits for the verification of this email, an email is sent.",
      schema: ResetAccepted,
      examples: { Accepted: { status: "accepted" } },
    },
    run: async ({ ctx, body, caller }) => {
      await resendVerification(ctx, body.email, caller);
      return { status: "accepted" };
    },
  }),

  register: operation({ ...registration, id: "register", description: REGISTRATION }),

  signUp: operation({
    ...registration,
    id: "signUp",
    description: `An alias of \`/api/auth/register\`. ${REGISTRATION}`,
  }),

  headExportAccount: operation({
    id: "headExportAccount",
    summary: "Get the headers of the export without creating it",
    description: "Returns the status and headers of GET without the body.",
    session: true,
    response: { status: 200, description: "The account's data.", schema: null, headers: ["Content-Disposition"] },
    run: ({ ctx }) => jsonFile(exportFileName(ctx.now()), null),
  }),
};
