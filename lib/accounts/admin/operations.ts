import type { Context } from "../../context";
import { formOperation, operation } from "../../operation";
import { commandLineOf, recordAccountChange } from "../../platform/audit/operator-events";
import { Reason } from "../../platform/audit/schema";
import { jsonFile } from "../../platform/http-message";
import { PageQuery } from "../../platform/lists";
import type { Operator } from "../../principal";
import { deleteAccountAsOperator } from "../delete-account";
import { NEW_ACCOUNT_EXPORT } from "../examples";
import { exportFileName, readExport } from "../export-account";
import { LINK_TTL_SECONDS, requestFirstOperatorLink } from "../first-operator";
import { AccountExport } from "../schema";
import {
  createHandedCode,
  disableAccount,
  enableAccount,
  lockAndReadAccount,
  resetFactors,
  restoreConsent,
  revokeAccountSession,
  revokeAccountSessions,
  setRole,
  unlinkProvider,
} from "./change-account";
import { createAccount, inviteAccount } from "./create-account";
import { grantRole, RoleGrant } from "./operators";
import {
  AccountChange,
  AccountDetails,
  AccountEvents,
  AccountParams,
  Accounts,
  AccountsQuery,
  DeletedAccount,
  FirstOperatorLink,
  HandedCode,
  InvitedAccount,
  NewAccount,
  NewRole,
  ProviderChange,
  RoleChange,
  SessionParams,
  UnlinkedProvider,
  WithReason,
} from "./schema";
import { searchAccounts } from "./search-accounts";
import { listAccountEvents, showAccount } from "./show-account";

/** An account as operators see it. */
const ACCOUNT = {
  id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
  email: "ann@example.com",
  emailVerifiedAt: "2026-11-20T09:05:00.000Z",
  name: "Ann Example",
  role: "user",
  disabledAt: null,
  consentWithdrawnAt: null,
  emailProblem: null,
  createdAt: "2026-11-20T09:00:00.000Z",
};

const INVITED = {
  account: { ...ACCOUNT, emailVerifiedAt: null },
  invitation: { createdAt: "2026-11-20T09:00:00.000Z", expiresAt: "2026-11-27T09:00:00.000Z" },
};

const REASON = "Asked for by email, ticket 4711";

const EVENT = {
  id: "019aa5f4-1b2c-7d3e-8f40-5a6b7c8d9e0f",
  type: "role_changed",
  at: "2026-11-22T14:03:00.000Z",
  actor: "account:019aa5f0-0a1b-7c2d-8e3f-405162738495",
  target: null,
  network: "203.0.113.0/24",
  userAgent: "Mozilla/5.0",
  details: { from: "user", to: "support", reason: REASON },
};

const TIMES = { createdAt: "2026-11-20T09:00:00.000Z", lastSeenAt: "2026-11-22T08:00:00.000Z" };

/** In the console, a reason is required. */
const WITH_REASON = AccountParams.extend({ reason: Reason });

const READ = { role: "support", scope: "accounts:read" } as const;
const CHANGE = { stepUp: true, scope: "accounts:write", idempotency: "replay", params: AccountParams } as const;
const CHANGE_WITH_REASON = {
  ...CHANGE,
  body: WithReason,
  isBodyOptional: true,
  examples: { "With a reason": { reason: REASON } },
} as const;

const NOTHING_ENDED = { sessionsEnded: 0, devicesRemoved: 0 };

/** The response to a change, with the fields of its example that differ. */
function accountChanged(description: string, changed: object = {}) {
  const example = { account: ACCOUNT, isChanged: true, sessionsEnded: 3, devicesRemoved: 2, ...changed };
  return { description, schema: AccountChange, examples: { Changed: example } };
}

const LAST_ADMIN = { last_admin: { message: "This is the only admin. Give another account the role first" } };

