import { z } from "zod";
import { decideDeviceRequest } from "@/lib/auth/oauth-server/device-codes";
import { defineForm } from "@/lib/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/device", {
  summary: "Allow a device to sign in, or refuse",
  page: ({ user_code = "" }) => `/device?${new URLSearchParams({ user_code })}`,
  auth: "account",
  body: z.object({ user_code: z.string().max(64), decision: z.enum(["allow", "deny"]) }),
  errorPlacement: { invalid_user_code: { message: "This code is no longer valid. Get a new one on your device" } },
  handle: async ({ ctx, principal, body }) => {
    await decideDeviceRequest(ctx, principal, body.user_code, body.decision);
    return { to: `/device?done=${body.decision === "allow" ? "allowed" : "denied"}` };
  },
});
