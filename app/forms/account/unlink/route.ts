import { z } from "zod";
import { unlinkIdentity } from "@/lib/accounts/identities";
import { StepUpProof } from "@/lib/auth/step-up";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/unlink", {
  summary: "Remove a sign-in provider from the account",
  page: "/account/unlink",
  session: true,
  body: StepUpProof.extend({ identityId: z.string() }),
  keptFields: ["identityId"],
  errorPlacement: { not_found: { message: "This provider is not linked to your account" } },
  handle: async ({ ctx, body, principal, caller }) => {
    const { identityId, ...proof } = body;
    await unlinkIdentity(ctx, principal, { identityId, proof }, caller);
    return { to: "/account?done=identity_unlinked" };
  },
});
