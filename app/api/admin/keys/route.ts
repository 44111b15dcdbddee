import { createKey, listKeys } from "@/lib/admin/keys/keys";
import { ApiKeys, CreatedKey, NewKey } from "@/lib/admin/keys/schema";
import { operatorOf } from "@/lib/admin/operator";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { PageQuery } from "@/lib/lists/pages";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/keys", {
  GET: endpoint({
    summary: "List the API keys",
    auth: { role: "admin" },
    query: PageQuery,
    responses: { 200: ApiKeys },
    handle: ({ ctx, query }) => listKeys(ctx, query),
  }),
  POST: endpoint({
    summary: "Create an API key",
    auth: { role: "admin", stepUp: true },
    idempotency: "refuse",
    body: NewKey,
    errors: ["idempotency_key_used"],
    responses: { 201: CreatedKey },
    handle: ({ ctx, principal, body, caller }) => createKey(ctx, operatorOf(principal, caller), body),
  }),
});
