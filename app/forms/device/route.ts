import { z } from "zod";
import { decideDeviceRequest } from "@/lib/auth/authorization-server/device-codes";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/device", {
  summary: "Allow a device to sign in, or refuse",
  page: ({ user_code = "" }) => `/device?${new URLSearchParams({ user_code })}`,
  session: true,
  body: z.object({
    user_code: z.string().max(64),
    decision: z.enum(["allow", "deny"]),
    operator: z.literal("on").optional(),
  }),
  errorPlacement: { invalid_user_code: { message: "This code is no longer valid. Get a new one on your device" } },
  requiresReauthentication: true,
  canResume: true,
  handle: async ({ ctx, principal, body, caller }) => {
    const decision = { decision: body.decision, operatorRights: body.operator === "on" };
    await decideDeviceRequest(ctx, principal, body.user_code, decision, caller);
    return { to: `/device?done=${body.decision === "allow" ? "allowed" : "denied"}` };
  },
});