export const accountOperations = {
  searchAccounts: operation({
    id: "searchAccounts",
    summary: "Search accounts",
    description:
      "Lists accounts, newest first. With `query`, lists the account with that id first, then those whose email, name or a later word of the name begins with it, in alphabetical order. A cursor is valid with the same filters only.",
    ...READ,
    query: AccountsQuery,
    response: {
      description: "A page of accounts.",
      schema: Accounts,
      examples: { "One account": { accounts: [ACCOUNT], nextCursor: null } },
    },
    run: ({ ctx, query }) => searchAccounts(ctx, query),
  }),

  createAccount: operation({
    id: "createAccount",
    summary: "Create an account",
    description:
      'Creates an account without a password. With `invite`, its owner gets an email with a link that sets a password or a passkey, once, within 7 days; without, the owner can use "Forgot your password?" or a sign-in provider that verifies the email, or be invited later. `email_taken` has the `accountId` of the account that has the email. Subscribed webhook endpoints get `account.created`.',
    role: "admin",
    stepUp: true,
    scope: "accounts:write",
    idempotency: "replay",
    body: NewAccount,
    errors: ["email_taken", "rate_limited"],
    examples: { "With an invitation": { email: ACCOUNT.email, name: ACCOUNT.name, invite: true } },
    response: {
      status: 201,
      description: "The account is created.",
      schema: InvitedAccount,
      examples: { "With an invitation": INVITED },
    },
    run: ({ ctx, operator, body }) => createAccount(ctx, operator, body),
    form: {
      kept: ["email", "name", "locale", "invite"],
      errors: { email_taken: { field: "email" } },
      after: ({ account, invitation }) => ({
        done: invitation ? "created_and_invited" : "created",
        to: `/console/accounts/${account.id}`,
      }),
    },
  }),

  requestFirstOperatorLink: operation({
    id: "requestFirstOperatorLink",
    summary: "Create a link for the first operator",
    description:
      "Creates a link that makes whoever opens it the first admin. It works once, within 30 minutes, and earlier links work until then. Refused as soon as there is an admin. Only for `homeport first-operator` on the service's machine.",
    role: "admin",
    errors: ["admin_exists"],
    response: {
      status: 201,
      description: "The link.",
      schema: FirstOperatorLink,
      examples: {
        "A link": {
          url: "https://api.example.com/first-operator#token=q0Zb6c1mSx3uY8rT2wVhKfDgLpN4aEoJ7iHs9kBzXcM",
          ttlSeconds: LINK_TTL_SECONDS,
        },
      },
    },
    run: ({ ctx, principal }) => commandLineOf(principal) && requestFirstOperatorLink(ctx),
  }),

  inviteAccount: operation({
    id: "inviteAccount",
    summary: "Invite the owner of an account",
    description:
      "Emails the owner of an account without a password and a passkey, such as an imported one, a link that sets one of the two, once, within 7 days. The link of an earlier invitation no longer works. At most five invitations an hour are sent to an email.",
    ...CHANGE_WITH_REASON,
    role: "admin",
    errors: ["not_found", "account_disabled", "sign_in_method_exists", "rate_limited"],
    response: { description: "The invitation is queued.", schema: InvitedAccount, examples: { Invited: INVITED } },
    run: ({ ctx, operator, params, body }) => inviteAccount(ctx, operator, params.accountId, body),
    form: { fields: WITH_REASON, after: () => ({ done: "invited" }) },
  }),

  showAccount: operation({
    id: "showAccount",
    summary: "Show an account",
    description:
      "Shows an account with its live sessions, devices, purchases with their events, factors and newest security events. Nothing in it is secret.",
    ...READ,
    params: AccountParams,
    errors: ["not_found"],
    response: {
      description: "The account.",
      schema: AccountDetails,
      examples: {
        "An account with one session": {
          ...ACCOUNT,
          image: null,
          locale: "en",
          externalId: null,
          sandboxUntil: null,
          updatedAt: "2026-11-20T09:05:00.000Z",
          hasPassword: true,
          invitation: null,
          identities: [],
          sessions: [
            {
              id: "019aa5f1-2b3c-7d4e-8f50-6a7b8c9d0e1f",
              transport: "cookie",
              userAgent: "Mozilla/5.0",
              deviceName: null,
              ...TIMES,
              authenticatedAt: "2026-11-20T09:00:00.000Z",
              aal: 1,
              amr: ["pwd"],
              idleExpiresAt: "2026-11-29T08:00:00.000Z",
              expiresAt: "2026-12-20T09:00:00.000Z",
            },
          ],
          devices: [],
          subscription: { status: "none", isActive: false, productId: null, store: null, accessEndsAt: null },
          purchases: [],
          factors: { totp: null, recoveryCodes: null, passkeys: [] },
          securityEvents: [EVENT],
        },
      },
    },
    run: ({ ctx, params }) => showAccount(ctx, params.accountId),
  }),

  deleteAccountAsOperator: operation({
    id: "deleteAccountAsOperator",
    summary: "Delete an account",
    description:
      "Deletes an account with all its data, and sends an email to its owner. Its billing history stays without personal data. Only the owner can cancel the subscriptions of a store. The last admin cannot be deleted.",
    ...CHANGE,
    role: "admin",
    query: WithReason.strip(),
    errors: ["not_found", "last_admin"],
    response: {
      description: "The account is deleted.",
      schema: DeletedAccount,
      examples: {
        Deleted: {
          status: "deleted",
          id: ACCOUNT.id,
          email: ACCOUNT.email,
          subscriptions: [],
          storeSubscriptionsCancelled: false,
        },
      },
    },
    run: ({ ctx, operator, params, query }) => deleteAccountAsOperator(ctx, operator, params.accountId, query),
    form: { fields: WITH_REASON, errors: LAST_ADMIN, after: () => ({ done: "deleted", to: "/console/accounts" }) },
  }),

  disableAccount: operation({
    id: "disableAccount",
    summary: "Disable an account",
    description:
      "Ends the account's sessions, removes its devices, and blocks sign-ins. Its data and its subscriptions stay. The last admin cannot be disabled. Repeating the request changes nothing.",
    ...CHANGE_WITH_REASON,
    role: "admin",
    errors: ["not_found", "last_admin"],
    response: accountChanged("The account is disabled.", {
      account: { ...ACCOUNT, disabledAt: "2026-11-22T14:03:00.000Z" },
    }),
    run: ({ ctx, operator, params, body }) => disableAccount(ctx, operator, params.accountId, body),
    form: { fields: WITH_REASON, errors: LAST_ADMIN, after: () => ({ done: "disabled" }) },
  }),

  restoreAccountConsent: operation({
    id: "restoreAccountConsent",
    summary: "Record that consent was given again",
    description:
      "Clears `consentWithdrawnAt` after a parent has given the consent again. An account that was suspended stays disabled until it is enabled. Repeating the request changes nothing.",
    ...CHANGE_WITH_REASON,
    role: "admin",
    errors: ["not_found"],
    response: accountChanged("The account has no withdrawn consent.", NOTHING_ENDED),
    run: ({ ctx, operator, params, body }) => restoreConsent(ctx, operator, params.accountId, body),
    form: { fields: WITH_REASON, after: () => ({ done: "consent_restored" }) },
  }),

  enableAccount: operation({
    id: "enableAccount",
    summary: "Enable an account",
    description: "Its owner can sign in again. Repeating the request changes nothing.",
    ...CHANGE_WITH_REASON,
    role: "admin",
    errors: ["not_found"],
    response: accountChanged("The account is enabled.", NOTHING_ENDED),
    run: ({ ctx, operator, params, body }) => enableAccount(ctx, operator, params.accountId, body),
    form: { fields: WITH_REASON, after: () => ({ done: "enabled" }) },
  }),

  listAccountEvents: operation({
    id: "listAccountEvents",
    summary: "List the security events of an account",
    description:
      "Lists events, newest first: what its owner did, and what operators did to it. Works after the account was deleted, too, with its former id.",
    ...READ,
    params: AccountParams,
    query: PageQuery,
    errors: ["not_found"],
    response: {
      description: "A page of events.",
      schema: AccountEvents,
      examples: { "One event": { events: [EVENT], nextCursor: null } },
    },
    run: ({ ctx, params, query }) => listAccountEvents(ctx, params.accountId, query),
  }),

  exportAccountAsOperator: operation({
    id: "exportAccountAsOperator",
    summary: "Export the data of an account",
    description:
      "Returns everything stored about the account as a file, as its owner gets it: without password hashes, tokens and complete device tokens. The export is recorded in the audit trail.",
    role: "admin",
    stepUp: true,
    scope: "accounts:write",
    hasSideEffect: true,
    params: AccountParams,
    query: WithReason.strip(),
    errors: ["not_found"],
    response: {
      description: "The account's data.",
      schema: AccountExport,
      headers: ["Content-Disposition"],
      examples: {
        "A new account": {
          ...NEW_ACCOUNT_EXPORT,
          exportedAt: "2026-11-22T14:03:00.000Z",
          account: {
            ...NEW_ACCOUNT_EXPORT.account,
            id: ACCOUNT.id,
            email: ACCOUNT.email,
            name: ACCOUNT.name,
            emailVerified: true,
            createdAt: ACCOUNT.createdAt,
            updatedAt: ACCOUNT.createdAt,
          },
        },
      },
    },
    run: async ({ ctx, operator, params, query }) => {
      const data = await exportAccount(ctx, operator, params.accountId, query);
      return jsonFile(exportFileName(data.exportedAt), data);
    },
  }),

  downloadAccountExport: formOperation({
    id: "downloadAccountExport",
    summary: "Export the data of an account",
    role: "admin",
    body: WITH_REASON,
    run: ({ body }) => `/api/admin/accounts/${body.accountId}/export?${new URLSearchParams({ reason: body.reason })}`,
    form: { after: (to) => ({ to }) },
  }),

  headExportAccountAsOperator: operation({
    id: "headExportAccountAsOperator",
    summary: "Get the headers of the export without creating it",
    description: "Returns the status and headers of GET without an export.",
    role: "admin",
    stepUp: true,
    scope: "accounts:write",
    params: AccountParams,
    response: {
      status: 200,
      description: "The headers of the export.",
      schema: null,
      headers: ["Content-Disposition"],
    },
    run: ({ ctx }) => jsonFile(exportFileName(ctx.now()), null),
  }),

  setAccountRole: operation({
    id: "setAccountRole",
    summary: "Give an account a role",
    description:
      "Takes effect at once, also in live sessions. The role of the last admin cannot be changed. Repeating the request changes nothing.",
    ...CHANGE,
    role: "admin",
    body: NewRole,
    errors: ["not_found", "last_admin"],
    examples: { "With a reason": { role: "support", reason: REASON } },
    response: {
      description: "The account has the role.",
      schema: RoleChange,
      examples: {
        Changed: { account: { ...ACCOUNT, role: "support" }, previousRole: "user", isChanged: true, ...NOTHING_ENDED },
      },
    },
    run: ({ ctx, operator, params, body }) => setRole(ctx, operator, params.accountId, body),
    form: {
      fields: WITH_REASON.extend({ role: NewRole.shape.role }),
      errors: LAST_ADMIN,
      after: () => ({ done: "role_changed" }),
    },
  }),

  resetAccountFactors: operation({
    id: "resetAccountFactors",
    summary: "Remove the second factors and passkeys of an account",
    description:
      "For an owner who has lost them: removes the authenticator app, the recovery codes and the passkeys, ends the sessions, and sends an email to the owner.",
    ...CHANGE_WITH_REASON,
    role: "admin",
    errors: ["not_found", "no_second_factor"],
    response: accountChanged("The account has no second factor."),
    run: ({ ctx, operator, params, body }) => resetFactors(ctx, operator, params.accountId, body),
    form: { fields: WITH_REASON, after: () => ({ done: "factors_reset" }) },
  }),

  createAccountRecoveryCode: operation({
    id: "createAccountRecoveryCode",
    summary: "Make a code for an emailed link",
    description:
      "With `AUTH_LINKS_NEED_CODE=true`, an owner without an authenticator app sets a password by an emailed link and this code, which works once within a week. It replaces an earlier one. Make sure first who asks.",
    ...CHANGE_WITH_REASON,
    role: "admin",
    idempotency: "refuse",
    errors: ["not_found", "factor_exists"],
    response: {
      description: "The code. Only its hash is stored.",
      schema: HandedCode,
      examples: {
        Made: {
          account: ACCOUNT,
          recoveryCode: "7K3M9Q-WX2B4N-0R5T8V-C1D6FG",
          expiresAt: INVITED.invitation.expiresAt,
        },
      },
    },
    run: ({ ctx, operator, params, body }) => createHandedCode(ctx, operator, params.accountId, body),
    form: {
      fields: WITH_REASON,
      after: ({ recoveryCode }) => ({ done: "code_created", secret: { kind: "recovery-code", value: recoveryCode } }),
    },
  }),

  endAccountSessions: operation({
    id: "endAccountSessions",
    summary: "End every session of an account",
    description: "Signs the account out on all devices, and removes its devices. Its owner can sign in again.",
    ...CHANGE_WITH_REASON,
    role: "support",
    errors: ["not_found"],
    response: accountChanged("The account has no live session."),
    run: ({ ctx, operator, params, body }) => revokeAccountSessions(ctx, operator, params.accountId, body),
    form: { fields: WITH_REASON, after: () => ({ done: "sessions_ended" }) },
  }),

  endAccountSession: operation({
    id: "endAccountSession",
    summary: "End a session of an account",
    description: "Ends one session, and removes the devices that it registered.",
    ...CHANGE,
    role: "support",
    params: SessionParams,
    query: WithReason.strip(),
    errors: ["not_found"],
    response: {
      description: "The session has ended.",
      schema: AccountChange,
      examples: { Ended: { account: ACCOUNT, isChanged: true, sessionsEnded: 1, devicesRemoved: 0 } },
    },
    run: ({ ctx, operator, params, query }) => revokeAccountSession(ctx, operator, params, query),
    form: {
      fields: WITH_REASON.extend({ sessionId: SessionParams.shape.sessionId }),
      after: () => ({ done: "session_ended" }),
    },
  }),

  unlinkAccountProvider: operation({
    id: "unlinkAccountProvider",
    summary: "Unlink a sign-in provider from an account",
    description:
      "Removes the account's identities of a provider, ends its sessions, which the provider may have created, and sends an email to the owner, who can sign in after a password reset.",
    ...CHANGE,
    role: "admin",
    body: UnlinkedProvider,
    errors: ["not_found"],
    examples: { "With a reason": { provider: "google", reason: REASON } },
    response: {
      description: "The provider is unlinked.",
      schema: ProviderChange,
      examples: {
        Changed: { account: ACCOUNT, isChanged: true, identitiesRemoved: 1, sessionsEnded: 3, devicesRemoved: 2 },
      },
    },
    run: ({ ctx, operator, params, body }) => unlinkProvider(ctx, operator, params.accountId, body),
    form: {
      fields: WITH_REASON.extend({ provider: UnlinkedProvider.shape.provider }),
      after: () => ({ done: "unlinked" }),
    },
  }),
};

/** Exports all data of an account for its owner, as the owner can. @throws AppError not_found */
async function exportAccount(
  ctx: Pick<Context, "config" | "db" | "now">,
  operator: Operator,
  id: string,
  { reason }: WithReason = {},
) {
  const exportedAt = ctx.now();
  await ctx.db.$transaction(async (tx) => {
    await lockAndReadAccount(tx, id);
    await recordAccountChange(tx, exportedAt, operator, id, { type: "exported", reason });
  });
  return readExport(ctx, id, exportedAt);
}

export const operatorOperations = {
  grantRole: formOperation({
    id: "grantRole",
    summary: "Change an operator's role",
    role: "admin",
    body: RoleGrant,
    run: ({ ctx, operator, body }) => grantRole(ctx, operator, body),
    form: {
      kept: ["email", "reason"],
      errors: {
        not_found: { field: "email", message: "No account has this email. Its owner has to register first" },
        last_admin: { message: "This is the only admin. Make another account admin first" },
      },
      after: (_, { role }) => ({ done: role === "user" ? "role_removed" : "role_granted" }),
    },
  }),
};
