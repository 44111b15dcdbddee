import { z } from "zod";
import { acceptInvitation } from "@/lib/accounts/invitations";
import { confirmReset, requestReset } from "@/lib/accounts/password-reset";
import { register } from "@/lib/accounts/register";
import { ConfirmReset, EmailedToken, Login, Register, RequestReset } from "@/lib/accounts/schema";
import { revokeOwnSession } from "@/lib/accounts/sessions";
import { completeSignInWithFactor, signIn } from "@/lib/accounts/sign-in";
import { issueCode } from "@/lib/auth/authorization-server/authorization-codes";
import {
  AuthorizationParameters,
  authorizationPage,
  buildCodeRedirectUrl,
  buildErrorRedirectUrl,
  checkAuthorizationRequest,
} from "@/lib/auth/authorization-server/authorization-request";
import { decideDeviceRequest } from "@/lib/auth/authorization-server/device-codes";
import { startProvider } from "@/lib/auth/next-auth/call-from-forms";
import { cookiesOf } from "@/lib/auth/next-auth/run";
import { PasskeyAssertionField, PasskeyRegistrationField } from "@/lib/auth/passkeys/schema";
import { setDeviceCookie } from "@/lib/auth/recognized-clients";
import {
  clearChallengeCookie,
  findChallenge,
  readChallengeCookie,
  secondFactorPage,
  setChallengeCookie,
} from "@/lib/auth/second-factor/challenges";
import { TypedFactor, toProof } from "@/lib/auth/second-factor/schema";
import { replaceSession } from "@/lib/auth/sessions/session-response";
import { reauthenticate, StepUpProof } from "@/lib/auth/step-up";
import { findVisitor } from "@/lib/auth/visitor";
import type { ErrorPlacement } from "@/lib/operation";
import { setSessionCookie } from "@/lib/platform/http/cookies";
import { redirectWithEmail } from "@/lib/platform/http/pages/flash";
import { defineForm, requireSameAccount } from "@/lib/platform/http/pages/form";
import { readReturnCookie, setReturnCookie } from "@/lib/platform/http/pages/page-cookies";
import { confirmPath, continuingTo, NextPage, ownPath, trustedUrl } from "@/lib/platform/http/pages/redirect-paths";

const LINK_ERRORS: ErrorPlacement = {
  invalid_or_expired_token: { message: "This link is no longer valid. Request a new one" },
  invalid_code: { field: "code" },
};

