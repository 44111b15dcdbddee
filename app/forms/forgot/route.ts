import { requestReset } from "@/lib/accounts/password-reset";
import { RequestReset } from "@/lib/accounts/schema";
import { defineForm } from "@/lib/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/forgot", {
  summary: "Request a password reset link",
  page: "/forgot",
  body: RequestReset,
  keptFields: ["email"],
  handle: async ({ ctx, body, caller }) => {
    await requestReset(ctx, body.email, caller);
    return { to: "/forgot?sent" };
  },
});
