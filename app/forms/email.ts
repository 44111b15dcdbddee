import { z } from "zod";
import { confirmEmailChange, requireEmailChange } from "@/lib/accounts/email-change/confirm";
import { cancelEmailChange, requestEmailChange } from "@/lib/accounts/email-change/request";
import { RequestEmailChange } from "@/lib/accounts/email-change/schema";
import { undoEmailChange } from "@/lib/accounts/email-change/undo";
import { resendVerification, verifyOwnEmail } from "@/lib/accounts/email-verification";
import { reportNotMe } from "@/lib/accounts/emails/not-me";
import { ConfirmEmail, EmailedToken, RequestReset } from "@/lib/accounts/schema";
import { confirmEmail } from "@/lib/auth/next-auth/call-from-forms";
import { cookiesOf, isSignedIn } from "@/lib/auth/next-auth/run";
import { redirectWithEmail } from "@/lib/platform/http/pages/flash";
import { defineForm } from "@/lib/platform/http/pages/form";
import {
  clearLinkCookie,
  readReturnCookie,
  setLinkCookie,
  setReturnCookie,
} from "@/lib/platform/http/pages/page-cookies";
import { continuingTo, ownPath } from "@/lib/platform/http/pages/redirect-paths";

/** As long as its owner may take to sign in. */
const OPENED_LINK_TTL_SECONDS = 60 * 60;

export const emailForms = [
  defineForm("/forms/verify", {
    summary: "Verify an email",
    page: "/verify",
    body: ConfirmEmail,
    errorPlacement: {
      invalid_or_expired_token: { message: "This link is no longer valid. Sign in to get a new one" },
      invalid_credentials: { field: "password", message: "This is not the password you registered with" },
    },
    handle: async ({ ctx, body, request, caller }) => {
      const response = await confirmEmail(ctx, body, { headers: request.headers, caller });
      const factorPage = ownPath(String(response.headers.Location), ctx.config.baseUrl, "/sign-in");
      const next = readReturnCookie(ctx.config, request.headers.get("cookie"));
      const cookies = cookiesOf(response);
      if (next !== undefined) cookies.push(setReturnCookie(ctx.config, undefined));
      if (!isSignedIn(ctx, response)) return { to: continuingTo(next, factorPage), cookies };
      return { to: next ?? "/account?done=email_verified", cookies };
    },
  }),
  defineForm("/forms/verification", {
    summary: "Send the verification email again",
    page: "/verify",
    body: RequestReset,
    keptFields: ["email"],
    handle: async ({ ctx, body, caller }) => {
      await resendVerification(ctx, body.email, caller);
      return redirectWithEmail(ctx.config, "/verify?sent=", body.email);
    },
  }),
  defineForm("/forms/account/verify", {
    summary: "Verify the email of the account that is signed in",
    page: "/verify",
    session: true,
    body: z.object({ token: EmailedToken }),
    errorPlacement: {
      invalid_or_expired_token: { message: "This link is no longer valid, or belongs to another account" },
    },
    handle: ({ ctx, body, principal, caller }) => verifyOwnEmail(ctx, principal.account.id, body.token, caller),
    next: "/account?done=email_verified",
  }),
  defineForm("/forms/account/verification", {
    summary: "Send a verification email to the account's own email",
    page: "/account",
    session: true,
    handle: ({ ctx, principal, caller }) => resendVerification(ctx, principal.account.email, caller),
    next: "/account?done=verification_sent",
  }),
  defineForm("/forms/account/email", {
    summary: "Request a change of the email",
    page: "/account/email",
    session: true,
    body: RequestEmailChange,
    keptFields: ["email"],
    handle: ({ ctx, body, principal, caller }) => requestEmailChange(ctx, principal, body, caller),
    next: "/account?done=email_change_requested",
  }),
  defineForm("/forms/account/cancel-email", {
    summary: "Cancel the pending change of the email",
    page: "/account",
    session: true,
    handle: ({ ctx, principal, caller }) => cancelEmailChange(ctx, principal.account.id, caller),
    next: "/account?done=email_change_canceled",
  }),
  defineForm("/forms/email-change", {
    summary: "Confirm a change of the email",
    page: "/email-change",
    session: true,
    body: z.object({ token: EmailedToken }),
    errorPlacement: {
      invalid_or_expired_token: { message: "This link is no longer valid, or belongs to another account" },
    },
    handle: async ({ ctx, body, principal, caller }) => {
      await confirmEmailChange(ctx, principal, body.token, caller);
      const opened = clearLinkCookie(ctx.config, ctx.now(), "emailChange");
      return { to: "/account?done=email_changed", cookies: [opened] };
    },
  }),
  defineForm("/forms/email-change/open", {
    summary: "Open the link to a new email while signed out",
    page: "/email-change",
    body: z.object({ token: EmailedToken }),
    errorPlacement: { invalid_or_expired_token: { message: "This link is no longer valid" } },
    handle: async ({ ctx, body: { token }, caller }) => {
      await requireEmailChange(ctx, token, caller);
      const link = { token, ttlSeconds: OPENED_LINK_TTL_SECONDS };
      return { to: "/email-change", cookies: [await setLinkCookie(ctx.config, ctx.now(), "emailChange", link)] };
    },
  }),
  defineForm("/forms/undo-email-change", {
    summary: "Undo a change of the email",
    page: "/email-change/undo",
    body: z.object({ token: EmailedToken }),
    errorPlacement: { invalid_or_expired_token: { message: "This link is no longer valid" } },
    handle: async ({ ctx, body, caller }) => {
      const identities = await undoEmailChange(ctx, body.token, caller);
      const linked = [...new Set(identities.map(({ provider }) => provider))].join(",");
      return { to: `/sign-in?done=email_restored${linked && `&linked=${linked}`}` };
    },
  }),
  defineForm("/forms/not-me", {
    summary: "Report an event that the owner did not cause",
    page: "/not-me",
    body: z.object({ token: EmailedToken }),
    errorPlacement: {
      invalid_or_expired_token: { message: "This link is no longer valid. Reset your password instead" },
    },
    handle: ({ ctx, body, caller }) => reportNotMe(ctx, body.token, caller),
    next: "/not-me?done",
  }),
];
