import { z } from "zod";
import { issueCode } from "@/lib/auth/authorization-server/authorization-codes";
import {
  AuthorizationParameters,
  authorizationPage,
  buildCodeRedirectUrl,
  buildErrorRedirectUrl,
  checkAuthorizationRequest,
} from "@/lib/auth/authorization-server/authorization-request";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/authorize", {
  summary: "Allow an app to sign in, or refuse",
  page: ({ decision, ...request }) => authorizationPage(request),
  session: true,
  body: AuthorizationParameters.extend({ decision: z.enum(["allow", "deny"]) }),
  handle: async ({ ctx, principal, body }) => {
    const { request, errorRedirectUrl } = checkAuthorizationRequest(ctx.config, body);
    if (!request) return { to: errorRedirectUrl };
    if (body.decision === "deny")
      return { to: buildErrorRedirectUrl(ctx.config, request, "access_denied", "The user has refused") };
    return { to: buildCodeRedirectUrl(ctx.config, request, await issueCode(ctx, principal, request)) };
  },
});
