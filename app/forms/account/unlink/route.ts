import { z } from "zod";
import { unlinkIdentity } from "@/lib/accounts/identities";
import { defineForm } from "@/lib/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/unlink", {
  summary: "Remove a sign-in provider from the account",
  page: "/account/unlink",
  auth: "account",
  body: z.object({ identityId: z.string(), password: z.string().max(1024).optional() }),
  keptFields: ["identityId"],
  errorPlacement: { not_found: { message: "This provider is not linked to your account" } },
  handle: async ({ ctx, body, principal, caller }) => {
    const { identityId, password } = body;
    await unlinkIdentity(ctx, principal, { identityId, password }, caller);
    return { to: "/account?done=identity_unlinked" };
  },
});
