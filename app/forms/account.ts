import { z } from "zod";
import { deleteAccount } from "@/lib/accounts/delete-account";
import { setLocale, setName } from "@/lib/accounts/profile";
import { DeleteAccount, SetName } from "@/lib/accounts/schema";
import { revokeOtherSessions, revokeOwnSession } from "@/lib/accounts/sessions";
import { ChangePasswordForm, changePassword } from "@/lib/accounts/sign-in-methods/change-password";
import { unlinkIdentity } from "@/lib/accounts/sign-in-methods/identities";
import { renewedSessionCookies } from "@/lib/auth/sessions/session-response";
import { requireStepUp, StepUpProof } from "@/lib/auth/step-up";
import { setSessionCookie } from "@/lib/platform/http/cookies";
import { defineForm } from "@/lib/platform/http/pages/form";
import { LOCALES } from "@/lib/platform/locale";
import { removeDevice } from "@/lib/push/devices/devices";
import { PreferencesForm, replacePreferences } from "@/lib/push/preferences";

export const accountForms = [
  defineForm("/forms/account/name", {
    summary: "Set or remove the account's name",
    page: "/account/name",
    session: true,
    body: SetName,
    keptFields: ["name"],
    handle: ({ ctx, body, principal }) => setName(ctx, principal.account.id, body.name ?? null),
    next: "/account?done=name_set",
  }),
  defineForm("/forms/account/language", {
    summary: "Set the language of emails",
    page: "/account",
    session: true,
    body: z.object({ locale: z.enum(LOCALES) }),
    handle: ({ ctx, body, principal }) => setLocale(ctx, principal.account.id, body.locale),
    next: "/account?done=language_set",
  }),
  defineForm("/forms/account/notifications", {
    summary: "Choose what to be notified of",
    page: "/account",
    session: true,
    body: PreferencesForm,
    keptFields: ["startsAt", "endsAt"],
    handle: ({ ctx, body, principal }) => replacePreferences(ctx, principal.account.id, body),
    next: "/account?done=notifications_set",
  }),
  defineForm("/forms/account/password", {
    summary: "Change the password",
    page: "/account/password",
    session: true,
    body: ChangePasswordForm,
    handle: async ({ ctx, body, principal, caller }) => {
      const token = await changePassword(ctx, principal, body, caller);
      const cookies = token === null ? [] : renewedSessionCookies(token, { ctx, principal, caller });
      return { to: `/account?done=${token === null ? "password_changed" : "password_changed_here"}`, cookies };
    },
  }),
  defineForm("/forms/account/unlink", {
    summary: "Remove a sign-in provider from the account",
    page: "/account/unlink",
    session: true,
    body: StepUpProof.extend({ identityId: z.string() }),
    keptFields: ["identityId"],
    errorPlacement: { not_found: { message: "This provider is not linked to your account" } },
    handle: async ({ ctx, body, principal, caller }) => {
      const { identityId, ...proof } = body;
      await unlinkIdentity(ctx, principal, { identityId, proof }, caller);
    },
    next: "/account?done=identity_unlinked",
  }),
  defineForm("/forms/account/device", {
    summary: "Remove a device",
    page: "/account",
    session: true,
    body: z.object({ id: z.string() }),
    handle: ({ ctx, body, principal }) => removeDevice(ctx, principal.account.id, body.id),
    next: "/account?done=device_removed",
  }),
  defineForm("/forms/account/session", {
    summary: "Sign out one session",
    page: "/account",
    session: true,
    body: z.object({ id: z.string() }),
    errorPlacement: { not_found: { message: "This session has already ended" } },
    canResume: true,
    handle: async ({ ctx, body, principal, caller }) => {
      await requireStepUp(ctx, principal, {}, caller);
      await revokeOwnSession(ctx, principal.account.id, body.id, caller);
    },
    next: "/account?done=session_ended",
  }),
  defineForm("/forms/account/other-sessions", {
    summary: "Sign out all other sessions",
    page: "/account",
    session: true,
    canResume: true,
    handle: async ({ ctx, principal, caller }) => {
      await requireStepUp(ctx, principal, {}, caller);
      await revokeOtherSessions(ctx, principal.account.id, principal.session.id, caller);
    },
    next: "/account?done=sessions_ended",
  }),
  defineForm("/forms/account/delete", {
    summary: "Delete the account",
    page: "/account/delete",
    session: true,
    body: DeleteAccount,
    errorPlacement: { last_admin: { message: "You are the only admin. Give another account the role admin first" } },
    handle: async ({ ctx, body, principal, caller }) => {
      await deleteAccount(ctx, principal, body, caller);
      const cookies = [setSessionCookie(ctx.config, null, principal.session.expiresAt)];
      return { to: "/deleted", cookies, isSignedOut: true };
    },
  }),
];
