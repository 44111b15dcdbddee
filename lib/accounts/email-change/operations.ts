import { CREDENTIALS, PENDING_EMAIL, USER } from "../../auth/examples";
import { STEP_UP_ERRORS } from "../../auth/step-up";
import { operation } from "../../operation";
import { confirmEmailChange } from "./confirm";
import { cancelEmailChange, findPendingEmailChange, requestEmailChange } from "./request";
import {
  EmailChanged,
  EmailChangeRequested,
  EmailChangeState,
  EmailChangeToken,
  EmailRestored,
  RequestEmailChange,
} from "./schema";
import { undoEmailChange } from "./undo";

export const emailChangeOperations = {
  requestEmailChange: operation({
    id: "requestEmailChange",
    summary: "Request a change of the caller's email",
    description:
      "Emails a link to the new email that confirms the change within 24 hours. A verified old email gets a link that undoes the change, until 7 days after its confirmation. Requires a recent authentication. Replaces a pending change. The response is the same whether or not the new email has an account; in that case its owner gets a notice instead.",
    session: true,
    body: RequestEmailChange,
    errors: STEP_UP_ERRORS,
    examples: {
      "With the password": { email: PENDING_EMAIL.email, password: CREDENTIALS.password },
      "After a recent authentication": { email: PENDING_EMAIL.email },
    },
    response: {
      status: 202,
      description: "The email changes when its owner follows the link.",
      schema: EmailChangeRequested,
      examples: { "An email was sent": { status: "confirmation_required", pending: PENDING_EMAIL } },
    },
    run: async ({ ctx, principal, caller, body }) => ({
      status: "confirmation_required",
      pending: await requestEmailChange(ctx, principal, body, caller),
    }),
  }),

  confirmEmailChange: operation({
    id: "confirmEmailChange",
    summary: "Confirm a change of the caller's email",
    description:
      "Changes the email with the token of the link that the new email got. The session must belong to the account that requested the change. The new email is verified. Password reset links that the old email got no longer work.",
    session: true,
    body: EmailChangeToken,
    errors: ["invalid_or_expired_token", "email_taken", "rate_limited"],
    examples: { "The link's token": { token: "q0Zb6c1mSx3uY8rT2wVhKfDgLpN4aEoJ" } },
    response: {
      description: "The email was changed.",
      schema: EmailChanged,
      examples: {
        "The account": { status: "email_changed", user: { ...USER, email: "ann@example.org", emailVerified: true } },
      },
    },
    run: async ({ ctx, principal, caller, body }) => ({
      status: "email_changed",
      user: await confirmEmailChange(ctx, principal, body.token, caller),
    }),
  }),

  getEmailChange: operation({
    id: "getEmailChange",
    summary: "Get the pending change of the caller's email",
    description: "Returns the change that waits for its confirmation; null if there is none.",
    session: true,
    response: {
      description: "The pending change.",
      schema: EmailChangeState,
      examples: { Pending: { pending: PENDING_EMAIL }, None: { pending: null } },
    },
    run: async ({ ctx, principal }) => ({ pending: await findPendingEmailChange(ctx, principal.account.id) }),
  }),

  cancelEmailChange: operation({
    id: "cancelEmailChange",
    summary: "Cancel the pending change of the caller's email",
    description: "Revokes the link that would confirm the change. Safe to call twice.",
    session: true,
    response: { description: "No change is pending.", schema: null },
    run: ({ ctx, principal, caller }) => cancelEmailChange(ctx, principal.account.id, caller),
  }),

  undoEmailChange: operation({
    id: "undoEmailChange",
    summary: "Undo a change of email",
    description:
      "Restores the old email with the token of the link that it got, without a session. Ends every session, revokes all emailed links, and removes the password, and the providers and factors that were added since the change was requested. The old email gets a link to set a new password. `identities` lists the providers that can still sign in to the account; show them to its owner.",
    isInPerson: true,
    body: EmailChangeToken,
    errors: ["invalid_or_expired_token", "email_taken", "unauthenticated", "rate_limited"],
    examples: { "The link's token": { token: "q0Zb6c1mSx3uY8rT2wVhKfDgLpN4aEoJ" } },
    response: {
      description: "The old email was restored.",
      schema: EmailRestored,
      examples: {
        "Email restored": { status: "email_restored", identities: [{ provider: "google", linkedAt: USER.createdAt }] },
      },
    },
    run: async ({ ctx, caller, body }) => ({
      status: "email_restored",
      identities: await undoEmailChange(ctx, body.token, caller),
    }),
  }),
};
