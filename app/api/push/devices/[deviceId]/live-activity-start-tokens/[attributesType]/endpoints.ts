import { endpoint } from "@/lib/http/endpoint";
import { RouteResponse } from "@/lib/http/route-response";
import { RegisterStartToken, StartToken, StartTokenParams } from "@/lib/push/live-activities/schema";
import { registerStartToken, removeStartToken } from "@/lib/push/live-activities/tokens";

export const registerOne = endpoint({
  summary: "Register the token that starts Live Activities of a type",
  auth: "account",
  params: StartTokenParams,
  body: RegisterStartToken,
  errors: ["not_found", "device_not_found", "device_not_active"],
  responses: { 200: StartToken },
  handle: ({ ctx, principal, params, body }) => registerStartToken(ctx, principal.account.id, params, body),
});

export const deleteOne = endpoint({
  summary: "Remove the token that starts Live Activities of a type",
  auth: "account",
  params: StartTokenParams,
  errors: ["not_found", "device_not_found"],
  responses: { 204: null },
  handle: async ({ ctx, principal, params }) => {
    await removeStartToken(ctx, principal.account.id, params);
    return new RouteResponse(204, null);
  },
});
