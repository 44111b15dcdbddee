import { z } from "zod";
import { reportNotMe } from "@/lib/accounts/emails/not-me";
import { EmailedToken } from "@/lib/accounts/schema";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/not-me", {
  summary: "Report an event that the owner did not cause",
  page: "/not-me",
  body: z.object({ token: EmailedToken }),
  errorPlacement: {
    invalid_or_expired_token: { message: "This link is no longer valid. Reset your password instead" },
  },
  handle: async ({ ctx, body, caller }) => {
    await reportNotMe(ctx, body.token, caller);
    return { to: "/not-me?done" };
  },
});
