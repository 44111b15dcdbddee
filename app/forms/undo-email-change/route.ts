import { z } from "zod";
import { undoEmailChange } from "@/lib/accounts/email-change/undo";
import { EmailedToken } from "@/lib/accounts/schema";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/undo-email-change", {
  summary: "Undo a change of the email",
  page: "/email-change/undo",
  body: z.object({ token: EmailedToken }),
  errorPlacement: { invalid_or_expired_token: { message: "This link is no longer valid" } },
  handle: async ({ ctx, body, caller }) => {
    const identities = await undoEmailChange(ctx, body.token, caller);
    const linked = [...new Set(identities.map(({ provider }) => provider))].join(",");
    return { to: `/sign-in?done=email_restored${linked && `&linked=${linked}`}` };
  },
});
