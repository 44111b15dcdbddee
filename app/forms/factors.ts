import { z } from "zod";
import { removePasskey, renamePasskey } from "@/lib/accounts/sign-in-methods/passkeys";
import { RenamePasskey } from "@/lib/auth/passkeys/schema";
import { confirmTotp, removeTotp, renewRecoveryCodes, startTotp } from "@/lib/auth/second-factor/change-factors";
import { ConfirmTotp } from "@/lib/auth/second-factor/schema";
import { defineForm } from "@/lib/platform/http/pages/form";
import { clearShownSecretCookie, setShownSecretCookie } from "@/lib/platform/http/pages/page-cookies";

export const factorForms = [
  defineForm("/forms/account/factors/totp", {
    summary: "Start to add an authenticator app",
    page: "/account/factors/totp",
    session: true,
    canResume: true,
    handle: async ({ ctx, principal, caller }) => {
      const { id } = await startTotp(ctx, principal, {}, caller);
      return { to: `/account/factors/totp?id=${id}` };
    },
  }),
  defineForm("/forms/account/factors/confirm", {
    summary: "Confirm an authenticator app by its first code",
    page: ({ id = "" }) => `/account/factors/totp?${new URLSearchParams({ id })}`,
    session: true,
    body: ConfirmTotp,
    errorPlacement: {
      invalid_code: { field: "code", message: "That code is not current. Turn on automatic date and time." },
      enrollment_expired: { message: "This QR code has expired. Start again" },
    },
    handle: async ({ ctx, body, principal, caller }) => {
      const { recoveryCodes } = await confirmTotp(ctx, principal, body, caller);
      const cookie = await setShownSecretCookie(ctx, principal.account.id, "recovery-codes", recoveryCodes.join(" "));
      return { to: "/account/factors/recovery-codes", cookies: [cookie] };
    },
  }),
  defineForm("/forms/account/factors/recovery-codes", {
    summary: "Replace the recovery codes",
    page: "/account/factors/recovery-codes",
    session: true,
    canResume: true,
    handle: async ({ ctx, principal, caller }) => {
      const codes = await renewRecoveryCodes(ctx, principal, {}, caller);
      const cookie = await setShownSecretCookie(ctx, principal.account.id, "recovery-codes", codes.join(" "));
      return { to: "/account/factors/recovery-codes", cookies: [cookie] };
    },
  }),
  defineForm("/forms/account/factors/saved", {
    summary: "Stop showing the new recovery codes",
    page: "/account",
    session: true,
    handle: async ({ ctx }) => ({ to: "/account", cookies: [clearShownSecretCookie(ctx, "recoveryCodes")] }),
  }),
  defineForm("/forms/account/factors/remove", {
    summary: "Remove the authenticator app",
    page: "/account/factors/remove",
    session: true,
    errorPlacement: { not_found: { message: "Your account has no authenticator app" } },
    canResume: true,
    handle: async ({ ctx, principal, caller }) => {
      await removeTotp(ctx, principal, {}, caller);
      return { to: "/account?done=totp_removed", cookies: [clearShownSecretCookie(ctx, "recoveryCodes")] };
    },
  }),
  defineForm("/forms/account/passkey/rename", {
    summary: "Rename a passkey",
    page: "/account/passkeys/rename",
    session: true,
    body: RenamePasskey.extend({ id: z.uuid() }),
    keptFields: ["id", "name"],
    handle: ({ ctx, body, principal }) => renamePasskey(ctx.db, principal.account.id, body.id, body.name),
    next: "/account?done=passkey_renamed",
  }),
  defineForm("/forms/account/passkey/remove", {
    summary: "Remove a passkey",
    page: ({ id = "" }) => `/account/passkeys/remove?${new URLSearchParams({ id })}`,
    session: true,
    body: z.object({ id: z.uuid() }),
    errorPlacement: {
      last_sign_in_method: { message: "This is your only way to sign in. Set a password or add another passkey first" },
    },
    canResume: true,
    handle: ({ ctx, body, principal, caller }) => removePasskey(ctx, principal, body.id, caller),
    next: "/account?done=passkey_removed",
  }),
];
