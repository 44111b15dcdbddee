import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { VapidPublicKey } from "@/lib/push/schema";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/push/vapid-public-key", {
  GET: endpoint({
    summary: "Get the key with which a browser subscribes",
    responses: { 200: VapidPublicKey },
    handle: async ({ ctx }) => ({ publicKey: await ctx.webPush.publicKey() }),
  }),
});
