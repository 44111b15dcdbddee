import { readFactors } from "@/lib/auth/second-factor/factors";
import { Factors } from "@/lib/auth/second-factor/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/factors", {
  GET: endpoint({
    summary: "List the account's factors",
    auth: "account",
    responses: { 200: Factors },
    handle: ({ ctx, principal }) => readFactors(ctx, principal.account.id),
  }),
});
