import { listIdentities } from "@/lib/accounts/identities";
import { Identities } from "@/lib/accounts/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/identities", {
  GET: endpoint({
    summary: "List the caller's linked sign-in providers",
    auth: "account",
    responses: { 200: Identities },
    handle: async ({ ctx, principal }) => {
      const linked = await listIdentities(ctx.db, principal.account.id);
      return { identities: linked.map(({ createdAt, ...identity }) => ({ ...identity, linkedAt: createdAt })) };
    },
  }),
});