export const signInForms = [
  defineForm("/forms/register", {
    summary: "Create an account",
    page: "/register",
    body: Register.and(NextPage),
    keptFields: ["name", "email", "callbackUrl"],
    errorPlacement: { email_taken: { field: "email" } },
    handle: async ({ ctx, body, request, caller }) => {
      const registered = await register(ctx, body, "cookie", caller);
      const next = trustedUrl(body.callbackUrl, ctx.config, "/account");
      if (!registered) {
        const { to, cookies } = redirectWithEmail(ctx.config, "/verify?registered=", body.email);
        return { to, cookies: body.callbackUrl ? [...cookies, setReturnCookie(ctx.config, next)] : cookies };
      }
      return { to: next, cookies: await replaceSession(ctx, request.headers, registered) };
    },
  }),
  defineForm("/forms/sign-in", {
    summary: "Sign in",
    page: "/sign-in",
    body: Login.and(NextPage),
    keptFields: ["email", "callbackUrl"],
    errorPlacement: {
      invalid_credentials: { field: "password" },
      email_not_verified: { message: "Verify your email first. We have sent you a link" },
    },
    handle: async ({ ctx, body, request, caller }) => {
      const outcome = await signIn(ctx, body, "cookie", caller);
      const to = trustedUrl(body.callbackUrl, ctx.config, "/account");
      if ("challenge" in outcome) {
        return { to: secondFactorPage({ callbackUrl: to }), cookies: [setChallengeCookie(ctx.config, outcome)] };
      }
      return { to, cookies: await replaceSession(ctx, request.headers, outcome) };
    },
  }),
  defineForm("/forms/sign-in/factor", {
    summary: "Complete a sign-in with a second factor",
    page: ({ kind }) => (kind === "recovery_code" ? "/sign-in/factor?kind=recovery_code" : "/sign-in/factor"),
    body: TypedFactor.and(NextPage),
    keptFields: ["callbackUrl"],
    errorPlacement: {
      invalid_code: { field: "code", message: "This code is wrong, used or expired" },
      invalid_challenge: { message: "This sign-in has expired. Sign in again" },
    },
    handle: async ({ ctx, body, request, caller }) => {
      const challenge = await findChallenge(ctx, readChallengeCookie(ctx.config, request.headers), caller);
      const issued = await completeSignInWithFactor(ctx, challenge, toProof(body), caller);
      const cookies = [...(await replaceSession(ctx, request.headers, issued)), clearChallengeCookie(ctx.config)];
      return { to: trustedUrl(body.callbackUrl, ctx.config, "/account"), cookies };
    },
  }),
  defineForm("/forms/provider", {
    summary: "Sign in with a provider, or add it to the account",
    page: "/sign-in",
    body: z.object({ provider: z.string() }).and(NextPage),
    keptFields: ["callbackUrl"],
    handle: async ({ ctx, body, bytes, request, caller }) => {
      requireSameAccount({ bytes, principal: await findVisitor(request.headers) });
      const callbackUrl = trustedUrl(body.callbackUrl, ctx.config, "/account");
      const response = await startProvider(ctx, body.provider, { headers: request.headers, caller, callbackUrl });
      return { to: String(response.headers.Location ?? "/sign-in?error=OAuthSignin"), cookies: cookiesOf(response) };
    },
  }),
  defineForm("/forms/forgot", {
    summary: "Request a password reset link",
    page: "/forgot",
    body: RequestReset.and(NextPage),
    keptFields: ["email", "callbackUrl"],
    handle: async ({ ctx, body, caller }) => {
      await requestReset(ctx, body.email, caller);
      if (!body.callbackUrl) return { to: "/forgot?sent" };
      const next = trustedUrl(body.callbackUrl, ctx.config, "/account");
      return { to: continuingTo(next, "/forgot?sent"), cookies: [setReturnCookie(ctx.config, next)] };
    },
  }),
  defineForm("/forms/reset", {
    summary: "Set a new password",
    page: "/reset",
    body: ConfirmReset.extend({ token: EmailedToken }),
    errorPlacement: LINK_ERRORS,
    handle: async ({ ctx, body, request, caller }) => {
      const identities = await confirmReset(ctx, body, caller);
      const linked = [...new Set(identities.map(({ provider }) => provider))].join(",");
      const next = readReturnCookie(ctx.config, request.headers.get("cookie"));
      const to = continuingTo(next, `/sign-in?done=password_reset${linked && `&linked=${linked}`}`);
      return { to, cookies: [setDeviceCookie(ctx, caller.deviceId)] };
    },
  }),
  defineForm("/forms/invitation", {
    summary: "Accept an invitation",
    page: "/invitation",
    body: ConfirmReset.partial({ password: true }).extend({
      token: EmailedToken,
      passkey: PasskeyRegistrationField.optional(),
    }),
    errorPlacement: LINK_ERRORS,
    handle: async ({ ctx, body, caller }) => {
      const identities = await acceptInvitation(ctx, body, caller);
      const linked = [...new Set(identities.map(({ provider }) => provider))].join(",");
      const to = `/sign-in?done=invitation_accepted${linked && `&linked=${linked}`}`;
      return { to, cookies: [setDeviceCookie(ctx, caller.deviceId)] };
    },
  }),
  defineForm("/forms/confirm", {
    summary: "Authenticate again",
    page: ({ callbackUrl = "/account" }) => confirmPath(callbackUrl),
    session: true,
    body: StepUpProof.extend({ passkey: PasskeyAssertionField.optional() }).and(NextPage),
    handle: async ({ ctx, body, principal, caller }) => {
      await reauthenticate(ctx, principal, body, caller);
      return { to: ownPath(body.callbackUrl, ctx.config.baseUrl, "/account") };
    },
  }),
  defineForm("/forms/authorize", {
    summary: "Allow an app to sign in, or refuse",
    page: ({ decision, ...request }) => authorizationPage(request),
    session: true,
    body: AuthorizationParameters.extend({ decision: z.enum(["allow", "deny"]) }),
    handle: async ({ ctx, principal, body }) => {
      const { request, errorRedirectUrl } = checkAuthorizationRequest(ctx.config, body);
      if (!request) return { to: errorRedirectUrl };
      if (body.decision === "deny")
        return { to: buildErrorRedirectUrl(ctx.config, request, "access_denied", "The user has refused") };
      return { to: buildCodeRedirectUrl(ctx.config, request, await issueCode(ctx, principal, request)) };
    },
  }),
  defineForm("/forms/device", {
    summary: "Allow a device to sign in, or refuse",
    page: ({ user_code = "" }) => `/device?${new URLSearchParams({ user_code })}`,
    session: true,
    body: z.object({
      user_code: z.string().max(64),
      decision: z.enum(["allow", "deny"]),
      operator: z.literal("on").optional(),
    }),
    errorPlacement: { invalid_user_code: { message: "This code is no longer valid. Get a new one on your device" } },
    canResume: true,
    handle: async ({ ctx, principal, body, caller }) => {
      const decision = { decision: body.decision, operatorRights: body.operator === "on" };
      await decideDeviceRequest(ctx, principal, body.user_code, decision, caller);
      return { to: `/device?done=${body.decision === "allow" ? "allowed" : "denied"}` };
    },
  }),
  defineForm("/forms/sign-out", {
    summary: "Sign out",
    page: "/account",
    session: true,
    isForAnyAccount: true,
    handle: async ({ ctx, principal: { account, session }, caller }) => {
      await revokeOwnSession(ctx, account.id, session.id, caller);
      const cookies = [setSessionCookie(ctx.config, null, session.expiresAt)];
      return { to: "/sign-in?done=signed_out", cookies, isSignedOut: true };
    },
  }),
];
