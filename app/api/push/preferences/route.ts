import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { readPreferences, replacePreferences } from "@/lib/push/preferences/preferences";
import { NewPreferences, Preferences } from "@/lib/push/preferences/schema";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/push/preferences", {
  GET: endpoint({
    summary: "Show what the caller wants to be notified of",
    auth: "account",
    responses: { 200: Preferences },
    handle: ({ ctx, principal }) => readPreferences(ctx.db, principal.account.id),
  }),
  PUT: endpoint({
    summary: "Choose what the caller wants to be notified of",
    auth: "account",
    body: NewPreferences,
    responses: { 200: Preferences },
    handle: ({ ctx, principal, body }) => replacePreferences(ctx, principal.account.id, body),
  }),
});
