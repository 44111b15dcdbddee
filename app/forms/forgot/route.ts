import { requestReset } from "@/lib/accounts/password-reset";
import { RequestReset } from "@/lib/accounts/schema";
import { defineForm } from "@/lib/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/forgot", {
  summary: "Request a password reset link",
  page: "/forgot",
  fields: RequestReset,
  keep: ["email"],
  handle: async ({ ctx, fields, caller }) => {
    await requestReset(ctx, fields.email, caller);
    return { to: "/forgot?sent" };
  },
});
